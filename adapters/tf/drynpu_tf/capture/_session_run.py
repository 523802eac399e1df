"""
Route A: every node that a session run executed, by RunOptions and RunMetadata (tf_adapters.md 6).

The graph that TensorFlow executes is requested once per distinct run (fetches, feeds, graph), because it does not
change between runs; times come with every run. Runs are kept as TensorFlow serialised them and read later: a step does
not wait for that. Shapes are read again when a node whose shape the graph leaves open had another one, in another run
or in another turn of a loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from operator import attrgetter
from typing import TypeAlias

import numpy as np
from attrs import define, field, frozen

from drynpu import CaptureError
from drynpu.arrays import I32, I64
from drynpu.kernels import Operators, occurrences
from drynpu.simulate import FusionOp, GraphPoints
from drynpu_tf.capture._dataset_reads import DatasetRead
from drynpu_tf.capture._session_graph import GraphVariant, SessionGraph
from drynpu_tf.foreign import GraphDef, RunOptions
from drynpu_tf.rules import Precision

RunKey: TypeAlias = tuple[object, ...]
"""What makes two runs the same to the runtime: the version of the graph, fetches, feeds."""

_node_name = attrgetter("node_name")
_node_times = attrgetter("all_start_nanos", "op_start_rel_nanos", "op_end_rel_nanos")


@define(eq=False)
class RunContent:
    """Stands for a ``RunMetadata`` that is filled in by a run, and keeps the bytes."""

    content: bytes = b""

    def ParseFromString(self, content: bytes) -> None:  # noqa: N802 - the method that a session calls
        """Keep the bytes of the run's ``RunMetadata``."""
        self.content = content


@frozen(eq=False)
class CapturedRun:
    """
    The nodes that a run executed, by start, and which of them the graph engine would have made one operator.

    ``reads`` are the times it took data from the device's queue, ``points`` where the iteration trace marks the graph.
    """

    operators: Operators
    fusions: tuple[FusionOp, ...] = ()
    points: GraphPoints | None = None
    consumers: Mapping[str, frozenset[str]] = field(factory=dict)
    reads: tuple[DatasetRead, ...] = ()


@define(eq=False)
class SessionCapture:
    """
    The runs of one session.

    A run is made with the options of :meth:`prepare`, its metadata go through :meth:`take`, and :meth:`read` returns
    what it executed. ``split`` says whether the chip has cube and vector cores apart; the
    graph engine fuses more for others. ``sinks_data`` says whether graphs take their data from a queue on the device
    (``enable_data_pre_proc``), ``precision`` how graphs are reduced to 16 bits.
    """

    split: bool = True
    sinks_data: bool = False
    precision: Precision | None = None
    _graphs: dict[RunKey, SessionGraph] = field(factory=dict)
    _options: dict[bool, RunOptions] = field(factory=dict)

    def wants_graph(self, key: RunKey) -> bool:
        """Return whether the executed graph of such a run has not been read yet."""
        return key not in self._graphs

    def prepare(self, options: RunOptions, key: RunKey) -> RunOptions:
        """
        Return the ``RunOptions`` that the capture needs; whatever is set in *options* (``None``: nothing) stays.

        The software trace is enough. Higher levels hold the process's one profiler as well: two runs at the same time
        would fail, and so would TensorBoard's profiler.
        """
        from tensorflow.core.protobuf import config_pb2

        wants_graph = self.wants_graph(key)
        # Of runs without options there are two kinds only.
        traced = self._options.get(wants_graph) if options is None else None
        if traced is None:
            traced = config_pb2.RunOptions()
            if options is not None:
                traced.CopyFrom(options)
            traced.trace_level = max(traced.trace_level, traced.SOFTWARE_TRACE)
            traced.output_partition_graphs |= wants_graph
            if options is None:
                self._options[wants_graph] = traced
        return traced

    def take(self, key: RunKey, content: bytes, static: GraphDef = None) -> bytes:
        """
        Return the bytes that are to be kept of a run that has ended.

        Parameters
        ----------
        content:
            Its ``RunMetadata`` serialised, with step stats and, the first time, partition graphs.
        static:
            The session's ``tf.Graph``, which has the shapes that cannot change.
        """
        if not self.wants_graph(key):
            return content
        from tensorflow.core.protobuf import config_pb2

        metadata = config_pb2.RunMetadata.FromString(content)
        self._graphs[key] = SessionGraph.read(
            metadata.partition_graphs, static, sinks_data=self.sinks_data, precision=self.precision
        )
        stripped: bytes = config_pb2.RunMetadata(step_stats=metadata.step_stats).SerializeToString()
        return stripped

    def read(self, key: RunKey, content: bytes, thread: int) -> CapturedRun:
        """
        Return the operators of a run that *thread* made, from the bytes that were kept of it.

        Raises
        ------
        CaptureError
            TensorFlow left something that cannot be read.
        """
        from google.protobuf.message import DecodeError
        from tensorflow.core.protobuf import config_pb2

        try:
            stats = config_pb2.RunMetadata.FromString(content).step_stats
        except DecodeError as error:
            raise CaptureError(f"TensorFlow's step stats cannot be read: {error}") from error
        graph = self._graphs[key]
        # A node in a loop is there once per turn.
        nodes = list(chain.from_iterable(device.node_stats for device in stats.dev_stats))
        names = list(map(_node_name, nodes))
        variants = graph.variants(names, nodes, split=self.split)
        # The loops over nodes run in C.
        node = np.fromiter(map(graph.index.get, names, repeat(-1)), np.int32, len(nodes))
        times = np.fromiter(chain.from_iterable(map(_node_times, nodes)), np.int64, 3 * len(nodes))
        operators = _operators(graph, variants, node, times.reshape(-1, 3), thread)
        last = variants[-1]
        return CapturedRun(operators, last.fusions, last.points, last.consumers, _dataset_reads(graph, operators))


def _operators(
    graph: SessionGraph,
    variants: Sequence[GraphVariant],
    node: I32,
    times: I64,
    thread: int,
) -> Operators:
    """
    Return the table of rows *node*, -1 for what is none, and *times*: start, and from there begin and end.

    A node has the signature of the turn it ran in.
    """
    start, end = times[:, 0] + times[:, 1], times[:, 0] + times[:, 2]
    known = np.flatnonzero(node >= 0)
    order = known[np.lexsort((-end[known], start[known]))]
    node = node[order]
    signatures, place = graph.signatures_of(variants)
    signature = node
    if len(place) > 1:
        signature = node + place[np.minimum(occurrences(node), len(place) - 1)]
    return Operators(
        names=graph.names,
        name=node,
        start_ns=start[order],
        end_ns=np.maximum(end, start)[order],
        thread=np.full(len(node), thread, np.int64),
        fwd_thread=np.zeros(len(node), np.int64),
        sequence=np.full(len(node), -1, np.int64),
        scope=graph.scope[node],
        signature=signature,
        signatures=signatures,
    )


def _dataset_reads(graph: SessionGraph, operators: Operators) -> tuple[DatasetRead, ...]:
    rows = np.flatnonzero(np.isin(operators.name, list(graph.sources))).tolist() if graph.sources else []
    return tuple(DatasetRead(row, graph.sources[int(operators.name[row])], int(operators.end_ns[row])) for row in rows)
