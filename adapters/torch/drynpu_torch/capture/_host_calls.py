"""What the device module reports while a recording runs: stream switches, synchronising calls, events."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from attrs import define, field

from drynpu.device import DispatchKind
from drynpu.simulate import DEFAULT_STREAM, HostCall

if TYPE_CHECKING:
    from drynpu_torch.distributed import CollectiveCapture

_EVENT_CALLS = {
    "record": DispatchKind.RECORD_EVENT,
    "wait": DispatchKind.WAIT_EVENT,
    "synchronize": DispatchKind.SYNCHRONIZE_EVENT,
}


def _stream_number(stream_id: int | None) -> int:
    return DEFAULT_STREAM + (stream_id or 0)


@define
class HostCallRecorder:
    """
    Recorder that the npu device calls; stream 0 of the framework is the device's default stream.

    ``communication`` is who notes collectives while this records.
    """

    marks: list[HostCall] = field(factory=list)
    streams: list[tuple[int, int, int]] = field(factory=list)
    communication: CollectiveCapture | None = None

    def on_stream(self, stream_id: int) -> None:
        """Later work of this thread goes to the stream."""
        self.streams.append((time.time_ns(), threading.get_native_id(), _stream_number(stream_id)))

    def on_synchronize(self, stream_id: int | None) -> None:
        """The host waits for one stream, or for the device when ``stream_id`` is None."""
        mark = DispatchKind.WAIT_DEVICE if stream_id is None else DispatchKind.WAIT_STREAM
        self._add(mark, _stream_number(stream_id))

    def on_event(self, event_id: int, stream_id: int, action: str) -> None:
        """An event was recorded on, or awaited by, a stream (``action`` record, wait or synchronize)."""
        if action in _EVENT_CALLS:
            self._add(_EVENT_CALLS[action], _stream_number(stream_id), event_id)

    def pause(self, begin_ns: int, end_ns: int) -> None:
        """What a device would not have done kept the host busy: the profiler itself, or the CPU moving data."""
        self.marks.append(HostCall(begin_ns, threading.get_native_id(), DispatchKind.PAUSE, until_ns=end_ns))

    def _add(self, mark: DispatchKind, stream: int, event: int = 0) -> None:
        self.marks.append(HostCall(time.time_ns(), threading.get_native_id(), mark, stream, event))
