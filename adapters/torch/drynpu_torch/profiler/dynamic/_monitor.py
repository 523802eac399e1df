"""The watch on profiler_config.json beside the training loop, and its log files (torch_npu_profiler.md 1.9)."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections import deque
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from attrs import define, field

from drynpu_torch.profiler._rank import rank_id
from drynpu_torch.profiler.dynamic._config import parse_document

# Intervals and sizes of the vendor.
_POLL_S = 2
_SHORTEST_POLL_S, _LONGEST_POLL_S = 1, 50
_MAX_LOG_BYTES = 200 * 1024
_LOG_BACKUPS = 1
_UNKNOWN_RANK = -1

Version = tuple[int, int]


@define(eq=False)
class ConfigMonitor:
    """
    A thread that reads the file every few seconds and offers its content after an edit.

    An edit counts if the file is younger than the last accepted one, at first than the file at the start of the watch.
    The vendor compares whole seconds and misses a second edit within one second; here that edit counts.

    Attributes
    ----------
    path, log:
        The file, and the log of the watch.
    offered:
        The last edit until a training step removes it. A step looks at nothing else.
    """

    path: Path
    log: logging.Logger
    offered: deque[dict[str, Any]] = field(factory=lambda: deque(maxlen=1))
    _interval_s: float = _POLL_S
    _seen: Version | None = None
    _accepted_ns: int = 0
    _missing: bool = False
    _stop: threading.Event = field(factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self, template: str | None = None) -> None:
        """
        Begin to watch; the present content of the file is no edit.

        Parameters
        ----------
        template:
            What was just written into the file: other content is an edit that came before the watch began.
        """
        version = self._version()
        if version is not None and (template is None or self._holds(template)):
            self._seen, self._accepted_ns = version, version[0]
        self._thread = threading.Thread(target=self._watch, name="DynamicProfileMonitor", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the watch and wait for it."""
        self._stop.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def set_interval(self, step_s: float) -> int:
        """Poll about once per step of *step_s* seconds, and return the interval in seconds."""
        self._interval_s = min(max(int(step_s), _SHORTEST_POLL_S), _LONGEST_POLL_S)
        self.log.info("Dynamic profiling monitor process poll interval time change to %ds", self._interval_s)
        return int(self._interval_s)

    def _watch(self) -> None:
        while not self._stop.wait(self._interval_s):
            self._look()
        self.log.info("Dynamic profiler process done")

    def _look(self) -> None:
        version = self._version()
        if version is None:
            if not self._missing:  # logged once, not at every look
                self.log.error("Dynamic profiler cfg json not exists")
            self._missing = True
            return
        self._missing = False
        if version == self._seen:
            return
        self._seen = version
        try:
            document = parse_document(self.path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            self.log.error("Dynamic profiler process load json failed, %s has occur!", error)
            return
        self.log.info("Dynamic profiler process load json success")
        if version[0] > self._accepted_ns:
            self._accepted_ns = version[0]
            self.offered.append(document)

    def _holds(self, text: str) -> bool:
        try:
            return self.path.read_bytes() == text.encode()
        except OSError:
            return False

    def _version(self) -> Version | None:
        """Return (time of the last change in ns, size in bytes) of the file, ``None`` if it is not there."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size


def rank_number() -> int:
    """Return this process's rank, -1 where it is not known."""
    rank = rank_id()
    try:
        return _UNKNOWN_RANK if rank is None else int(rank)
    except ValueError:
        return _UNKNOWN_RANK


def open_log(directory: Path, prefix: str, source: str) -> logging.Logger:
    """
    Return a log that writes ``<directory>/log/<prefix>dp_<host>_<pid>_rank_<rank>.log``, mode 0640 less the umask.

    *source* stands in every line where the vendor has the name of its file.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    folder = directory / "log"
    folder.mkdir(mode=0o750, parents=True, exist_ok=True)
    path = folder / f"{prefix}dp_{socket.gethostname()}_{os.getpid()}_rank_{rank_number()}.log"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o640))
    handler = RotatingFileHandler(path, maxBytes=_MAX_LOG_BYTES, backupCount=_LOG_BACKUPS, encoding="utf-8")
    handler.setFormatter(logging.Formatter(f"%(asctime)s [%(levelname)s] [%(process)d] {source}: %(message)s"))
    log = logging.Logger(source, logging.DEBUG)  # noqa: LOG001 - outside the tree, so that the script's handlers do not get it
    log.addHandler(handler)
    return log
