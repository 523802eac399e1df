"""The run directory: its name, its folders, its log, what describes it (mindspore_profiler.md 10)."""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from drynpu import OutputError, __version__
from drynpu.layouts.result_files import METADATA_FILE, profiler_info_file
from drynpu.products import FRAMEWORK_FOLDER
from drynpu.raw import write_document
from drynpu_mindspore.profiler import RunRequest

_RAW = ("PROF_*", f"{FRAMEWORK_FOLDER}/*")


def make_run_directory(run: RunRequest, now: datetime | None = None) -> Path:
    """
    Make ``<worker>_<pid>_<UTC to the millisecond>_ascend_ms`` with FRAMEWORK_FOLDER in it, mode 0750, and return it.

    Raises
    ------
    OutputError
        If it cannot be made; the message names the path and the reason.
    """
    moment = now or datetime.now(timezone.utc)
    worker = run.worker_name or socket.gethostname()

    def named() -> Path:
        stamp = f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03d}"
        return run.folder / f"{worker}_{os.getpid()}_{stamp}_ascend_ms"

    # Profilers that begin within one millisecond have a directory each.
    while (path := named()).exists():
        moment += timedelta(milliseconds=1)
    try:
        (path / FRAMEWORK_FOLDER).mkdir(mode=0o750, parents=True, exist_ok=True)
        path.chmod(0o750)
    except OSError as error:
        raise OutputError(
            f"cannot create the run directory {path}: {error.strerror}. Choose a writable directory with "
            "tensorboard_trace_handler(dir_name) or output_path."
        ) from error
    return path


def clear_raw(path: Path) -> None:
    """Remove the raw data of a run, which is about to be written again."""
    for pattern in _RAW:
        for entry in path.glob(pattern):
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def info_name(run: RunRequest) -> str:
    """Return the name of the document that describes a run."""
    return profiler_info_file(run.rank_id)


def info(run: RunRequest) -> dict[str, Any]:
    """Return ``profiler_info_<rank>.json`` (mindspore_profiler.md 10)."""
    return {
        "profiler_parameters": run.parameters.describe(is_set_schedule=run.is_set_schedule),
        "ms_profiler_info": {"rank_id": run.rank_id, "device_id": run.device_id},
        "cann_profiler_info": {},
        "analysis_cost_time": {},
        "ms_version": f"{run.framework_version}+drynpu{__version__}",
        "cann_version": "not known",
        "jit_level": run.jit_level,
    }


def write_metadata(path: Path, metadata: Mapping[str, object], indent: int | None) -> None:
    """Write ``profiler_metadata.json``, nothing without metadata. Raises `OutputError`."""
    if metadata:
        write_document(path / METADATA_FILE, json.dumps(dict(metadata), indent=indent, ensure_ascii=False))


_NAME = "drynpu.mindspore"
_FORMAT = "[%(asctime)s] [%(levelname)s] [%(filename)s:%(lineno)d] %(message)s"
_DATE = "%Y-%m-%d-%H:%M:%S"
_BYTES, _KEPT = 10 * 1024 * 1024, 3


class _LogFile(RotatingFileHandler):
    """A log that is given up where it cannot be written: the error that it tells of comes to the user by itself."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - a name of logging
        """Print no traceback, as logging does."""

    def close(self) -> None:
        """Close the file, also with text left that cannot be written."""
        with suppress(OSError):
            super().close()


@contextmanager
def run_log(path: Path) -> Iterator[logging.Logger]:
    """
    Give a log that adds to the latest file of the run, or begins one; what raises is written there as well.

    Raises
    ------
    OutputError
        If there can be none.
    """
    folder = path / "logs"
    name = f"profiler_{datetime.now():%Y%m%d%H%M%S}_{os.getpid()}.log"
    try:
        folder.mkdir(mode=0o750, exist_ok=True)
        file = max(folder.glob(f"profiler_*_{os.getpid()}.log"), default=folder / name)
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o640))
        handler = _LogFile(file, maxBytes=_BYTES, backupCount=_KEPT, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write the log of {path}: {error.strerror}") from error
    handler.setFormatter(logging.Formatter(_FORMAT, _DATE))
    # No logger of the process: it would hear other runs, and the script's own logging would hear this one.
    log = logging.Logger(_NAME, logging.INFO)  # noqa: LOG001
    log.addHandler(handler)
    try:
        yield log
    except Exception as error:
        log.error("%s: %s", type(error).__name__, error)
        raise
    finally:
        handler.close()
