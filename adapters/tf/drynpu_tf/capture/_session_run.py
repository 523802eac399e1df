"""
Route A: every node that a session run executed, by RunOptions and RunMetadata (tf_adapters.md 6).

The graph that TensorFlow executes is asked for once per distinct run (fetches, feeds, graph), because it does not
change between runs; times come with every run. Shapes are read again when a node whose shape the graph leaves open
had another one, in another run or in another turn of a loop.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, evolve, field, frozen

from drynpu.kernels import Operators, Placement, Signature, TensorDesc
from drynpu.session import FusionOp
from drynpu_tf.capture._nodes import is_backward
from drynpu_tf.capture._takes import GET_NEXT, ITERATOR_GET_NEXT, ITERATORS, Take
from drynpu_tf.capture._turns import occurrence, spelled, stats_of_turns
from drynpu_tf.rules import GraphNode, attributes_of, compile_graph, dtype_name, signature, tensor_desc

__all__ = ["CapturedRun", "RunKey", "SessionCapture"]

RunKey: TypeAlias = tuple[object, ...]
"""What makes two runs the same to the runtime: the version of the graph, fetches, feeds."""

_Shapes: TypeAlias = dict[tuple[str, int], tuple[int, tuple[int, ...]]]
"""Node and slot -> number of the dtype and dims."""

_FEED, _FETCH = "_Arg", "_Retval"
_FUNCTION, _BACKWARD_FUNCTION = 0, 1
"""Values of ``Operators.scope``."""


@frozen
class _Node:
    """A node as the runtime executes it: inputs as ``(producer, slot)``."""

    name: str
    op_type: str
    inputs: tuple[tuple[str, int], ...]
    attributes: Mapping[str, object]


@frozen(eq=False)
class _Variant:
    """What the graph engine makes of a graph with one set of shapes; signatures in the order of nodes."""

    signatures: tuple[Signature, ...]
    fusions: tuple[FusionOp, ...]


@frozen(eq=False)
class CapturedRun:
    """
    The nodes that a run executed, by start, and which of them the graph engine would have made one operator.

    ``takes`` are the times it took data from the device's queue.
    """

    operators: Operators
    fusions: tuple[FusionOp, ...] = ()
    takes: tuple[Take, ...] = ()


@define(eq=False)
class _Graph:
    """
    An executed graph and the shapes it ran with so far.

    ``sources`` has the number of every node that takes data from the device's queue, and the iterator behind it.
    """

    nodes: tuple[_Node, ...]
    names: tuple[str, ...]
    index: dict[str, int]
    scope: npt.NDArray[np.uint8]
    watched: tuple[str, ...]
    sources: Mapping[int, str]
    variants: dict[tuple[tuple[bytes, ...], ...], _Variant] = field(factory=dict)
    loops: dict[tuple[int, ...], tuple[Signature, ...]] = field(factory=dict)


@define(eq=False)
class SessionCapture:
    """
    The runs of one session.

    A run is made with the options of :meth:`prepare`, and what the runtime tells of it goes to :meth:`take`. ``split``
    says whether the chip has cube and vector cores apart; the graph engine fuses more for others. ``sinks_data`` says
    whether graphs take their data from a queue on the device (``enable_data_pre_proc``).
    """

    split: bool = True
    sinks_data: bool = False
    _graphs: dict[RunKey, _Graph] = field(factory=dict)

    def wants_graph(self, key: RunKey) -> bool:
        """Whether the executed graph of such a run is still to be asked for."""
        return key not in self._graphs

    def prepare(self, options: Any, key: RunKey) -> None:
        """
        Set in a ``RunOptions`` what the capture needs; whatever else is set stays.

        The software trace is enough. Higher levels hold the process's one profiler as well: two runs at the same time
        would fail, and so would TensorBoard's profiler.
        """
        options.trace_level = max(options.trace_level, type(options).SOFTWARE_TRACE)
        if self.wants_graph(key):
            options.output_partition_graphs = True

    def take(self, key: RunKey, metadata: Any, static: Any = None) -> CapturedRun:
        """
        Return a run that has ended.

        Parameters
        ----------
        metadata:
            Its ``RunMetadata``, with step stats and, the first time, partition graphs.
        static:
            The session's ``tf.Graph``; says which shapes cannot change.
        """
        graph = self._graphs.get(key)
        if graph is None:
            graph = self._graphs[key] = _read_graph(metadata.partition_graphs, static, self.sinks_data)
        # A node in a loop is there once per turn.
        executed = [node for device in metadata.step_stats.dev_stats for node in device.node_stats]
        variants = [self._variant(graph, stats) for stats in stats_of_turns(executed, frozenset(graph.watched))]
        rows = [
            (
                graph.index[node.node_name],
                node.all_start_nanos + node.op_start_rel_nanos,
                node.all_start_nanos + node.op_end_rel_nanos,
            )
            for node in executed
            if node.node_name in graph.index
        ]
        operators = _operators(graph, variants, np.array(rows, np.int64).reshape(-1, 3))
        return CapturedRun(operators, variants[-1].fusions, _takes(graph, operators))

    def _variant(self, graph: _Graph, stats: Mapping[str, Any]) -> _Variant:
        watched = tuple([spelled(stats[name]) if name in stats else () for name in graph.watched])
        variant = graph.variants.get(watched)
        if variant is None:
            calls = _signatures(graph.nodes, _shapes(stats))
            compiled = compile_graph(
                [GraphNode(node.name, node.inputs, call) for node, call in zip(graph.nodes, calls, strict=True)],
                split=self.split,
            )
            signatures = tuple(compiled.signatures[name] for name in graph.names)
            variant = graph.variants[watched] = _Variant(signatures, compiled.fusions)
        return variant


def _operators(graph: _Graph, variants: Sequence[_Variant], rows: npt.NDArray[np.int64]) -> Operators:
    """Return a table of rows ``(node, start, end)``; a node has the signature of the turn it ran in."""
    start, end = rows[:, 1], rows[:, 2]
    order = np.lexsort((-end, start))
    node = rows[order, 0].astype(np.int32)
    signatures, place = _signatures_of_turns(graph, variants)
    signature = node
    if len(place) > 1:
        signature = node + place[np.minimum(occurrence(node), len(place) - 1)]
    thread = np.full(len(node), threading.get_native_id(), np.int64)
    return Operators(
        names=graph.names,
        name=node,
        start_ns=start[order],
        end_ns=np.maximum(end, start)[order],
        thread=thread,
        fwd_thread=np.zeros(len(node), np.int64),
        sequence=np.full(len(node), -1, np.int64),
        scope=graph.scope[node],
        signature=signature,
        signatures=signatures,
    )


def _signatures_of_turns(
    graph: _Graph, variants: Sequence[_Variant]
) -> tuple[tuple[Signature, ...], npt.NDArray[np.int32]]:
    """Return the signatures of all turns, those with the same shapes once, and where each turn's begin."""
    distinct = {id(variant): variant for variant in variants}
    number = {key: place for place, key in enumerate(distinct)}
    place = np.array([number[id(variant)] * len(graph.nodes) for variant in variants], np.int32)
    if len(distinct) == 1:
        return variants[0].signatures, place[:1]
    key = tuple(distinct)
    if key not in graph.loops:
        graph.loops[key] = tuple(each for variant in distinct.values() for each in variant.signatures)
    return graph.loops[key], place


