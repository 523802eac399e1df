"""Plans of TensorFlow's operators, and names of nodes that were fused."""

from __future__ import annotations

from drynpu.kernels import KernelPlan, KernelSpec, NodeCall, Signature, launched, node_name

__all__ = ["fused_name", "nothing", "plan"]


def fused_name(call: NodeCall) -> str:
    """Return the name of an operator made of several nodes."""
    half = "_Update" if call.signature.name.startswith("FusedBatchNorm") else ""
    return node_name(call, call.signature.name, half)


def plan(*kernels: KernelSpec, synchronizes: bool = False) -> KernelPlan:
    """Return a plan; kernels without any element are left out, as nothing is launched for empty tensors."""
    return KernelPlan(kernels=launched(kernels), synchronizes=synchronizes)


def nothing(signature: Signature) -> KernelPlan:
    """Rule of operators that launch nothing on a device."""
    del signature
    return KernelPlan()
