"""Pooling and its gradients; they work on the blocked format like convolutions."""

from __future__ import annotations

import math

from drynpu.kernels import KernelPlan, NodeCall, Rule, TensorDesc, node_kernel, node_rule, plan_of
from drynpu_tf.rules._layout import blocked, channels_first, is_image, windowed

__all__ = ["pooling_rules"]


def _image(call: NodeCall, image: TensorDesc) -> TensorDesc:
    inside = "_graph" in call.attrs and is_image(image.shape)
    return blocked(image, nchw=channels_first(call)) if inside else image


def _result(call: NodeCall, x: TensorDesc, sizes: tuple[int, ...]) -> TensorDesc | None:
    """Return what pooling makes where TensorFlow did not say."""
    if not is_image(x.shape) or len(sizes) != 4:
        return None
    nchw = channels_first(call)
    return windowed(call, x, sizes[2:] if nchw else sizes[1:3], x.shape[1 if nchw else 3])


def _forward(op_type: str) -> Rule:
    def read(call: NodeCall) -> KernelPlan | None:
        x, sizes = call.tensor(0), call.integers("ksize")
        if x is None:
            return None
        y, window = call.output() or _result(call, x, sizes), math.prod(sizes)
        if y is None:
            return None
        return plan_of(node_kernel(call, op_type, [_image(call, x)], [_image(call, y)], cost=window, over=y.elements))

    return node_rule(read)


def _max_gradient(call: NodeCall) -> KernelPlan | None:
    """``MaxPoolGrad(x, y, dy)``."""
    x, y, dy = (call.tensor(i) for i in range(3))
    if x is None or y is None or dy is None:
        return None
    window = math.prod(call.integers("ksize"))
    images = [_image(call, t) for t in (x, y, dy)]
    return plan_of(node_kernel(call, "MaxPoolGrad", images, [images[0]], cost=window, over=dy.elements))


def _average_gradient(call: NodeCall) -> KernelPlan | None:
    """``AvgPoolGrad(sizes of x, dy)``."""
    dy, out = call.tensor(1), call.output()
    if dy is None or out is None:
        return None
    window = math.prod(call.integers("ksize"))
    return plan_of(
        node_kernel(call, "AvgPoolGradD", [_image(call, dy)], [_image(call, out)], cost=window, over=dy.elements)
    )


def pooling_rules() -> dict[str, Rule]:
    """Return the rules by operator type."""
    return {
        "MaxPool": _forward("MaxPool"),
        "MaxPoolV2": _forward("MaxPool"),
        "MaxPool3D": _forward("MaxPool3D"),
        "AvgPool": _forward("AvgPool"),
        "AvgPool3D": _forward("AvgPool3D"),
        "MaxPoolGrad": node_rule(_max_gradient),
        "AvgPoolGrad": node_rule(_average_gradient),
    }
