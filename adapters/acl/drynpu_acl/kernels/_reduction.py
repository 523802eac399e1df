"""Softmax and normalisation over the last dims."""

from __future__ import annotations

from drynpu.kernels import KernelPlan, NodeCall, Rule, node_kernel, node_rule
from drynpu_acl.kernels._work import plan

__all__ = ["reduction_rules"]


def _over_input(op_type: str, cost: float) -> Rule:
    """Operators whose further inputs are constants of the compiler."""

    def read(call: NodeCall) -> KernelPlan | None:
        x = call.tensor(0)
        return None if x is None else plan(node_kernel(call, op_type, [x], call.outputs, cost=cost, over=x.elements))

    return node_rule(read)


def _norm(op_type: str, cost: float) -> Rule:
    """Operators that read all of their inputs: the tensor and its scales."""

    def read(call: NodeCall) -> KernelPlan | None:
        x = call.tensor(0)
        if x is None:
            return None
        return plan(node_kernel(call, op_type, call.tensors(), call.outputs, cost=cost, over=x.elements))

    return node_rule(read)


def reduction_rules() -> dict[str, Rule]:
    """Return the rules by operator type."""
    return {
        "Softmax": _over_input("SoftmaxV2", 5),
        "LogSoftmax": _over_input("LogSoftmaxV2", 6),
        "Hardmax": _over_input("HardMax", 2),
        "LayerNormalization": _norm("LayerNorm", 8),
        "RMSNormalization": _norm("RmsNorm", 5),
        "LpNormalization": _over_input("LpNormV2", 3),
        "MeanVarianceNormalization": _over_input("MVNV2", 6),
    }
