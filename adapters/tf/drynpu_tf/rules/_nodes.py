"""Nodes of a graph as the passes over it see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from attrs import define, frozen

from drynpu.kernels import (
    NodeCall,
    Signature,
)

__all__ = ["GraphNode", "Place", "Work", "consumers_of"]

Place: TypeAlias = "tuple[str, int]"
"""A tensor: the node that makes it, and which of its outputs it is."""


@frozen
class GraphNode:
    """
    One node that was executed.

    Attributes
    ----------
    inputs:
        Where its inputs come from, by position and without control inputs: ``(node, slot)``.
    signature:
        Of :func:`drynpu_tf.rules.signature`, with the node's name; its inputs stand in the same order.
    """

    name: str
    inputs: tuple[Place, ...]
    signature: Signature


@define(eq=False)
class Work:
    """One operator of the graph that the engine runs: a node, or several that became one."""

    name: str
    """The node that stands for it: the last one, because everything it needs is there by then."""
    inputs: tuple[Place, ...]
    signature: Signature
    members: tuple[str, ...]
    """All nodes of it in order."""

    @property
    def op_type(self) -> str:
        return self.signature.name

    @property
    def call(self) -> NodeCall:
        return NodeCall(self.signature)


def consumers_of(works: Sequence[Work]) -> dict[Place, list[Work]]:
    """Return for every tensor the operators that take it, one entry per input."""
    found: dict[Place, list[Work]] = {}
    for work in works:
        for place in work.inputs:
            found.setdefault(place, []).append(work)
    return found
