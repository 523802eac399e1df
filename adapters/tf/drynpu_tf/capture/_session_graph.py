"""Graphs that sessions execute, and the calls that their nodes make with one set of shapes, turn by turn of loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import TypeAlias

import numpy as np
from attrs import define, evolve, field, frozen

from drynpu.arrays import I32, U8
from drynpu.kernels import Placement, Signature, TensorDesc
from drynpu.layouts.graph import GET_NEXT
from drynpu.simulate import FusionOp, GraphPoints
from drynpu_tf.capture._dataset_reads import ITERATOR_GET_NEXT, ITERATORS
from drynpu_tf.capture._nodes import BACKWARD_FUNCTION, FUNCTION, Node, is_backward, node_call, read_node
from drynpu_tf.foreign import GraphDef, NodeStats
from drynpu_tf.rules import GraphNode, Precision, compile_graph, dtype_name, tensor_desc

_Shapes: TypeAlias = dict[tuple[str, int], tuple[int, tuple[int, ...]]]
"""Node and slot -> number of the dtype and dims."""
_Spelled: TypeAlias = frozenset[tuple[tuple[str, int], bytes]]
"""Node and slot with the shape as TensorFlow wrote it: enough to tell shapes apart without reading them."""


@frozen(eq=False)
class GraphVariant:
    """A graph compiled for one set of shapes; signatures in the order of nodes."""

    signatures: tuple[Signature, ...]
    fusions: tuple[FusionOp, ...]
    points: GraphPoints
    consumers: Mapping[str, frozenset[str]]


@define(eq=False)
class SessionGraph:
    """
    An executed graph and the shapes it ran with so far.

    ``scope`` says of every node whether it computes gradients. ``watched`` are nodes whose shapes the script's graph
    leaves open. ``sources`` maps the number of every node that takes data from the device's queue to its iterator.
    ``precision`` is how the graph engine reduces it.
    """

    nodes: tuple[Node, ...]
    names: tuple[str, ...]
    index: dict[str, int]
    scope: U8
    watched: frozenset[str]
    sources: Mapping[int, str]
    precision: Precision | None = None
    _variants: dict[_Spelled, GraphVariant] = field(factory=dict)
    _loops: dict[tuple[int, ...], tuple[Signature, ...]] = field(factory=dict)

    @classmethod
    def read(
        cls,
        partitions: Iterable[GraphDef],
        static: GraphDef,
        *,
        sinks_data: bool = False,
        precision: Precision | None = None,
    ) -> SessionGraph:
        """
        Read the partition graphs of a run.

        *static* is the session's ``tf.Graph``, which has the shapes that cannot change. ``sinks_data`` says whether the
        graph takes its data from a queue on the device.
        """
        # A name that two devices have is one node: stats do not tell them apart.
        by_name = {node.name: read_node(node) for graph in partitions for node in graph.node}
        names, nodes = tuple(by_name), tuple(by_name.values())
        sources = _sources(names, nodes) if sinks_data else {}
        nodes = tuple(
            evolve(node, op_type=GET_NEXT) if number in sources else node for number, node in enumerate(nodes)
        )
        return cls(
            nodes=nodes,
            names=names,
            index={name: number for number, name in enumerate(names)},
            scope=np.array([BACKWARD_FUNCTION if is_backward(name) else FUNCTION for name in names], np.uint8),
            watched=frozenset(name for name in names if not _shape_is_known(name, static)),
            sources=sources,
            precision=precision,
        )

    def variants(self, names: Sequence[str], stats: Sequence[NodeStats], *, split: bool) -> list[GraphVariant]:
        """
        Return the calls of a run whose nodes, by *names*, left these ``NodeExecStats``.

        There is one entry, or one for every turn of loops whose shapes differ between turns.
        """
        # Only in a loop a node is there more than once.
        turns = stats_of_turns(stats, self.watched) if len(set(names)) < len(names) else []
        if len(turns) < 2:
            return [self._variant(names, stats, split=split)]
        return [self._variant(list(turn), list(turn.values()), split=split) for turn in turns]

    def signatures_of(self, variants: Sequence[GraphVariant]) -> tuple[tuple[Signature, ...], I32]:
        """Return the signatures of all turns, those with the same shapes once, and where each turn's begin."""
        distinct = {id(variant): variant for variant in variants}
        number = {key: place for place, key in enumerate(distinct)}
        place = np.array([number[id(variant)] * len(self.nodes) for variant in variants], np.int32)
        if len(distinct) == 1:
            return variants[0].signatures, place[:1]
        key = tuple(distinct)
        if key not in self._loops:
            self._loops[key] = tuple(each for variant in distinct.values() for each in variant.signatures)
        return self._loops[key], place

    def _variant(self, names: Sequence[str], stats: Sequence[NodeStats], *, split: bool) -> GraphVariant:
        # A dictionary, as in a loop the last turn that left an output counts.
        shapes = {
            (node.node_name, output.slot): output.tensor_description.shape.SerializeToString()
            for node in compress(stats, map(self.watched.__contains__, names))
            for output in node.output
        }
        spelled = frozenset(shapes.items())
        variant = self._variants.get(spelled)
        if variant is None:
            variant = self._variants[spelled] = self._compile(stats, split=split)
        return variant

    def _compile(self, stats: Sequence[NodeStats], *, split: bool) -> GraphVariant:
        calls = _signatures(self.names, self.nodes, _shapes(stats))
        places = zip(self.names, self.nodes, calls, strict=True)
        compiled = compile_graph(
            [GraphNode(name, node.inputs, call) for name, node, call in places], split=split, precision=self.precision
        )
        signatures = tuple(compiled.signatures[name] for name in self.names)
        return GraphVariant(signatures, compiled.fusions, compiled.points, compiled.consumers)


