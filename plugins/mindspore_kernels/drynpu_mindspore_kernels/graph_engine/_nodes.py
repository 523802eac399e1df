"""The nodes of a kernel graph as operators of the graph engine, with the tensors that they pass on to each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import define, field, frozen

from drynpu.kernels import Signature
from drynpu.kernels.ops import GraphOperator, Place
from drynpu_mindspore.capture import JOIN, PICK, GraphNode, KernelGraph, node_signature
from drynpu_mindspore.rules import graph_signature

_FIRST: Final = frozenset({"Load", "Depend", "Identity", "StopGradient", "MoveTo"})
"""They return their first input; what else they name only orders the nodes."""
_ORDER: Final = frozenset({"UpdateState", "Return", "Partial"})
_NOWHERE: Final[Place] = ("", -1)
"""Stands for an argument that is no tensor."""
_CONSTANT: Final = "Tensor("


@frozen(eq=False)
class Wired:
    """
    The operators of a graph in their order, the tensors that it returns, and the names of its constants.

    The number of an operator's node is its place in the graph; an operator is named by the label of its node.
    """

    operators: tuple[GraphOperator, ...]
    results: frozenset[Place]
    constants: frozenset[str]


def wire(graph: KernelGraph, launched: Mapping[int, Signature]) -> Wired:
    """Return the operators of a graph; *launched* are the calls of its nodes as far as they are known better."""
    return _Wiring(graph, launched).read()


@define
class _Wiring:
    graph: KernelGraph
    launched: Mapping[int, Signature]
    tensors: dict[str, tuple[Place, ...]] = field(factory=dict)
    """What an operand stands for; of a tuple all its elements."""
    constants: set[str] = field(factory=set)

    def read(self) -> Wired:
        for parameter in self.graph.parameters:
            self.tensors[parameter.label] = ((parameter.label, 0),)
        operators = []
        for number, node in enumerate(self.graph.nodes):
            sources = [self._places(text) for text in node.operands]
            passed = _passed(node, sources)
            if passed is not None:
                self.tensors[node.label] = passed
                continue
            operator = self._operator(number, node, sources)
            self.tensors[node.label] = operator.outputs
            operators.append(operator)
        results = frozenset(place for text in self.graph.results for place in self._places(text))
        return Wired(tuple(operators), results, frozenset(self.constants))

    def _places(self, text: str) -> tuple[Place, ...]:
        if text.startswith(_CONSTANT):
            self.constants.add(text)
            return ((text, 0),)
        return self.tensors.get(text, ())

    def _operator(self, number: int, node: GraphNode, sources: list[tuple[Place, ...]]) -> GraphOperator:
        saved = node_signature(node)
        launch = self.launched.get(number, saved)
        if len(launch.inputs) != len(saved.inputs):
            launch = saved
        # A list of tensors counts as so many inputs.
        places = [place for source in sources for place in (source or (_NOWHERE,))]
        places += [_NOWHERE] * (len(launch.inputs) - len(places))
        count = max(len(node.outputs or ()), 1)
        outputs = tuple((node.label, slot) for slot in range(count))
        return GraphOperator(tuple(places), outputs, graph_signature(launch, node.name), (number,))


def _passed(node: GraphNode, sources: list[tuple[Place, ...]]) -> tuple[Place, ...] | None:
    """Return the tensors that a node only passes on; ``None`` for an operator."""
    first = sources[0] if sources else ()
    if node.primitive in _ORDER:
        return ()
    if node.primitive in _FIRST:
        return first
    if node.primitive in JOIN:
        return tuple(place for source in sources for place in source)
    if node.primitive in PICK:
        position = node.arguments[1] if len(node.arguments) > 1 else None
        return (first[position],) if isinstance(position, int) and 0 <= position < len(first) else first
    return None
