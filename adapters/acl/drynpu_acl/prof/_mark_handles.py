"""msproftx: stamps, marks and ranges (pyacl_prof.md 6)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from attrs import define, field

from drynpu.simulate import MarkKind
from drynpu_acl.constants import ReturnCode
from drynpu_acl.handles import Handles, handle_numbers
from drynpu_acl.recording import DeviceStream, MarkRows

_SLOTS = 100
"""Stamps that a process may hold at once, as with the vendor."""
_MESSAGE_BYTES = 128
_NO_NAME = ""
_OK, _FAILED = int(ReturnCode.SUCCESS), int(ReturnCode.FAILED)


@define
class _MarkHandle:
    """A stamp of the pool; ``start_ns`` is 0 where no range was started with it."""

    slot: int
    message: str = _NO_NAME
    start_ns: int = 0


@define
class MarkHandles:
    """
    The pool of a process. ``marks`` returns the list that marks go to, ``None`` while none are recorded.

    Nothing on the way of a mark takes a lock: what is shared is changed by single operations of the interpreter.
    """

    marks: Callable[[], MarkRows | None]
    _pool: Handles[_MarkHandle] = field(factory=lambda: Handles(handle_numbers(0x2_0000_0000)))
    _free: list[int] = field(factory=lambda: list(range(_SLOTS - 1, -1, -1)))
    _started: dict[int, _MarkHandle] = field(factory=dict)
    """By slot, which is the number of its range."""
    _stack: list[_MarkHandle] = field(factory=list)

    def create(self) -> int:
        """Return the handle of a stamp; 0 if marks are not recorded or all 100 are taken."""
        if self.marks() is None:
            return 0
        try:
            return self._pool.add(_MarkHandle(self._free.pop()))
        except IndexError:
            return 0

    def destroy(self, handle: int) -> None:
        """Return a stamp to the pool; nothing happens for an unknown handle."""
        stamp = self._pool.remove(handle)
        if stamp is not None:
            if self._started.get(stamp.slot) is stamp:
                del self._started[stamp.slot]
            self._free.append(stamp.slot)

    def set_message(self, handle: int, message: str, length: int) -> int:
        """Take the first *length* bytes of a text, which are fewer than 128."""
        stamp = self._pool.get(handle)
        if stamp is None or length >= _MESSAGE_BYTES or self.marks() is None:
            return _FAILED
        stamp.message = message.encode()[:length].decode(errors="ignore")
        return _OK

    def mark(self, handle: int) -> int:
        """Record an instant."""
        stamp, marks = self._pool.get(handle), self.marks()
        if stamp is None or marks is None:
            return _FAILED
        now_ns = time.time_ns()
        marks.append((MarkKind.POINT, stamp.message, now_ns, now_ns, threading.get_native_id(), None))
        return _OK

    def mark_stream(self, message: str, stream: DeviceStream | None) -> int:
        """Record an instant of the host and, behind the work of a stream, of its device; None is no stream."""
        marks = self.marks()
        if marks is None or stream is None or not 0 < len(message.encode()) < _MESSAGE_BYTES:
            return _FAILED
        now_ns = time.time_ns()
        marks.append((MarkKind.EXTENDED_POINT, message, now_ns, now_ns, threading.get_native_id(), stream))
        return _OK

    def push(self, handle: int) -> int:
        """Begin a range on the stack, of which the process has one."""
        stamp = self._pool.get(handle)
        if stamp is None or self.marks() is None:
            return _FAILED
        # What is on the stack keeps its own start and message, whatever becomes of the stamp.
        self._stack.append(_MarkHandle(stamp.slot, stamp.message, time.time_ns()))
        return _OK

    def pop(self) -> int:
        """End the newest range of the stack."""
        marks = self.marks()
        if marks is None:
            return _FAILED
        try:
            stamp = self._stack.pop()
        except IndexError:
            return _FAILED
        self._report(marks, MarkKind.PUSH_POP, stamp)
        return _OK

    def range_start(self, handle: int) -> tuple[int, int]:
        """Begin a range; returns its number, which is the stamp's place in the pool, and the code."""
        stamp = self._pool.get(handle)
        if stamp is None or self.marks() is None:
            return 0, _FAILED
        stamp.start_ns = time.time_ns()
        self._started[stamp.slot] = stamp
        return stamp.slot, _OK

    def range_stop(self, number: int) -> int:
        """End a range, from whatever thread; one that is ended twice is recorded twice."""
        stamp, marks = self._started.get(number), self.marks()
        if stamp is None or marks is None:
            return _FAILED
        self._report(marks, MarkKind.START_END, stamp)
        return _OK

    def forget(self) -> None:
        """Drop ranges that were begun and not ended: they belong to a session that is over."""
        self._stack.clear()
        self._started.clear()

    @staticmethod
    def _report(marks: MarkRows, kind: MarkKind, stamp: _MarkHandle) -> None:
        # The thread is the one that reports.
        marks.append((kind, stamp.message, stamp.start_ns, time.time_ns(), threading.get_native_id(), None))
