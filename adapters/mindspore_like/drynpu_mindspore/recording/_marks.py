"""Steps of the schedule and marks of the user while something is recorded (mindspore_profiler.md 5, 9)."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator

from attrs import define, field, frozen

from drynpu.kernels import Call
from drynpu.simulate import DEFAULT_STREAM, Mark, MarkKind

_STEP = "ProfilerStep#{}"
_MARK, _RANGE = "Mstx.mark", "Mstx.range_start"
"""Names of the calls that set marks, by which a reader ties a mark to its call."""


@frozen
class _Open:
    message: str
    domain: str
    start_ns: int
    thread: int
    stream: int | None


@define
class ScriptMarks:
    """
    What a script says of its own course; times are Unix ns.

    ``include`` and ``exclude`` are domains; only one of them is not empty.
    """

    include: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()
    calls: list[Call] = field(factory=list)
    tx: list[Mark] = field(factory=list)
    _step: tuple[int, int, int] | None = None
    _ranges: dict[int, _Open] = field(factory=dict)
    _ids: Iterator[int] = field(factory=lambda: itertools.count(1))

    def open_step(self, number: int) -> None:
        """Begin a step on this thread."""
        self._step = (number, time.time_ns(), threading.get_native_id())

    def close_step(self) -> None:
        """End the step that is open."""
        if self._step is not None:
            number, start_ns, thread = self._step
            self.calls.append(Call(_STEP.format(number), start_ns, time.time_ns(), thread))
            self._step = None

    def mark(self, message: str, domain: str, stream: object | None) -> None:
        """Note a point."""
        if not self._wanted(domain):
            return
        called_ns = time.time_ns()
        thread, now_ns = threading.get_native_id(), time.time_ns()
        self._note(_Open(message, domain, now_ns, thread, _stream(stream)), MarkKind.EXTENDED_POINT, now_ns)
        self.calls.append(Call(_MARK, called_ns, time.time_ns(), thread))

    def range_start(self, message: str, domain: str, stream: object | None) -> int:
        """Begin a range; one of a domain that is not wanted has an id as well, and leaves nothing."""
        identity = next(self._ids)
        if self._wanted(domain):
            called_ns = time.time_ns()
            thread = threading.get_native_id()
            self._ranges[identity] = _Open(message, domain, time.time_ns(), thread, _stream(stream))
            self.calls.append(Call(_RANGE, called_ns, time.time_ns(), thread))
        return identity

    def range_end(self, identity: int, domain: str) -> None:
        """End a range of that domain."""
        begun = self._ranges.get(identity)
        if begun is not None and begun.domain == domain:
            del self._ranges[identity]
            self._note(begun, MarkKind.START_END, time.time_ns())

    def _wanted(self, domain: str) -> bool:
        return domain in self.include if self.include else domain not in self.exclude

    def _note(self, begun: _Open, kind: MarkKind, end_ns: int) -> None:
        thread = threading.get_native_id()
        self.tx.append(
            Mark(
                kind=kind,
                message=begun.message,
                start_ns=begun.start_ns,
                end_ns=end_ns,
                thread=begun.thread,
                end_thread=thread if kind is MarkKind.START_END else None,
                domain=begun.domain,
                stream=begun.stream,
                extended=True,
            )
        )


def _stream(stream: object | None) -> int | None:
    """Return the device's stream: all work is on the default one."""
    return None if stream is None else DEFAULT_STREAM
