"""What a recording keeps while it runs: lists that threads append to without a lock."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from attrs import define, field, frozen

from drynpu.kernels import Operators
from drynpu.session import TxKind

__all__ = ["ApiCall", "Captured", "Copy", "Marks", "Place", "Run"]

Place: TypeAlias = "tuple[int, int]"
"""A stream of a device: ``(device_id, stream)``."""
Marks: TypeAlias = "list[tuple[TxKind, str, int, int, int, Place | None]]"
"""User marks ``(kind, message, start_ns, end_ns, thread, place)``; place None: of the host alone."""


@frozen(eq=False)
class Run:
    """One run of a model, as `drynpu_acl.runtime.Listener` is told of it; times are Unix ns."""

    model_id: int
    model_name: str
    stream: int
    operators: Operators
    start_ns: int
    end_ns: int
    device_id: int = 0


@frozen
class Copy:
    """A copy between host and device; ``kind`` is the vendor's (1 to the device, 2 back, 3 within it)."""

    kind: int
    size_bytes: int
    start_ns: int
    end_ns: int
    thread: int
    device_id: int = 0


class ApiCall(NamedTuple):
    """
    A call that the script made into the library, by its C name.

    ``stream`` is the number of the stream that it names, None for none; ``event`` the handle of the event, 0 for none.
    """

    name: str
    start_ns: int
    end_ns: int
    thread: int
    device_id: int = 0
    stream: int | None = None
    event: int = 0


@define(eq=False)
class Captured:
    """
    What came in so far.

    ``steps`` are iterations told by the script, rows ``(number, start_ns, end_ns, thread, device_id)``. Appending to a
    list is one operation of the interpreter, so that many threads lose nothing.
    """

    runs: list[Run] = field(factory=list)
    copies: list[Copy] = field(factory=list)
    calls: list[ApiCall] = field(factory=list)
    marks: Marks = field(factory=list)
    steps: list[tuple[int, int, int, int, int]] = field(factory=list)

    def of_device(self, device_id: int, *, first: bool) -> Captured:
        """Return what belongs to one device; marks of the host alone go with the *first* one."""
        return Captured(
            runs=[run for run in self.runs if run.device_id == device_id],
            copies=[copy for copy in self.copies if copy.device_id == device_id],
            calls=[call for call in self.calls if call.device_id == device_id],
            marks=[mark for mark in self.marks if (first if mark[-1] is None else mark[-1][0] == device_id)],
            steps=[step for step in self.steps if step[-1] == device_id],
        )

    @property
    def devices(self) -> set[int]:
        """The devices on which something ran."""
        return {run.device_id for run in self.runs} | {copy.device_id for copy in self.copies}
