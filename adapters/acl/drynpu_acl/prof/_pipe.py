"""The writing end of a subscription: a thread that hands records to a pipe, whatever the reader does."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import threading
import time
from collections import deque
from collections.abc import Callable

from drynpu import say

_CAPACITY = 200_000
"""Records that wait at most, as in the vendor's queue (pyacl_prof.md 8)."""
_ATOMIC = 51 * 80
"""Whole records that a pipe takes at once: at most 4096 bytes (PIPE_BUF)."""
_STALL_S = 5.0
"""How long closing waits for a reader that takes nothing."""
_POLL_MS = 100
"""How soon the writing thread notices that the pipe is being closed."""


class RecordPipe:
    """
    Records on their way to a pipe.

    The thread that executes a model only queues what makes the records; what does not fit is dropped and counted. A
    reader that went away or never reads costs the records, not the process.

    Parameters
    ----------
    descriptor:
        The script's own writing end. A duplicate is written to, so that a number that the script closed and the
        system gave away again is never written to.

    Raises
    ------
    OSError
        It is not open.
    """

    def __init__(self, descriptor: int) -> None:
        self._given = descriptor
        self._own = os.dup(descriptor)
        self._identity = file_identity(self._own)
        self._queue: deque[tuple[int, Callable[[], bytes]]] = deque()
        self._waiting = 0
        self._dropped = 0
        self._broken = False
        self._closing = False
        self._progress_s = time.monotonic()
        self._condition = threading.Condition()
        self._thread = threading.Thread(target=self._write_all, name="acl.prof subscription", daemon=True)
        self._thread.start()

    def writes_to(self, descriptor: int) -> bool:
        """Whether *descriptor* is the pipe that this writes to."""
        return self._identity == file_identity(descriptor)

    def put(self, count: int, make: Callable[[], bytes]) -> None:
        """Queue *count* records, which *make* returns as bytes; does not wait."""
        with self._condition:
            if self._closing or self._broken or self._waiting + count > _CAPACITY:
                self._dropped += count
                return
            self._queue.append((count, make))
            self._waiting += count
            self._condition.notify_all()

    def flush(self) -> None:
        """Wait until everything queued is in the pipe, or the reader has taken nothing for five seconds."""
        with self._condition:
            self._progress_s = time.monotonic()
            while self._waiting and not self._broken and time.monotonic() - self._progress_s < _STALL_S:
                self._condition.wait(0.05)

    def close(self) -> None:
        """Flush, drop what the reader did not take, and close both the duplicate and the script's writing end."""
        self.flush()
        with self._condition:
            self._closing = True
            # What the thread holds at this moment it counts itself.
            left, self._queue = sum(count for count, _ in self._queue), deque()
            self._dropped += left
            self._waiting -= left
            self._condition.notify_all()
        self._thread.join()
        if file_identity(self._given) == self._identity:
            os.close(self._given)
        os.close(self._own)
        if self._dropped:
            say(f"acl.prof: {self._dropped} subscription records were dropped: nobody read them in time")

    def _write_all(self) -> None:
        # A script may have SIGPIPE's default action back, which ends the process: here it is an error like others.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
        while True:
            with self._condition:
                while not self._queue and not self._closing:
                    self._condition.wait()
                if self._closing:
                    return
                count, make = self._queue.popleft()
            data = make()
            written = self._write(data)
            with self._condition:
                self._waiting -= count
                if written < len(data):
                    self._broken = True
                    self._dropped += self._waiting + count - count * written // len(data)
                    self._waiting = 0
                    self._queue.clear()
                self._condition.notify_all()

    def _write(self, data: bytes) -> int:
        """Write whole records, up to where nobody reads any more or the pipe is being closed; return the bytes."""
        poller = select.poll()
        poller.register(self._own, select.POLLOUT)
        for at in range(0, len(data), _ATOMIC):
            ready: list[tuple[int, int]] = []
            while not ready:
                if self._closing:
                    return at
                ready = poller.poll(_POLL_MS)
            try:
                os.write(self._own, data[at : at + _ATOMIC])
            except OSError:
                return at
            self._progress_s = time.monotonic()
        return len(data)


def file_identity(descriptor: int) -> tuple[int, int] | None:
    """Return device and inode of an open file; ``None`` for a number that is not open."""
    with contextlib.suppress(OSError, OverflowError):
        status = os.fstat(descriptor)
        return status.st_dev, status.st_ino
    return None


def writable(descriptor: int) -> bool:
    """Return whether an open file may be written to."""
    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
