"""Calls of ONNX operators as rules read them."""

from __future__ import annotations

from drynpu.kernels import KernelPlan, KernelSpec, NodeCall, plan_of
from drynpu_acl.kernels._elementwise import operations_of


class OnnxCall(NodeCall):
    """A node of a compiled model: the graph engine launches its kernels, and knows all formats."""

    def operations_of(self, name: str) -> float:
        """Return the operations per element of a fused element-wise operator, 1 for others (a bias)."""
        return operations_of(name)

    def plan(self, *kernels: KernelSpec) -> KernelPlan:
        """Return the plan of a node; kernels without any element are left out."""
        return plan_of(*kernels, in_graph=True)
