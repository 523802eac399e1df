"""Nodes of a graph as a capture hands them over."""

from __future__ import annotations

from attrs import frozen

from drynpu.kernels import Signature
from drynpu.kernels.ops import Place


@frozen
class GraphNode:
    """
    One node that was executed.

    Attributes
    ----------
    inputs:
        Where its inputs come from, by position and without control inputs: ``(node, slot)``.
    signature:
        Of :func:`drynpu.kernels.node_signature`, with the node's name; its inputs stand in the same order.
    """

    name: str
    inputs: tuple[Place, ...]
    signature: Signature
