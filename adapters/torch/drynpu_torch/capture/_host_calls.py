"""Calls that the device reports while a recording runs: stream switches, synchronising calls, events."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from attrs import define, field

from drynpu.arrays import I64
from drynpu.device import DispatchKind
from drynpu.simulate import DEFAULT_STREAM, GraphRun, HostCall, Iteration

if TYPE_CHECKING:
    from drynpu_torch.device import GraphStreams
    from drynpu_torch.distributed import CollectiveCapture

_EVENT_CALLS = {
    "record": DispatchKind.RECORD_EVENT,
    "wait": DispatchKind.WAIT_EVENT,
    "synchronize": DispatchKind.SYNCHRONIZE_EVENT,
}


# The order of `Call` in adapters/torch/native/calls.h.
_STREAM_SELECTED = 0
_NATIVE_KINDS = {
    1: DispatchKind.WAIT_STREAM,
    2: DispatchKind.WAIT_DEVICE,
    3: DispatchKind.RECORD_EVENT,
    4: DispatchKind.WAIT_EVENT,
    5: DispatchKind.SYNCHRONIZE_EVENT,
}


def _stream_number(stream_id: int | None) -> int:
    return DEFAULT_STREAM + (stream_id or 0)


@define
class HostCallRecorder:
    """
    The listener of the npu device; stream 0 of the framework is the device's default stream.

    ``capture`` is the recording that this belongs to, and ``communication`` records its collectives, both as long as
    this records calls. ``graphs`` has an entry for each capture of a
    graph, and one for each replay.
    """

    calls: list[HostCall] = field(factory=list)
    streams: list[tuple[int, int, int]] = field(factory=list)
    communication: CollectiveCapture | None = None
    capture: object = field(default=None, eq=False, repr=False)
    graphs: list[GraphRun] = field(factory=list)
    _replays: dict[int, int] = field(factory=dict)
    """When the replay began that a thread is in."""

    def on_stream(self, stream_id: int) -> None:
        """Note that later work of this thread goes to the stream."""
        self.streams.append((time.time_ns(), threading.get_native_id(), _stream_number(stream_id)))

    def on_synchronize(self, stream_id: int | None) -> None:
        """Note that the host waits for one stream, or for the device when ``stream_id`` is None."""
        kind = DispatchKind.WAIT_DEVICE if stream_id is None else DispatchKind.WAIT_STREAM
        self._add(kind, _stream_number(stream_id))

    def on_event(self, event_id: int, stream_id: int, action: str) -> None:
        """Note what was done to an event; ``query`` waits for nothing and leaves no call."""
        if action in _EVENT_CALLS:
            self._add(_EVENT_CALLS[action], _stream_number(stream_id), event_id)

    def add_native(self, rows: I64) -> None:
        """Add the calls that the native device noted, ``[call, 5]``: calls of PyTorch's own streams and events."""
        for time_ns, thread, kind, stream, event in rows.tolist():
            if kind == _STREAM_SELECTED:
                self.streams.append((time_ns, thread, _stream_number(stream)))
            else:
                self.calls.append(HostCall(time_ns, thread, _NATIVE_KINDS[kind], _stream_number(stream), event))

    def pause(self, begin_ns: int, end_ns: int) -> None:
        """Note a time in which the host did what a device would not have done: profiling, or moving data on the CPU."""
        self.calls.append(HostCall(begin_ns, threading.get_native_id(), DispatchKind.PAUSE, until_ns=end_ns))

    def on_capture(self, graph: GraphStreams, begin_ns: int) -> None:
        """Note that a graph has been captured since *begin_ns*; the host waited until it had launched all else."""
        self.calls.append(HostCall(begin_ns, threading.get_native_id(), DispatchKind.DRAIN_QUEUE))
        self.graphs.append(_graph_run(graph, load=(begin_ns, time.time_ns())))

    def on_replay(self, graph: GraphStreams, stream_id: int, *, end: bool) -> None:
        """
        Note that a replay begins or ends: one launch, behind all that the host launched before.

        The graph waits for the work of the stream that it is launched on, and this waits for the graph.
        """
        now_ns, thread = time.time_ns(), threading.get_native_id()
        stream, of_graph = _stream_number(stream_id), _stream_number(next(iter(graph.streams.values())))
        if end:
            begun_ns = self._replays.pop(thread, None)
            if begun_ns is None:  # the recording began within the replay
                return
            first, second, event = of_graph, stream, graph.end_event
            self.graphs.append(
                _graph_run(graph, iterations=(Iteration(index=1, start_ns=begun_ns, end_ns=now_ns + 3),))
            )
        else:
            self._replays[thread] = now_ns
            first, second, event = stream, of_graph, graph.begin_event
        # In this order, with nothing in between: a call of the host, in which the device orders its streams.
        ordering = [
            HostCall(now_ns + 1, thread, DispatchKind.RECORD_EVENT, first, event, in_graph=True),
            HostCall(now_ns + 2, thread, DispatchKind.WAIT_EVENT, second, event, in_graph=True),
        ]
        self.calls.extend(ordering)
        self.calls.append(HostCall(now_ns + 3 if end else now_ns, thread, DispatchKind.DRAIN_QUEUE))

    def _add(self, kind: DispatchKind, stream: int, event: int = 0) -> None:
        thread = threading.get_native_id()
        self.calls.append(HostCall(time.time_ns(), thread, kind, stream, event, in_graph=thread in self._replays))


def _graph_run(
    graph: GraphStreams, *, load: tuple[int, int] | None = None, iterations: tuple[Iteration, ...] = ()
) -> GraphRun:
    streams = tuple((_stream_number(model), _stream_number(script)) for script, model in graph.streams.items())
    return GraphRun(
        model_id=graph.number,
        model_name=f"NPUGraph {graph.number}",
        graph_id=graph.number,
        iterations=iterations,
        load=load,
        streams=streams,
    )