def _sources(names: Sequence[str], nodes: Sequence[Node]) -> dict[int, str]:
    """Return the nodes, by number, that take their data from a queue, and the iterators that fill it."""
    iterators = {name for name, node in zip(names, nodes, strict=True) if node.op_type in ITERATORS}
    return {
        number: node.inputs[0][0]
        for number, node in enumerate(nodes)
        if node.op_type == ITERATOR_GET_NEXT and node.inputs and node.inputs[0][0] in iterators
    }


def _shape_is_known(name: str, static: GraphDef) -> bool:
    """Return whether the script's graph has the shapes of all outputs of a node."""
    if static is None:
        return False
    try:
        outputs = static.get_operation_by_name(name).outputs
    except (KeyError, ValueError):  # a node of the runtime's own
        return False
    return all(output.shape.is_fully_defined() for output in outputs)


def _shapes(stats: Sequence[NodeStats]) -> _Shapes:
    """Return what nodes left; a node in a loop is there once per turn, and the last turn that left an output counts."""
    return {
        (node.node_name, output.slot): (
            output.tensor_description.dtype,
            tuple(dim.size for dim in output.tensor_description.shape.dim),
        )
        for node in stats
        for output in node.output
    }


def _signatures(names: Sequence[str], nodes: Sequence[Node], shapes: _Shapes) -> tuple[Signature, ...]:
    """Return the calls of nodes; what is fed is copied to the device, what is fetched comes back from there."""
    tensors: dict[tuple[str, int], TensorDesc] = {
        place: tensor_desc(dims, dtype_name(number)) for place, (number, dims) in shapes.items() if number
    }
    outputs: dict[str, list[TensorDesc]] = {}
    for (name, _), tensor in sorted(tensors.items()):
        outputs.setdefault(name, []).append(tensor)
    return tuple(
        node_call(
            name,
            node.op_type,
            tuple(tensors.get(place) for place in node.inputs),
            tuple(outputs.get(name, ())),
            node.attributes,
            fed=Placement.TO_DEVICE,
            fetched=Placement.TO_HOST,
        )
        for name, node in zip(names, nodes, strict=True)
    )


def _spell_shapes(node: NodeStats) -> tuple[bytes, ...]:
    """Return the shapes of a node's outputs as TensorFlow wrote them: enough to tell them apart."""
    return tuple([output.tensor_description.shape.SerializeToString() for output in node.output])


def stats_of_turns(executed: Sequence[NodeStats], watched: frozenset[str]) -> list[dict[str, NodeStats]]:
    """
    Return the stats of every node by name: once, or for every turn of loops whose shapes differ between turns.

    In turn *n* a node has its n-th stats, or its last where it ran less often. Turns of a loop inside another are
    counted through, so that an input from the outer loop may come from another turn there.

    Parameters
    ----------
    executed:
        The ``NodeExecStats`` of a run.
    watched:
        Names of the nodes whose shapes can differ.
    """
    last: dict[str, NodeStats] = {}
    again: dict[str, list[NodeStats]] = {}
    for node in executed:
        name = node.node_name
        if name in last:
            again.setdefault(name, [last[name]]).append(node)
        last[name] = node
    if not any(name in watched and len(set(map(_spell_shapes, turns))) > 1 for name, turns in again.items()):
        return [last]
    for turns in again.values():
        turns.sort(key=_start_ns)
    count = max(map(len, again.values()))
    return [last | {name: turns[min(turn, len(turns) - 1)] for name, turns in again.items()} for turn in range(count)]


def _start_ns(node: NodeStats) -> int:
    return int(node.all_start_nanos + node.op_start_rel_nanos)
