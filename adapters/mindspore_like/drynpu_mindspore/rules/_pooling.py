"""Pooling and its gradients."""

from __future__ import annotations

import math

from drynpu.kernels import KernelPlan, Rule, plan_of
from drynpu_mindspore.rules._signature import Call
from drynpu_mindspore.rules._work import kernel, rule_of

__all__ = ["pooling_rules"]


def _window(call: Call, position: int) -> int | None:
    """Return the elements of the window; MaxPool has it as an attribute, AvgPool as an argument."""
    sizes = call.integers("kernel_size", position)
    return math.prod(sizes) if sizes else None


def _forward(op_type: str) -> Rule:
    def read(call: Call) -> KernelPlan | None:
        x, y, window = call.tensor(0), call.output(), _window(call, 1)
        if x is None or y is None or window is None:
            return None
        return plan_of(kernel(op_type, [x], [y], cost=window, over=y.elements))

    return rule_of(read, op_type)


def _gradient(op_type: str) -> Rule:
    """``MaxPoolGrad(x, y, dy)``, ``AvgPoolGrad(x, y, dy, kernel_size, ...)``."""

    def read(call: Call) -> KernelPlan | None:
        x, y, dy = (call.tensor(i) for i in range(3))
        window = _window(call, 3)
        if x is None or y is None or dy is None or window is None:
            return None
        inputs = [x, y, dy] if op_type == "MaxPoolGrad" else [dy]
        return plan_of(kernel(op_type, inputs, [x], cost=window, over=dy.elements))

    return rule_of(read, op_type)


def _adaptive_gradient(call: Call) -> KernelPlan | None:
    """``AdaptiveAvgPool2DGrad(dy, sizes of x)``."""
    dy, out = call.tensor(0), call.output()
    return None if dy is None or out is None else plan_of(kernel("AdaptiveAvgPool2dGrad", [dy], [out]))


def pooling_rules() -> dict[str, Rule]:
    """Return the rules by primitive."""
    return {
        "MaxPool": _forward("MaxPool"),
        "AvgPool": _forward("AvgPool"),
        "MaxPool3D": _forward("MaxPool3D"),
        "AvgPool3D": _forward("AvgPool3D"),
        "MaxPoolGrad": _gradient("MaxPoolGrad"),
        "AvgPoolGrad": _gradient("AvgPoolGrad"),
        "AdaptiveAvgPool2DGrad": rule_of(_adaptive_gradient, "AdaptiveAvgPool2dGrad"),
    }
