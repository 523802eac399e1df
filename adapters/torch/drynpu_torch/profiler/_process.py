"""What the vendor's profiler keeps per process: where results go, and how many PROF directories there are."""

from __future__ import annotations

import os
import re
import socket
import tempfile
import threading
import time
import warnings
from datetime import datetime
from pathlib import Path

from attrs import define, field

from drynpu import OutputError
from drynpu_torch.capture import FlopFormula

_PATH_CHARACTERS = re.compile(r"[A-Za-z0-9_./~\-\s\u4E00-\u9FA5]+")
_MAX_PATH, _MAX_COMPONENT = 4096, 255
_RAW_ONLY_DIRECTORY = "export_only_prof_dir"


@define
class ProcessState:
    """
    The process-wide path creator of the vendor (torch_npu_profiler.md 3.1).

    It is process-wide because scripts rely on it: ``tensorboard_trace_handler(dir)`` sets the directory when it
    is called, for every profiler that is started later.

    Attributes
    ----------
    directory, worker_name:
        Parent of result directories and begin of their names; ``None`` for the default.
    export_only:
        Whether results go where those without a handler go, although there is one.
    current:
        The last result directory.
    child_threads:
        Threads that asked to be recorded too, or no longer: ``(time_ns, thread, enabled)``.
    flop_formulas:
        What ``register_npu_flop`` was given, by the name that a range shows.
    """

    directory: str | None = None
    worker_name: str | None = None
    export_only: bool = False
    current: Path | None = None
    child_threads: list[tuple[int, int, bool]] = field(factory=list)
    flop_formulas: dict[str, FlopFormula] = field(factory=dict)

    def configure(self, directory: str | None, worker_name: str | None) -> None:
        """Take the checked arguments of ``tensorboard_trace_handler``; the directory is resolved now."""
        self.worker_name, self.export_only = worker_name, False
        self.directory = os.path.realpath(Path(directory).expanduser()) if directory else None
        if directory:
            check_path(str(Path(directory).expanduser()))

    def switch_child_thread(self, enabled: bool) -> None:
        """Have the calling thread recorded from now on, or no longer."""
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
        return Path.cwd() / _RAW_ONLY_DIRECTORY if raw_only else Path.cwd()


PROCESS = ProcessState()
"""The one process-wide state of this surface; everything else is passed along."""


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
    """Return why nothing can be created in *directory*, empty if something can: rights alone do not tell."""
    try:
        Path(tempfile.mkdtemp(prefix=".drynpu_", dir=directory)).rmdir()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _warn(message: str) -> None:
    # The line to show is the script's, which called tensorboard_trace_handler through its wrapper.
    warnings.warn(message, stacklevel=6)
