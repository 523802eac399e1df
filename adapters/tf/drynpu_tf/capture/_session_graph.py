"""Graphs that sessions execute, and the calls that their nodes make with one set of shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, TypeAlias

import numpy as np
from attrs import define, evolve, field, frozen

from drynpu.arrays import I32, U8
from drynpu.deliverables.graph.facts import GET_NEXT
from drynpu.kernels import Placement, Signature, TensorDesc, node_signature
from drynpu.simulate import FusionOp
from drynpu_tf.capture._dataset_reads import ITERATOR_GET_NEXT, ITERATORS
from drynpu_tf.capture._nodes import is_backward, producer
from drynpu_tf.capture._onednn import written_operator
from drynpu_tf.capture._turns import stats_of_turns
from drynpu_tf.rules import GraphNode, attributes_of, compile_graph, dtype_name, tensor_desc

_Shapes: TypeAlias = dict[tuple[str, int], tuple[int, tuple[int, ...]]]
"""Node and slot -> number of the dtype and dims."""
_Spelled: TypeAlias = frozenset[tuple[tuple[str, int], bytes]]
"""Node and slot with the shape as it is written: all that is needed to tell it from others."""

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
class GraphVariant:
    """What the graph engine makes of a graph with one set of shapes; signatures in the order of nodes."""

    signatures: tuple[Signature, ...]
    fusions: tuple[FusionOp, ...]


@define(eq=False)
class SessionGraph:
    """
    An executed graph and the shapes it ran with so far.

    ``scope`` says of every node whether it computes gradients; ``watched`` are those whose shapes the script's graph
    leaves open; ``sources`` has the number of every node that takes data from the device's queue, and the iterator
    behind it.
    """

    nodes: tuple[_Node, ...]
    names: tuple[str, ...]
    index: dict[str, int]
    scope: U8
    watched: frozenset[str]
    sources: Mapping[int, str]
    _variants: dict[_Spelled, GraphVariant] = field(factory=dict)
    _loops: dict[tuple[int, ...], tuple[Signature, ...]] = field(factory=dict)

    @classmethod
    def read(cls, partitions: Iterable[Any], static: Any, *, sinks_data: bool = False) -> SessionGraph:
        """
        Read the partition graphs of a run.

        *static* is the session's ``tf.Graph``; says which shapes cannot change. ``sinks_data`` says whether the graph
        takes its data from a queue on the device.
        """
        # A name that two devices have is one node: stats do not tell them apart.
        nodes = tuple({node.name: _node(node) for graph in partitions for node in graph.node}.values())
        names = tuple(node.name for node in nodes)
        sources = _sources(nodes) if sinks_data else {}
        nodes = tuple(
            evolve(node, op_type=GET_NEXT) if number in sources else node for number, node in enumerate(nodes)
        )
        return cls(
            nodes=nodes,
            names=names,
            index={name: number for number, name in enumerate(names)},
            scope=np.array([_BACKWARD_FUNCTION if is_backward(name) else _FUNCTION for name in names], np.uint8),
            watched=frozenset(name for name in names if not _shape_is_known(name, static)),
            sources=sources,
        )

    def variants(self, names: Sequence[str], stats: Sequence[Any], *, split: bool) -> list[GraphVariant]:
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

    def _variant(self, names: Sequence[str], stats: Sequence[Any], *, split: bool) -> GraphVariant:
        # A dictionary, as in a loop the last turn that left an output counts.
        shapes = {
            (node.node_name, output.slot): output.tensor_description.shape.SerializeToString()
            for node in compress(stats, map(self.watched.__contains__, names))
            for output in node.output
        }
        spelled = frozenset(shapes.items())
        variant = self._variants.get(spelled)
        if variant is None:
            variant = self._variants[spelled] = self._made(stats, split=split)
        return variant

    def _made(self, stats: Sequence[Any], *, split: bool) -> GraphVariant:
        calls = _signatures(self.nodes, _shapes(stats))
        compiled = compile_graph(
            [GraphNode(node.name, node.inputs, call) for node, call in zip(self.nodes, calls, strict=True)],
            split=split,
        )
        return GraphVariant(tuple(compiled.signatures[name] for name in self.names), compiled.fusions)


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
    op_type, further = written_operator(definition.op)
    return _Node(
        name=definition.name,
        op_type=op_type,
        inputs=tuple(map(producer, data)),
        attributes=attributes_of(definition) | dict(further),
    )


def _shape_is_known(name: str, static: Any) -> bool:
    """Whether the script's graph says which shapes the node's outputs have."""
    if static is None:
        return False
    try:
        outputs = static.get_operation_by_name(name).outputs
    except (KeyError, ValueError):  # a node of the runtime's own
        return False
    return all(output.shape.is_fully_defined() for output in outputs)


def _shapes(stats: Sequence[Any]) -> _Shapes:
    """Return what nodes left; a node in a loop is there once per turn, and the last turn that left an output counts."""
    return {
        (node.node_name, output.slot): (
            output.tensor_description.dtype,
            tuple(dim.size for dim in output.tensor_description.shape.dim),
        )
        for node in stats
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
        return node_signature(node.op_type, outputs, outputs, {}, node=node.name, placement=Placement.TO_DEVICE)
    if node.op_type == _FETCH:
        return node_signature(node.op_type, inputs, (), {}, node=node.name, placement=Placement.TO_HOST)
    return node_signature(node.op_type, inputs, outputs, node.attributes, node=node.name)
