"""
Where the forward part of a compiled graph begins and its backward part ends.

The graph engine compiles two marks into a graph (cann_msprof.md 5.1): one before the first operator that takes the
data, one behind the last operator whose result the last all-reduce takes, or the graph's output where there is none.
Operators without a task are neither. A graph that takes no data (initialisers, saving) has no marks.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from attrs import frozen

from drynpu.kernels import NO_DATA, Placement
from drynpu.kernels.ops import GraphOperator, Place, takers_of
from drynpu.layouts.graph import GET_NEXT
from drynpu.simulate import GraphPoints
from drynpu_tf.ranks import NODE_TYPES
from drynpu_tf.rules._placement import READS_SHAPE, is_host, launches_kernels

_ALL_REDUCES: Final = frozenset({"HcomAllReduce", "HvdCallbackAllreduce"})
_FED: Final = frozenset({"_Arg", "Placeholder"})
_EDGES: Final = _FED | {"_Retval"}
_RESTORES: Final = frozenset({"Restore", "RestoreSlice", "RestoreV2"})
"""Operators of the host whose results are variables, not data."""


@frozen(eq=False)
class _Graph:
    """Operators of a compiled graph with their order; *known* have constant results."""

    operators: Sequence[GraphOperator]
    known: frozenset[str]
    order: Mapping[str, int]
    takers: Mapping[Place, Sequence[GraphOperator]]
    makers: Mapping[Place, GraphOperator]

    def inside(self, operator: GraphOperator) -> bool:
        """Return whether an operator is part of what the engine compiles."""
        return (
            operator.signature.placement is Placement.DEVICE
            and operator.name not in self.known
            and operator.op_type not in _EDGES
            and not is_host(operator.op_type)
        )

    def works(self, operator: GraphOperator) -> bool:
        """Return whether an operator has a task; texts are the host's."""
        outputs = operator.call.outputs
        numbers = not outputs or any(tensor.dtype != NO_DATA for tensor in outputs)
        return numbers and self.inside(operator) and launches_kernels(operator.op_type) and operator.op_type != GET_NEXT

    def consumers(self, place: Place) -> set[str]:
        """Return the operators with a task that take a tensor, or what others without one make of it."""
        names: set[str] = set()
        todo, seen = [place], {place}
        while todo:
            for taker in self.takers.get(todo.pop(), ()):
                if self.works(taker):
                    names.add(taker.name)
                elif self.inside(taker) and taker.op_type not in READS_SHAPE:
                    todo += [each for each in taker.outputs if each not in seen]
                    seen.update(taker.outputs)
        return names

    def producers(self, places: Iterable[Place]) -> set[str]:
        """Return the operators with a task that make tensors, or what others without one make them of."""
        names: set[str] = set()
        todo = list(places)
        seen = set(todo)
        while todo:
            maker = self.makers.get(todo.pop())
            if maker is None or not self.inside(maker):
                continue
            if self.works(maker):
                names.add(maker.name)
                continue
            todo += [each for each in maker.inputs if each not in seen]
            seen.update(maker.inputs)
        return names


def find_points(operators: Sequence[GraphOperator], known: frozenset[str], order: Mapping[str, int]) -> GraphPoints:
    """
    Return the operators at which the graph engine marks a graph.

    Parameters
    ----------
    operators:
        What is left after fusion, with what is fed and fetched.
    known:
        Operators whose results are constants.
    order:
        Place of every node in the graph.
    """
    makers = {place: op for op in operators for place in op.outputs}
    graph = _Graph(operators, known, order, takers_of(operators), makers)
    data = [graph.consumers(place) for operator in operators for place in _data(operator)]
    # The engine looks at its first source of data alone: the one that the script's first consumer takes.
    sources = sorted(filter(None, data), key=lambda consumers: min(order[name] for name in consumers))
    return GraphPoints(
        forward=_in_order(sources[0] if sources else (), order),
        backward=_in_order(graph.producers(_ends(graph)), order),
        marked=bool(sources),
    )


def find_consumers(operators: Sequence[GraphOperator], known: frozenset[str]) -> dict[str, frozenset[str]]:
    """
    Return, by communication operator, the operators with a task that take what it leaves.

    The communication operators come in the order of the compiled graph, which is the same on all ranks.
    """
    communicating = [operator for operator in operators if operator.op_type in NODE_TYPES]
    if not communicating:
        return {}
    place = sorted_by_inputs(operators)
    reduces = sorted(communicating, key=lambda op: place[op.name])
    makers = {place: op for op in operators for place in op.outputs}
    graph = _Graph(operators, known, {}, takers_of(operators), makers)
    return {op.name: frozenset[str]().union(*map(graph.consumers, op.outputs)) for op in reduces}


def sorted_by_inputs(operators: Sequence[GraphOperator]) -> dict[str, int]:
    """
    Return the place of every operator in an order in which each comes after its inputs.

    Of those that could be next, the first of the graph is; operators in loops, and behind them, keep the graph's order.
    """
    number = {place: index for index, op in enumerate(operators) for place in op.outputs}
    inputs = [{number[place] for place in op.inputs if place in number} for op in operators]
    takers: dict[int, list[int]] = {}
    for index, makers in enumerate(inputs):
        for maker in makers:
            takers.setdefault(maker, []).append(index)
    missing = [len(makers) for makers in inputs]
    ready = [index for index, count in enumerate(missing) if not count]
    order: list[int] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for taker in takers.get(index, ()):
            missing[taker] -= 1
            if not missing[taker]:
                heapq.heappush(ready, taker)
    rest = (index for index, count in enumerate(missing) if count > 0)
    return {operators[index].name: place for place, index in enumerate([*order, *rest])}


def _in_order(names: Iterable[str], order: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(sorted(names, key=order.__getitem__))


def _data(operator: GraphOperator) -> tuple[Place, ...]:
    """Return the tensors through which *operator* brings data into the graph."""
    if operator.op_type == GET_NEXT:
        return operator.outputs[:1]
    if operator.op_type not in _FED and (not is_host(operator.op_type) or operator.op_type in _RESTORES):
        return ()
    # Variables and iterators are no data.
    tensors = operator.call.outputs
    return tuple(
        place for slot, place in enumerate(operator.outputs) if slot >= len(tensors) or tensors[slot].dtype != NO_DATA
    )


def _ends(graph: _Graph) -> list[Place]:
    """Return the inputs of the last all-reduce, or what the graph returns and what nobody takes."""
    reduces = [op for op in graph.operators if op.op_type in _ALL_REDUCES]
    if reduces:
        place = sorted_by_inputs(graph.operators)
        return list(max(reduces, key=lambda op: place[op.name]).inputs)
    outside = [place for op in graph.operators if not graph.inside(op) for place in op.inputs]
    leaves = (
        op for op in graph.operators if graph.works(op) and not any(graph.takers.get(place) for place in op.outputs)
    )
    return [*outside, *(op.outputs[0] for op in leaves)]
