"""
Route A: every node that a session run executed, by RunOptions and RunMetadata (tf_adapters.md 6).

The graph that TensorFlow executes is asked for once per distinct run (fetches, feeds, graph), because it does not
change between runs; times come with every run. Runs are kept as TensorFlow serialised them, and read together when
there are many: a step does not wait for that. Shapes are read again when a node whose shape the graph leaves open had
another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from attrs import define, field, frozen

from drynpu import CaptureError
from drynpu.kernels import Operators
from drynpu.session import FusionOp
from drynpu_tf.capture._session_graph import GraphVariant, SessionGraph
from drynpu_tf.capture._step_stats import NodeTimes

__all__ = ["CapturedRun", "RunContent", "RunKey", "SessionCapture"]

RunKey: TypeAlias = tuple[object, ...]
"""What makes two runs the same to the runtime: the version of the graph, fetches, feeds."""


@define(eq=False)
class RunContent:
    """Stands for a ``RunMetadata`` that is filled in by a run, and keeps the bytes."""

    content: bytes = b""

    def ParseFromString(self, content: bytes) -> None:  # noqa: N802 - the method that a session calls
        """Take over what the runtime tells."""
        self.content = content


@frozen(eq=False)
class CapturedRun:
    """The nodes that a run executed, by start, and which of them the graph engine would have made one operator."""

    operators: Operators
    fusions: tuple[FusionOp, ...] = ()


@define(eq=False)
class SessionCapture:
    """
    The runs of one session.

    A run is made with the options of :meth:`prepare`, what the runtime tells of it goes through :meth:`take`, and
    :meth:`read` says what many of them executed. ``split`` says whether the chip has cube and vector cores apart; the
    graph engine fuses more for others.
    """

    split: bool = True
    _graphs: dict[RunKey, SessionGraph] = field(factory=dict)
    _options: dict[bool, Any] = field(factory=dict)

    def wants_graph(self, key: RunKey) -> bool:
        """Whether the executed graph of such a run is still to be asked for."""
        return key not in self._graphs

    def prepare(self, options: Any, key: RunKey) -> Any:
        """
        Return the ``RunOptions`` that the capture needs; whatever is set in *options* (``None``: nothing) stays.

        The software trace is enough. Higher levels hold the process's one profiler as well: two runs at the same time
        would fail, and so would TensorBoard's profiler.
        """
        from tensorflow.core.protobuf import config_pb2

        wants_graph = self.wants_graph(key)
        own = self._options.get(wants_graph) if options is None else None
        if own is None:
            own = config_pb2.RunOptions()
            if options is not None:
                own.CopyFrom(options)
            own.trace_level = max(own.trace_level, own.SOFTWARE_TRACE)
            own.output_partition_graphs |= wants_graph
            if options is None:
                self._options[wants_graph] = own
        return own

    def take(self, key: RunKey, content: bytes, static: Any = None) -> bytes:
        """
        Return what is to be kept of a run that has ended.

        Parameters
        ----------
        content:
            Its ``RunMetadata`` serialised, with step stats and, the first time, partition graphs.
        static:
            The session's ``tf.Graph``; says which shapes cannot change.
        """
        if not self.wants_graph(key):
            return content
        from tensorflow.core.protobuf import config_pb2

        metadata = config_pb2.RunMetadata.FromString(content)
        self._graphs[key] = SessionGraph.read(metadata.partition_graphs, static)
        return config_pb2.RunMetadata(step_stats=metadata.step_stats).SerializeToString()

    def read(self, key: RunKey, contents: Sequence[bytes], threads: Sequence[int]) -> Iterator[CapturedRun]:
        """
        Read what was kept of runs with one key, in their order; *threads* made them.

        Raises
        ------
        CaptureError
            TensorFlow left something that cannot be read.
        """
        graph = self._graphs[key]
        try:
            times = NodeTimes.read(contents, graph.table, graph.watched)
        except ValueError as error:
            raise CaptureError(f"TensorFlow's step stats cannot be read: {error}") from error
        bounds = np.searchsorted(times.run, np.arange(len(contents) + 1)).tolist()
        for number, content in enumerate(contents):
            variant = graph.variant(times.shapes[number], content, split=self.split)
            rows = slice(bounds[number], bounds[number + 1])
            yield CapturedRun(_operators(graph, variant, times, rows, threads[number]), variant.fusions)


def _operators(graph: SessionGraph, variant: GraphVariant, times: NodeTimes, rows: slice, thread: int) -> Operators:
    node = times.node[rows].astype(np.int32)
    return Operators(
        names=graph.names,
        name=node,
        start_ns=times.start_ns[rows],
        end_ns=times.end_ns[rows],
        thread=np.full(len(node), thread, np.int64),
        fwd_thread=np.zeros(len(node), np.int64),
        sequence=np.full(len(node), -1, np.int64),
        scope=graph.scope[node],
        signature=node,
        signatures=variant.signatures,
    )
