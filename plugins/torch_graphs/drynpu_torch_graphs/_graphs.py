"""Graphs of the device: captured operators that are replayed as one launch (docs/torch-graphs.md)."""

from __future__ import annotations

import importlib
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

import torch

from drynpu_torch.device import GRAPH_REPLAY, ErrCode, GraphStreams, pta_error, state
from drynpu_torch.device.npu import Stream, StreamContext, current_stream, empty_cache, synchronize
from drynpu_torch_graphs._capture import GraphCapture
from drynpu_torch_graphs._program import Program, shown_range
from drynpu_torch_graphs._tasks import GraphDispatch

_MODES: Final = ("global", "thread_local", "relaxed")
_numbers: Final = itertools.count(1)


def graph_pool_handle() -> tuple[int, int]:
    """Return the number of a new pool. Graphs share no memory here, so that it says nothing of addresses."""
    return 0, next(_numbers)


class NPUGraph:
    """
    Operators of the device that are captured once and replayed together.

    While it captures, operators run on what their tensors hold, so that shapes and values exist; what they wrote to
    tensors that were there before is put back at the end. A replay runs them on the present values of these tensors,
    and writes results where they were at the capture.
    """

    def __init__(self) -> None:
        if state().library is None:
            raise NotImplementedError(
                "torch.npu.NPUGraph needs the native device, because tensors of the sink do not say whether they are "
                "on the npu; build it with: drynpu native build"
            )
        importlib.import_module("torch._dynamo")  # now: the first operator in a dispatch mode loads it, for a second
        self.auto_dispatch_capture = False
        self.graph_dispatch_mode = GraphDispatch()
        self._program: Program | None = None
        self._capture: GraphCapture | None = None
        self._pool = (next(_numbers), 0)

    def capture_begin(self, pool: tuple[int, int] | None = None, capture_error_mode: str = "global") -> None:
        """
        Begin to capture what this thread launches.

        Raises
        ------
        RuntimeError
            The stream is the default one, the graph has been captured before, or another capture is under way.
        """
        if os.environ.get("TASK_QUEUE_ENABLE") == "2":
            text = "Do not support TASK_QUEUE_ENABLE = 2 during NPU graph capture, please export TASK_QUEUE_ENABLE=1/0."
            raise RuntimeError(text + pta_error(ErrCode.NOT_SUPPORT))
        if self._program is not None:
            raise RuntimeError(
                "This NPUGraph instance already owns a captured graph. To capture a new graph, create a new instance."
            )
        if capture_error_mode not in _MODES:
            modes = "`global`, `thread_local`, or `relaxed`"
            raise RuntimeError(f"Unknown capture error mode. Expected {modes}, got {capture_error_mode}")
        stream = current_stream()
        if not stream.stream_id:
            raise RuntimeError(
                "NPU graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them "
                "on the default stream.)"
            )
        if state().capture is not None:
            raise RuntimeError("drynpu captures one graph at a time; end the capture that is under way first")
        on_call = self.graph_dispatch_mode.capture if self.auto_dispatch_capture else None
        self._pool = self._pool if pool is None else pool
        events = (next(state().event_ids), next(state().event_ids))
        graph_streams = GraphStreams(next(_numbers), *events)
        self._capture = GraphCapture(stream, graph_streams, everywhere=capture_error_mode == "global", on_call=on_call)
        self._capture.begin()
        state().capture = self._capture

    def capture_end(self) -> None:
        """
        End the capture; the graph can be replayed from now on.

        Raises
        ------
        RuntimeError
            No capture of this graph is under way, or this is not the stream that it began on.
        """
        capture = self._leave()
        if current_stream() != capture.stream:
            capture.abandon()
            raise RuntimeError("Capture must end on the same stream it began on.")
        self._program = capture.end()

    def abandon(self) -> None:
        """End a capture that failed, and forget what it noted."""
        self._leave().abandon()

    def _leave(self) -> GraphCapture:
        capture, self._capture = self._capture, None
        if capture is None:
            raise RuntimeError("capture_end() called before capture_begin().")
        state().capture = None
        return capture

    def replay(self) -> None:
        """
        Run what was captured.

        Raises
        ------
        RuntimeError
            Nothing has been captured, or a capture is under way.
        """
        if self._program is None:
            raise RuntimeError("Called NPUGraph::replay without a preceding successful capture.")
        if state().capture is not None:
            raise RuntimeError("Cannot prepare for replay during capturing stage")
        with shown_range(GRAPH_REPLAY):
            self._program.run()

    def register_generator_state(self, generator: torch.Generator) -> None:
        """Accept a generator: whatever a replay draws from moves on."""
        del generator

    def reset(self) -> None:
        """Forget the graph, and what it kept."""
        self._program = None

    def pool(self) -> tuple[int, int]:
        """
        Return the number of the graph's pool.

        Raises
        ------
        RuntimeError
            Nothing has been captured.
        """
        if self._program is None:
            raise RuntimeError("Called NPUGraph::pool() without a preceding successful capture.")
        return self._pool

    def update(self, cpu_update_input: Sequence[Mapping[str, Any]]) -> None:
        """
        Change arguments of captured operators, such as the lengths of sequences of attention.

        There is a mapping for each of them that has a handler, in their order, or one for all.

        Raises
        ------
        RuntimeError
            The graph was captured without ``auto_dispatch_capture=True``, or the number of mappings is another.
        """
        if not self.auto_dispatch_capture:
            raise RuntimeError(
                "The current graph configuration does not support update,Try to capture by setting "
                "auto_dispatch_capture=True during capture" + pta_error(ErrCode.PARAM)
            )
        self.graph_dispatch_mode.update_capture_record(cpu_update_input)

    def debug_dump(self, debug_path: str) -> None:
        """Raise NotImplementedError: the file describes tasks of a device."""
        raise NotImplementedError(
            f"drynpu does not write {debug_path}: it would describe the tasks of a device; profile a replay instead"
        )

    def super_kernel_optimize(self, optimize_options: object = None, debug_options: object = None) -> None:
        """Raise NotImplementedError: no kernels are fused here."""
        del optimize_options, debug_options
        raise NotImplementedError("drynpu does not fuse kernels of graphs; replay the graph as it was captured")


