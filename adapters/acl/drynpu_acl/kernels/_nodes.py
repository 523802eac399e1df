"""Nodes of a graph, and operators while the model compiler works on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import define, field, frozen

__all__ = ["CONVOLUTIONS", "SHAPE_READERS", "GraphNode", "Work", "takers_of"]

CONVOLUTIONS: Final = frozenset({"Conv", "ConvTranspose"})
SHAPE_READERS: Final = frozenset({"Shape", "Size"})


@frozen(eq=False)
class GraphNode:
    """A node as the model has it: names of tensors, attributes as plain values."""

    name: str
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Mapping[str, Any] = field(factory=dict)


@define(eq=False)
class Work:
    """An operator while the graph is compiled."""

    node: GraphNode
    members: tuple[int, ...]
    inputs: tuple[str, ...]
    output: str
    fused: tuple[str, ...] = ()
    tail: str = ""
    names: tuple[str, ...] = ()


def takers_of(works: Sequence[Work]) -> dict[str, list[Work]]:
    """Return who reads each tensor, in order."""
    found: dict[str, list[Work]] = {}
    for work in works:
        for name in work.inputs:
            found.setdefault(name, []).append(work)
    return found
