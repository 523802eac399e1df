"""Reductions, arg-max, top-k, cumulative sums."""

from __future__ import annotations

from drynpu.kernels import KernelPlan, Rule, plan_of
from drynpu_mindspore.rules._signature import Call
from drynpu_mindspore.rules._work import kernel, rule_of

__all__ = ["reduction_rules"]

_REDUCTIONS = {
    "ReduceSum": "ReduceSum",
    "SumExt": "ReduceSum",
    "ReduceMean": "ReduceMean",
    "MeanExt": "ReduceMean",
    "ReduceMax": "ReduceMax",
    "ReduceMin": "ReduceMin",
    "ReduceProd": "ReduceProd",
    "ProdExt": "ReduceProd",
    "ReduceAll": "ReduceAll",
    "ReduceAny": "ReduceAny",
    "Max": "ReduceMax",
    "Min": "ReduceMin",
}
_OVER_INPUT = {
    "L2Loss": ("L2Loss", 2.0),
    "Argmax": ("ArgMaxV2", 1.0),
    "Argmin": ("ArgMinV2", 1.0),
    "ArgMaxExt": ("ArgMaxV2", 1.0),
    "ArgMinExt": ("ArgMinV2", 1.0),
    "ArgMaxWithValue": ("ArgMaxWithValue", 1.0),
    "ArgMinWithValue": ("ArgMinWithValue", 1.0),
    "TopK": ("TopKV2", 8.0),
    "TopkExt": ("TopKV2", 8.0),
    "CumSum": ("Cumsum", 1.0),
    "CumsumExt": ("Cumsum", 1.0),
    "CumProd": ("Cumprod", 1.0),
    "AdaptiveAvgPool2D": ("AdaptiveAvgPool2d", 1.0),
    "AdaptiveMaxPool2D": ("AdaptiveMaxPool2d", 1.0),
    "ResizeNearestNeighborV2Grad": ("ResizeNearestNeighborV2Grad", 1.0),
    "LpNorm": ("LpNormV2", 2.0),
    "NormCalculateFloatStatus": ("LpNormV2", 2.0),
}


def _over_input(op_type: str, cost: float = 1) -> Rule:
    """One pass over the first input; axes are no tensors of the kernel."""

    def read(call: Call) -> KernelPlan | None:
        x = call.tensor(0)
        if x is None or not call.outputs:
            return None
        return plan_of(kernel(op_type, [x], call.outputs, cost=cost, over=x.elements))

    return rule_of(read, op_type)


def reduction_rules() -> dict[str, Rule]:
    """Return the rules by primitive."""
    rules = {name: _over_input(ge) for name, ge in _REDUCTIONS.items()}
    return rules | {name: _over_input(ge, cost) for name, (ge, cost) in _OVER_INPUT.items()}
