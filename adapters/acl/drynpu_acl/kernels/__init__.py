"""
Kernels: what an NPU launches for a node of an ONNX graph.

A rule takes a signature and states work (operations, bytes, tiles, tensors, kernel names), never times. Kernels bear
GE's operator types (device_and_cost_model.md 4.3) and the names of the nodes. :func:`compile_graph` says which nodes
become one operator, where formats change, and what is known when the model is compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from drynpu.kernels import Rule, framed, join_rules, ops, plan_of
from drynpu_acl.kernels._dtypes import ACL_SIZES, acl_dtype
from drynpu_acl.kernels._graph import Compiled, compile_graph
from drynpu_acl.kernels._nodes import FREE, GraphNode, OnnxCall
from drynpu_acl.kernels._plans import fusions, node_plans, planned_memory

__all__ = [
    "ACL_SIZES",
    "RULES",
    "Compiled",
    "GraphNode",
    "acl_dtype",
    "build_rules",
    "compile_graph",
    "fusions",
    "node_plans",
    "planned_memory",
]


def build_rules() -> dict[str, Rule]:
    """Return a fresh table of all rules by operator type, as ONNX spells it."""
    free: dict[str, Rule] = dict.fromkeys(FREE, lambda _: plan_of(in_graph=True))
    rules = join_rules([ops.rules_of("onnx", OnnxCall), free])
    return {name: framed(rule) for name, rule in rules.items()}


RULES: Final[Mapping[str, Rule]] = MappingProxyType(build_rules())
