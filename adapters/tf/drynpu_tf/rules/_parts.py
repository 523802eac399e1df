"""
Operators of the vendor's that TensorFlow computes by several of its own: one operator of the device's graph.

Each node that computes a part bears a :class:`Part`, and each that makes a result says which one it is
(:func:`result_text`). Names of nodes may have got a prefix since, when a function that holds them became part of the
graph; the scope that the part was written in tells the prefix, and so two copies of one function apart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from attrs import frozen

from drynpu.kernels import TensorDesc, node_signature
from drynpu.kernels.ops import GraphOperator, Place, takers_of

PART: Final = "_drynpu_part"
"""Attribute of a node that computes a part of an operator of the vendor's: the text of a :class:`Part`."""
RESULTS: Final = "_drynpu_results"
"""Attribute of a node among them that makes results of the whole operator."""


@frozen
class Part:
    """
    What a node is a part of.

    Attributes
    ----------
    kind:
        Type of the whole operator in the device's graph.
    scope:
        Name scope of the whole, with a slash at its end.
    inputs:
        Names of the tensors (``node:slot``) that the whole operator takes, in the vendor's order.
    """

    kind: str
    scope: str
    inputs: tuple[str, ...]

    @property
    def text(self) -> str:
        """The part as an attribute."""
        return " ".join((self.kind, self.scope, *self.inputs))

    @classmethod
    def read(cls, text: str) -> Part:
        """Return the part that an attribute says."""
        kind, scope, *inputs = text.split(" ")
        return cls(kind, scope, tuple(inputs))

    def prefix(self, node: str) -> str:
        """Return what stands before the scope in the name of a node."""
        return node[: max(node.find(self.scope), 0)]


def result_text(results: Sequence[tuple[int, int]]) -> str:
    """Return the attribute of a node that makes *results*: pairs of its output's slot and the result's number."""
    return " ".join(f"{slot}:{number}" for slot, number in results)


def join_parts(operators: Sequence[GraphOperator], known: Collection[str]) -> list[GraphOperator]:
    """
    Return the operators with one in place of the parts of each operator of the vendor's, where the last part stood.

    Parameters
    ----------
    operators:
        The engine's inputs, without constants.
    known:
        Operators whose results are constants.
    """
    wholes = _parts_by_scope(operators)
    last = {id(members[-1]): members for members in wholes.values()}
    inside = {id(member) for members in wholes.values() for member in members}
    tensors = _Tensors(
        {(op.name, slot): tensor for op in operators for slot, tensor in enumerate(op.call.outputs)},
        takers_of(operators),
        known,
    )
    kept = (op for op in operators if id(op) in last or id(op) not in inside)
    return [_whole(last[id(op)], tensors) if id(op) in last else op for op in kept]


def _parts_by_scope(operators: Sequence[GraphOperator]) -> dict[str, list[GraphOperator]]:
    """Return the parts of each operator of the vendor's in their order, by the scope that they stand in."""
    marked = {id(op): Part.read(text) for op in operators if (text := op.call.text(PART))}
    wholes: dict[str, list[GraphOperator]] = {
        part.prefix(op.name) + part.scope: [] for op in operators if (part := marked.get(id(op))) is not None
    }
    for operator in operators if wholes else ():
        part = marked.get(id(operator))
        # TensorFlow's optimizer writes nodes without marks into the scopes of those that it replaces.
        scopes = _scopes(operator.name) if part is None else [part.prefix(operator.name) + part.scope]
        scope = next((scope for scope in scopes if scope in wholes), None)
        if scope is not None:
            wholes[scope].append(operator)
    return wholes


def _scopes(node: str) -> list[str]:
    """Return the name scopes around a node, the innermost first."""
    ends = [place + 1 for place, letter in enumerate(node) if letter == "/"]
    return [node[:end] for end in reversed(ends)]


@frozen
class _Tensors:
    """What operators make, who takes it, and the names of those that make constants."""

    by_place: Mapping[Place, TensorDesc]
    takers: Mapping[Place, Sequence[GraphOperator]]
    known: Collection[str]


def _whole(members: Sequence[GraphOperator], tensors: _Tensors) -> GraphOperator:
    """Return the operator that does the work of its parts."""
    first = next(member for member in members if member.call.text(PART))
    part = Part.read(first.call.text(PART))
    prefix = part.prefix(first.name)
    inputs = _inputs(members, prefix, part.inputs, tensors)
    results = _results(members) or _left(members, tensors.takers)
    places = tuple(place for place, _ in results) or members[-1].outputs[:1]
    return GraphOperator(
        tuple(place for place, _ in inputs),
        places,
        node_signature(
            part.kind,
            [tensor for _, tensor in inputs],
            [tensor for _, tensor in results],
            {PART: part.text},
            node=prefix + part.scope.rstrip("/"),
        ),
        tuple(sorted(number for member in members for number in member.members)),
    )


def _inputs(
    members: Sequence[GraphOperator], prefix: str, declared: Sequence[str], tensors: _Tensors
) -> list[tuple[Place, TensorDesc | None]]:
    """
    Return what the parts take from outside, in the order in which the whole operator takes it.

    An input may go by another name in this graph: the name in another copy of a function (a gradient takes what the
    call forward made), or the name of the argument that a function was called with. The former ends in its name; the
    latter stand where no name was found, in the order in which the parts take them.
    """
    inner = {place for member in members for place in member.outputs}
    outer = {
        place: member.call.tensor(position)
        for member in members
        for position, place in enumerate(member.inputs)
        if place not in inner
    }
    # The kernel reads what is declared, even what no part needs to compute the numbers.
    there = {**tensors.by_place, **outer}
    declared_places = [_find(name, prefix, outer, there) for name in declared]
    # Numbers of the formula are constants of the parts; other constants are inputs.
    others = iter(
        place
        for place, tensor in outer.items()
        if place not in declared_places and (place[0] not in tensors.known or (tensor is not None and tensor.shape))
    )
    places = (place if place is not None else next(others, None) for place in declared_places)
    return [(place, there[place]) for place in places if place is not None]


def _find(name: str, prefix: str, outer: Collection[Place], there: Collection[Place]) -> Place | None:
    """Return the tensor that a whole operator declared by a name, if its name can still be told."""
    node, _, slot = name.rpartition(":")
    place = (prefix + node, int(slot))
    if place in there:
        return place
    return next((other for other in outer if other[0].endswith(f"/{node}") and other[1] == place[1]), None)


def _left(
    members: Sequence[GraphOperator], takers: Mapping[Place, Sequence[GraphOperator]]
) -> list[tuple[Place, TensorDesc | None]]:
    """Return what others take of the parts, for an operator whose last part TensorFlow moved elsewhere."""
    return [
        (place, member.call.output(place[1]))
        for member in members
        for place in member.outputs
        if any(taker not in members for taker in takers.get(place, ()))
    ]


def _results(members: Sequence[GraphOperator]) -> list[tuple[Place, TensorDesc | None]]:
    """Return the results that parts are marked with, in the order of the whole operator's."""
    numbered = {
        int(number): ((member.name, int(slot)), member.call.output(int(slot)))
        for member in members
        for slot, number in (pair.split(":") for pair in member.call.text(RESULTS).split())
    }
    return [numbered[number] for number in sorted(numbered)]
