"""Graphs that sessions execute, and the calls that their nodes make with one set of shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from drynpu.kernels import Placement, Signature, TensorDesc
from drynpu.session import FusionOp
from drynpu_tf.capture._nodes import is_backward
from drynpu_tf.rules import GraphNode, attributes_of, compile_graph, dtype_name, signature, tensor_desc

__all__ = ["GraphVariant", "SessionGraph"]

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
    leaves open.
    """

    nodes: tuple[_Node, ...]
    names: tuple[str, ...]
    index: dict[str, int]
    scope: npt.NDArray[np.uint8]
    watched: frozenset[str]
    _variants: dict[_Spelled, GraphVariant] = field(factory=dict)

    @classmethod
    def read(cls, partitions: Iterable[Any], static: Any) -> SessionGraph:
        """
        Read the partition graphs of a run.

        *static* is the session's ``tf.Graph``; says which shapes cannot change.
        """
        # A name that two devices have is one node: stats do not tell them apart.
        nodes = tuple({node.name: _node(node) for graph in partitions for node in graph.node}.values())
        names = tuple(node.name for node in nodes)
        return cls(
            nodes=nodes,
            names=names,
            index={name: number for number, name in enumerate(names)},
            scope=np.array([_BACKWARD_FUNCTION if is_backward(name) else _FUNCTION for name in names], np.uint8),
            watched=frozenset(name for name in names if not _shape_is_known(name, static)),
        )

    def variant(self, names: Sequence[str], stats: Sequence[Any], *, split: bool) -> GraphVariant:
        """Return the calls of a run whose nodes, by *names*, left these ``NodeExecStats``."""
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
        return signature(node.op_type, outputs, outputs, {}, node=node.name, placement=Placement.TO_DEVICE)
    if node.op_type == _FETCH:
        return signature(node.op_type, inputs, (), {}, node=node.name, placement=Placement.TO_HOST)
    return signature(node.op_type, inputs, outputs, node.attributes, node=node.name)
