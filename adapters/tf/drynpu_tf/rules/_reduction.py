"""Reductions, arg-max, top-k, cumulative sums."""

from __future__ import annotations

from drynpu.kernels import KernelPlan, NodeCall, Rule, node_kernel, node_rule, plan_of

__all__ = ["reduction_rules"]

_REDUCTIONS = {
    "Sum": "ReduceSumD",
    "Mean": "ReduceMeanD",
    "Max": "ReduceMaxD",
    "Min": "ReduceMinD",
    "Prod": "ReduceProdD",
    "All": "ReduceAllD",
    "Any": "ReduceAnyD",
    "EuclideanNorm": "EuclideanNormD",
}


def _reduction(op_type: str, cost: float = 1) -> Rule:
    """Axes are constants, so they are attributes of the kernel and not read by it."""

    def read(call: NodeCall) -> KernelPlan | None:
        x, out = call.tensor(0), call.output()
        if x is None:
            return None
        if out is None:  # by axes that only TensorFlow knows: nothing is said of the result
            return plan_of(node_kernel(call, op_type, [x], [], cost=cost))
        if x.elements == out.elements:
            return plan_of()  # reducing no axis, or axes of length 1, is a change of shape
        return plan_of(node_kernel(call, op_type, [x], [out], cost=cost, over=x.elements))

    return node_rule(read)


def _over_input(op_type: str, cost: float = 1) -> Rule:
    def read(call: NodeCall) -> KernelPlan | None:
        x = call.tensor(0)
        if x is None:
            return None
        made = list(call.outputs)
        return plan_of(node_kernel(call, op_type, [x], made, cost=cost, over=x.elements))

    return node_rule(read)


def reduction_rules() -> dict[str, Rule]:
    """Return the rules by operator type."""
    rules = {name: _reduction(ge) for name, ge in _REDUCTIONS.items()}
    return rules | {
        "L2Loss": _over_input("L2Loss", 2),
        "ArgMax": _over_input("ArgMaxD"),
        "ArgMin": _over_input("ArgMinD"),
        "TopK": _over_input("TopKD", 8),
        "TopKV2": _over_input("TopKD", 8),
        "Cumsum": _over_input("CumsumD"),
        "Cumprod": _over_input("CumprodD"),
        "InTopK": _over_input("InTopKD"),
        "InTopKV2": _over_input("InTopKD"),
    }