def _takes(graph: _Graph, operators: Operators) -> tuple[Take, ...]:
    rows = np.flatnonzero(np.isin(operators.name, list(graph.sources))).tolist() if graph.sources else []
    return tuple(Take(row, graph.sources[int(operators.name[row])], int(operators.end_ns[row])) for row in rows)


def _read_graph(partitions: Iterable[Any], static: Any, sinks_data: bool) -> _Graph:
    nodes = tuple(_node(node) for graph in partitions for node in graph.node)
    names = tuple(node.name for node in nodes)
    sources = _sources(nodes) if sinks_data else {}
    nodes = tuple(evolve(node, op_type=GET_NEXT) if number in sources else node for number, node in enumerate(nodes))
    return _Graph(
        nodes=nodes,
        names=names,
        index={name: number for number, name in enumerate(names)},
        scope=np.array([_BACKWARD_FUNCTION if is_backward(name) else _FUNCTION for name in names], np.uint8),
        watched=tuple(name for name in names if not _shape_is_known(name, static)),
        sources=sources,
    )


def _sources(nodes: Sequence[_Node]) -> dict[int, str]:
    """Return the nodes, by number, that take their data from a queue, and the iterators that fill it."""
    iterators = {node.name for node in nodes if node.op_type in ITERATORS}
    return {
        number: node.inputs[0][0]
        for number, node in enumerate(nodes)
        if node.op_type == ITERATOR_GET_NEXT and node.inputs and node.inputs[0][0] in iterators
    }


def _node(definition: Any) -> _Node:
    data = [text for text in definition.input if not text.startswith("^")]
    return _Node(
        name=definition.name,
        op_type=definition.op,
        inputs=tuple(map(_producer, data)),
        attributes=attributes_of(definition),
    )


def _producer(text: str) -> tuple[str, int]:
    """Return node and slot of an input as GraphDef spells it: ``name`` is slot 0 of it, else ``name:slot``."""
    name, colon, slot = text.rpartition(":")
    return (name, int(slot)) if colon else (text, 0)


def _shape_is_known(name: str, static: Any) -> bool:
    """Whether the script's graph says which shapes the node's outputs have."""
    if static is None:
        return False
    try:
        outputs = static.get_operation_by_name(name).outputs
    except (KeyError, ValueError):  # a node of the runtime's own
        return False
    return all(output.shape.is_fully_defined() for output in outputs)


def _shapes(stats: Mapping[str, Any]) -> _Shapes:
    return {
        (name, output.slot): (
            output.tensor_description.dtype,
            tuple(dim.size for dim in output.tensor_description.shape.dim),
        )
        for name, node in stats.items()
        for output in node.output
    }


def _signatures(nodes: Sequence[_Node], shapes: _Shapes) -> tuple[Signature, ...]:
    tensors: dict[tuple[str, int], TensorDesc] = {
        place: tensor_desc(dims, dtype_name(number)) for place, (number, dims) in shapes.items() if number
    }
    outputs: dict[str, list[TensorDesc]] = {}
    for (name, _), tensor in sorted(tensors.items()):
        outputs.setdefault(name, []).append(tensor)
    return tuple(
        _signature(node, tuple(tensors.get(place) for place in node.inputs), tuple(outputs.get(node.name, ())))
        for node in nodes
    )


def _signature(node: _Node, inputs: tuple[TensorDesc | None, ...], outputs: tuple[TensorDesc, ...]) -> Signature:
    """Return a node's call; what is fed is copied to the device, what is fetched comes back from there."""
    if node.op_type == _FEED:
        return signature(node.op_type, outputs, outputs, {}, node=node.name, placement=Placement.TO_DEVICE)
    if node.op_type == _FETCH:
        return signature(node.op_type, inputs, (), {}, node=node.name, placement=Placement.TO_HOST)
    return signature(node.op_type, inputs, outputs, node.attributes, node=node.name)
