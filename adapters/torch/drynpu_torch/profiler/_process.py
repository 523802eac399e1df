"""The state that the vendor's profiler keeps for the process, and ``ProfPathCreator``, which shows it to scripts."""

from __future__ import annotations

import os
import re
import shutil
import socket
import tempfile
import threading
import time
import warnings
from datetime import datetime
from pathlib import Path

from attrs import define, field

from drynpu import OutputError
from drynpu.options.experimental_config import normalise_handler
from drynpu_torch.capture import FlopFormula
from drynpu_torch.profiler._messages import print_warning, show

_PATH_CHARACTERS = re.compile(r"[A-Za-z0-9_./~\-\s\u4E00-\u9FA5]+")
_MAX_PATH, _MAX_COMPONENT = 4096, 255  # of Linux
RAW_ONLY_DIRECTORY = "export_only_prof_dir"


@define
class ProcessState:
    """
    Paths of results and other values for all profilers of the process (torch_npu_profiler.md 3.1).

    They belong to the process because scripts rely on it: ``tensorboard_trace_handler(dir)`` sets the directory when
    it is called, for every profiler that is started later.

    Attributes
    ----------
    directory, worker_name:
        Parent of result directories and beginning of their names; ``None`` for the default.
    export_only:
        Whether results go where those without a handler go, although there is one.
    current:
        The last result directory.
    child_threads:
        Threads that were switched on or off: ``(time_ns, thread, enabled)``.
    flop_formulas:
        The formulas added by ``register_npu_flop``, by the name that a range shows.
    """

    directory: str | None = None
    worker_name: str | None = None
    export_only: bool = False
    current: Path | None = None
    child_threads: list[tuple[int, int, bool]] = field(factory=list)
    flop_formulas: dict[str, FlopFormula] = field(factory=dict)

    def configure(self, directory: str | None, worker_name: str | None) -> None:
        """Set the checked arguments of ``tensorboard_trace_handler``; the directory is resolved now."""
        self.worker_name, self.export_only = worker_name, False
        self.directory = os.path.realpath(Path(directory).expanduser()) if directory else None
        if directory:
            check_path(str(Path(directory).expanduser()))

    def switch_child_thread(self, enabled: bool) -> None:
        """Record the calling thread from now on, or no longer."""
        self.child_threads.append((time.time_ns(), threading.get_native_id(), enabled))

    def reset(self) -> None:
        """Forget directory and worker, as a profiler without ``on_trace_ready`` does."""
        self.directory = self.worker_name = None
        self.export_only = False

    def result_directory(self, *, raw_only: bool) -> Path:
        """Return the path of a new result directory; it does not exist yet."""
        worker = self.worker_name or socket.gethostname()
        moment = datetime.now()
        stamp = moment.strftime("%Y%m%d%H%M%S") + f"{moment.microsecond // 1000:03d}"
        parent = self._parent(raw_only=raw_only or self.export_only)
        self.current = parent / f"{worker}_{os.getpid()}_{stamp}_ascend_pt"
        return self.current

    def _parent(self, *, raw_only: bool) -> Path:
        if self.directory and not raw_only:
            return Path(self.directory)
        work_path = os.environ.get("ASCEND_WORK_PATH")
        if work_path:
            return Path(os.path.realpath(Path(work_path).expanduser())) / "profiling_data"
        return Path.cwd() / RAW_ONLY_DIRECTORY if raw_only else Path.cwd()


PROCESS = ProcessState()
"""The only state of this surface that belongs to the process; everything else is passed along."""


class ProfPathCreator:
    """
    The directory for results of this process (torch_npu_profiler.md 3.1), which the vendor's FAQ has users import.

    Every object shows the same state. ``tensorboard_trace_handler`` sets it, too; a handler that a user writes calls
    ``ProfPathCreator().init(worker_name=..., dir_name=...)`` instead.
    """

    @property
    def is_prof_inited(self) -> bool:
        """Whether the process has a result directory."""
        return PROCESS.current is not None

    def init(self, worker_name: object = None, dir_name: object = None, export_only_mode: bool = False) -> None:
        """
        Set worker and directory of later recordings; bad values are reported and replaced.

        ``export_only_mode`` without a directory puts results where those without a handler go.

        Raises
        ------
        OutputError
            *dir_name* is a file.
        """
        values, notices = normalise_handler(dir_name, worker_name, True, False)
        show(notices)
        PROCESS.configure(values.dir_name, values.worker_name)
        PROCESS.export_only = bool(export_only_mode) and values.dir_name is None

    def create_prof_dir(self) -> None:
        """
        Make a new result directory.

        Raises
        ------
        OutputError
            It cannot be created.
        """
        path = PROCESS.result_directory(raw_only=False)
        try:
            path.mkdir(mode=0o750, parents=True)
        except OSError as error:
            raise OutputError(f"cannot create the result directory {path}: {error.strerror}") from error

    def get_prof_dir(self) -> str | None:
        """Return the path of the last result directory, ``None`` before the first."""
        return None if PROCESS.current is None else str(PROCESS.current)

    def delete_prof_dir(self) -> None:
        """Remove the last result directory."""
        try:
            shutil.rmtree(str(PROCESS.current))
        except OSError:
            print_warning("Remove temporary profiling data saving path failed.")

    def delete_export_only_prof(self) -> None:
        """Remove the last result directory if it is one of ``export_only_mode``."""
        if PROCESS.export_only:
            self.delete_prof_dir()


def check_path(path: str) -> None:
    """
    Warn about a path as the vendor does (torch_npu_profiler.md 3.5), before anything is recorded.

    Raises
    ------
    OutputError
        If the path is a file.
    """
    if len(path) > _MAX_PATH or any(len(part) > _MAX_COMPONENT for part in Path(path).parts):
        _warn("Length of input path exceeds the limit.")
    if Path(path).is_symlink():
        _warn(f"Invalid input path is a symbolic link: {path}")
    if not _PATH_CHARACTERS.fullmatch(path):
        _warn(f"Invalid input path: {path}")
    if Path(path).is_file():
        raise OutputError(f"Invalid input path is a file path: {path}")
    nearest = Path(path).absolute()
    while not nearest.exists():
        nearest = nearest.parent
    reason = _not_writable(nearest)
    if reason:
        _warn(f"The path permission check failed: {path} ({nearest}: {reason})")


def _not_writable(directory: Path) -> str:
    """Return why nothing can be created in *directory*, "" if something can. Its mode alone does not say so."""
    try:
        Path(tempfile.mkdtemp(prefix=".drynpu_", dir=directory)).rmdir()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _warn(message: str) -> None:
    # Six frames up is the script, which called tensorboard_trace_handler through its wrapper.
    warnings.warn(message, stacklevel=6)