class graph:  # noqa: N801 - the vendor's name
    """
    The context in which a graph is captured, on a stream of its own if *stream* is not given.

    With *auto_dispatch_capture* :meth:`NPUGraph.update` can change arguments of operators that have a handler.
    """

    default_capture_stream: ClassVar[Stream | None] = None

    def __init__(
        self,
        npu_graph: NPUGraph,
        pool: tuple[int, int] | None = None,
        stream: Stream | None = None,
        auto_dispatch_capture: bool = False,
        capture_error_mode: str = "global",
    ) -> None:
        if stream is None and graph.default_capture_stream is None:
            graph.default_capture_stream = Stream()
        self.pool = pool
        self.capture_stream = stream or graph.default_capture_stream
        self.npu_graph = npu_graph
        self.capture_error_mode = capture_error_mode
        self.stream_ctx = StreamContext(self.capture_stream)
        npu_graph.auto_dispatch_capture = auto_dispatch_capture

    def __enter__(self) -> None:
        """Wait for the device, and begin the capture."""
        synchronize()
        empty_cache()
        self.stream_ctx.__enter__()
        try:
            self.npu_graph.capture_begin(self.pool, capture_error_mode=self.capture_error_mode)
        except BaseException:
            self.stream_ctx.__exit__()
            raise

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        """End the capture; after an error there is no graph."""
        try:
            if exc_type is None:
                self.npu_graph.capture_end()
            else:
                self.npu_graph.abandon()
        finally:
            self.stream_ctx.__exit__()


def launch_host_func(stream: Stream, function: Callable[[Any], object], data: object) -> None:
    """Call ``function(data)`` on the host when *stream* comes to it; within a capture, whenever the graph runs."""
    del stream
    capture = state().capture
    if capture is not None and capture.covers():
        capture.note(lambda: function(data))
    else:
        function(data)


def subscribe_report(stream: Stream) -> None:
    """Let *stream* call functions of the host, which every stream does here."""
    del stream


def unsubscribe_report(stream: Stream) -> None:
    """Let *stream* call no more functions of the host."""
    del stream
