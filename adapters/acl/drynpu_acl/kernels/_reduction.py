"""Reductions, softmax, normalisation over the last dims, arg-max, top-k, running sums."""

from __future__ import annotations

from drynpu.kernels import KernelPlan, NodeCall, Rule, node_kernel, node_rule
from drynpu_acl.kernels._work import plan

__all__ = ["reduction_rules"]

# ONNX type -> (GE type, operations per element); axes are constants, so attributes of the kernel and not read by it.
_REDUCTIONS = {
    "ReduceSum": ("ReduceSumD", 1),
    "ReduceMean": ("ReduceMeanD", 1),
    "ReduceMax": ("ReduceMaxD", 1),
    "ReduceMin": ("ReduceMinD", 1),
    "ReduceProd": ("ReduceProdD", 1),
    "ReduceL1": ("LpNorm", 2),
    "ReduceL2": ("LpNorm", 2),
    "ReduceSumSquare": ("SquareSumV1", 2),
    "ReduceLogSum": ("ReduceLogSum", 2),
    "ReduceLogSumExp": ("ReduceLogSumExp", 6),
}


def _reduction(op_type: str, cost: float) -> Rule:
    def read(call: NodeCall) -> KernelPlan | None:
        x, out = call.tensor(0), call.output()
        if x is None or out is None:
            return None
        if x.elements == out.elements:
            return plan()  # reducing no axis, or axes of length 1, is a change of shape
        return plan(node_kernel(call, op_type, [x], [out], cost=cost, over=x.elements))

    return node_rule(read)


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
    rules = {name: _reduction(ge, cost) for name, (ge, cost) in _REDUCTIONS.items()}
    return rules | {
        "Softmax": _over_input("SoftmaxV2", 5),
        "LogSoftmax": _over_input("LogSoftmaxV2", 6),
        "Hardmax": _over_input("HardMax", 2),
        "LayerNormalization": _norm("LayerNorm", 8),
        "RMSNormalization": _norm("RmsNorm", 5),
        "LpNormalization": _over_input("LpNormV2", 3),
        "MeanVarianceNormalization": _over_input("MVNV2", 6),
        "ArgMax": _over_input("ArgMaxD", 1),
        "ArgMin": _over_input("ArgMinD", 1),
        "TopK": _over_input("TopKD", 8),
        "CumSum": _over_input("CumsumD", 1),
    }
