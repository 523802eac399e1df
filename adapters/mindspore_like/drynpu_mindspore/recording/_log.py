"""The log of a run: ``logs/profiler_<YYYYmmddHHMMSS>_<pid>.log`` in its directory (mindspore_profiler.md 10)."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from drynpu import OutputError

__all__ = ["run_log"]

_NAME = "drynpu.mindspore"
_FORMAT = "[%(asctime)s] [%(levelname)s] [%(filename)s:%(lineno)d] %(message)s"
_DATE = "%Y-%m-%d-%H:%M:%S"
_BYTES, _KEPT = 10 * 1024 * 1024, 3


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
        handler = RotatingFileHandler(file, maxBytes=_BYTES, backupCount=_KEPT, encoding="utf-8")
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
