"""What a recording keeps while it runs: lists that threads append to without a lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from attrs import define, field, frozen

from drynpu.kernels import Operators
from drynpu.simulate import MarkKind

DeviceStream: TypeAlias = "tuple[int, int]"
"""A stream of a device: ``(device_id, stream)``."""
MarkRows: TypeAlias = "list[tuple[MarkKind, str, int, int, int, DeviceStream | None]]"
"""Marks of the script ``(kind, message, start_ns, end_ns, thread, stream)``; stream None: of the host alone."""

_LISTS = ("executions", "copies", "calls", "marks", "steps", "waits")


@frozen(eq=False)
class ModelExecution:
    """One execution of a model, as a ``Listener`` of the runtime gets it; times are Unix ns, also in ``load``."""

    model_id: int
    model_name: str
    stream: int
    operators: Operators
    start_ns: int
    end_ns: int
    device_id: int = 0
    load: tuple[int, int] = (0, 0)


@frozen
class CopyCall:
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
class CapturedCalls:
    """
    Everything that was captured so far.

    ``steps`` are iterations that the script reports, rows ``(number, start_ns, end_ns, thread, device_id)``. Appending
    to a list is one operation of the interpreter, so that many threads lose nothing. ``waits`` say when a thread
    stopped waiting for a processor, before a call or in it, and how long it had waited, ns.
    """

    executions: list[ModelExecution] = field(factory=list)
    copies: list[CopyCall] = field(factory=list)
    calls: list[ApiCall] = field(factory=list)
    marks: MarkRows = field(factory=list)
    steps: list[tuple[int, int, int, int, int]] = field(factory=list)
    waits: list[tuple[int, int]] = field(factory=list)
    _waited: dict[int, int] = field(factory=dict)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many entries each list has."""
        return tuple(len(getattr(self, name)) for name in _LISTS)

    def note_call(self, call: ApiCall, before: int, after: int) -> None:
        """Note a call, and what its thread had waited for a processor before it and after it, ns in all its life."""
        self.calls.append(call)
        known = self._waited.get(call.thread, before)
        waits = ((call.start_ns, before - known), (call.end_ns, after - before))
        self.waits += [wait for wait in waits if wait[1]]
        self._waited[call.thread] = after

    def note_recording(self, call: ApiCall, end_ns: int, waited: int) -> None:
        """Note that until *end_ns* the thread has recorded *call* and saved it, which is no time of the script."""
        self.waits.append((end_ns, end_ns - call.end_ns))
        self._waited[call.thread] = waited

    def between(self, begin: tuple[int, ...], end: tuple[int, ...]) -> CapturedCalls:
        """Return what came between two readings of `counts`."""
        parts = zip(_LISTS, begin, end, strict=True)
        return CapturedCalls(**{name: getattr(self, name)[first:last] for name, first, last in parts})

    def by_device(self, devices: Sequence[int]) -> dict[int, CapturedCalls]:
        """
        Return what belongs to each of *devices*, of which there is at least one.

        Calls and marks of the host for other devices, or for none, are with the first; marks lose their stream there.
        """
        parts = {
            device_id: CapturedCalls(
                executions=[each for each in self.executions if each.device_id == device_id],
                copies=[copy for copy in self.copies if copy.device_id == device_id],
                steps=[step for step in self.steps if step[-1] == device_id],
                waits=self.waits,
            )
            for device_id in devices
        }
        first = parts[devices[0]]
        for call in self.calls:
            parts.get(call.device_id, first).calls.append(call)
        for kind, message, start_ns, end_ns, thread, stream in self.marks:
            part = None if stream is None else parts.get(stream[0])
            kept = None if part is None else stream
            (part or first).marks.append((kind, message, start_ns, end_ns, thread, kept))
        return parts

    @property
    def devices(self) -> set[int]:
        """The devices on which something ran."""
        return {execution.device_id for execution in self.executions} | {copy.device_id for copy in self.copies}
