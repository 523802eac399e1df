"""Watches profiler_config.json beside the training loop."""

from __future__ import annotations

import logging
import threading
from collections import deque
from pathlib import Path
from typing import Any

from attrs import define, field

from drynpu_torch.profiler.dynamic._config import parse_document

_POLL_S = 2
_SHORTEST_POLL_S, _LONGEST_POLL_S = 1, 50

Version = tuple[int, int]


@define(eq=False)
class ConfigMonitor:
    """
    A thread that looks at the file every few seconds and offers what it holds after an edit.

    An edit counts if the file is younger than what was accepted last, at first than the file that was there when the
    watch began. The vendor compares whole seconds, so it misses a second edit within one; here it counts.

    Attributes
    ----------
    path, log:
        The file, and where the watch tells what it saw.
    offered:
        The last edit if nobody has taken it, else empty. All that a training step looks at.
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

    def start(self) -> None:
        """Begin to watch; what the file holds now is no edit."""
        self._seen = self._version()
        self._accepted_ns = self._seen[0] if self._seen else 0
        self._thread = threading.Thread(target=self._watch, name="DynamicProfileMonitor", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the watch and wait for it."""
        self._stop.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def set_interval(self, step_s: float) -> int:
        """Poll about once per step of *step_s* seconds, and return the interval taken."""
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
            if not self._missing:  # told once, not at every look
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

    def _version(self) -> Version | None:
        """Return (time of the last change in ns, size in bytes) of the file, ``None`` if it is not there."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size
