"""What ONNX's reference evaluator is made of, as far as a run reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from drynpu.arrays import Array

Values: TypeAlias = dict[str, Any]
"""Tensors by name: arrays, lists of arrays, and None under the empty name."""
Result: TypeAlias = tuple[Any, str]
"""A tensor, and what it is called in the whole run."""


class Graph(Protocol):
    """A graph with its nodes in order: of a model, or inside a node."""

    rt_nodes_: Sequence[Step]
    rt_inits_: Mapping[str, Array]
    input_names: Sequence[str]
    output_names: Sequence[str]


class Step(Protocol):
    """A node as the evaluator runs it; which graphs it has depends on its type."""

    op_type: str
    input: Sequence[str]
    output: Sequence[str]
    onnx_node: object
    body: Graph
    then_branch: Graph
    else_branch: Graph
