"""
Convolutions and their gradients, biases.

Images are NCHW, weights [O, I, KH, KW]. The kernels work on blocked formats (NC1HWC0 for images, FRACTAL_Z for
weights; C0 is 8 for FP32, 16 for narrower types: device_and_cost_model.md 4.2), so TransData kernels stand around each
of them. HF32 is on for FP32 convolutions, as it is by default.
"""

from __future__ import annotations

import math

from attrs import frozen

from drynpu.kernels import (
    KernelPlan,
    KernelSpec,
    Rule,
    TaskType,
    TensorDesc,
    ceil_div,
    output_tiles,
    plan_of,
    tensor_like,
)
from drynpu_mindspore.rules._signature import Call
from drynpu_mindspore.rules._work import cube_kernel, kernel, rule_of, trans_data

__all__ = ["convolution_rules"]

_IMAGE_DIMS = 4


def _block(dtype: str) -> int:
    return 8 if dtype == "FLOAT" else 16


def _plain(tensor: TensorDesc) -> TensorDesc:
    return tensor_like(tensor, layout="NCHW")


def _blocked(image: TensorDesc) -> TensorDesc:
    n, c, h, w = image.shape
    c0 = _block(image.dtype)
    return TensorDesc((n, ceil_div(c, c0), h, w, c0), image.dtype, "NC1HWC0")


def _fractal(weight: TensorDesc) -> TensorDesc:
    n, c, kh, kw = weight.shape
    c0 = _block(weight.dtype)
    return TensorDesc((ceil_div(c, c0) * kh * kw, ceil_div(n, 16), 16, c0), weight.dtype, "FRACTAL_Z")


@frozen(kw_only=True)
class _Geometry:
    """One convolution, in the forward direction: *x* and *weight* give *y*."""

    x: TensorDesc
    weight: TensorDesc
    y: TensorDesc

    @property
    def flops(self) -> int:
        """2 x multiply-adds of one direction; the three directions cost the same."""
        return 2 * self.y.shape[0] * math.prod(self.y.shape[2:]) * self.weight.elements

    @property
    def hf32(self) -> bool:
        return self.x.dtype == "FLOAT"


def _geometry(x: TensorDesc | None, weight: TensorDesc | None, y: TensorDesc | None) -> _Geometry | None:
    if x is None or weight is None or y is None or {len(t.shape) for t in (x, weight, y)} != {_IMAGE_DIMS}:
        return None
    return _Geometry(x=x, weight=weight, y=y)


def _tiles(image: TensorDesc) -> int:
    return image.shape[0] * output_tiles(math.prod(image.shape[2:]), image.shape[1])


def _to_blocked(image: TensorDesc) -> KernelSpec:
    return trans_data(_plain(image), _blocked(image))


def _forward(call: Call) -> KernelPlan | None:
    """``Conv2D(x, weight)``."""
    conv = _geometry(call.tensor(0), call.tensor(1), call.output())
    if conv is None:
        return None
    weight = _fractal(conv.weight)
    main = cube_kernel(
        "Conv2D",
        [_blocked(conv.x), weight],
        [_blocked(conv.y)],
        flops=conv.flops,
        tiles=_tiles(conv.y),
        hf32=conv.hf32,
    )
    back = trans_data(_blocked(conv.y), _plain(conv.y))
    return plan_of(_to_blocked(conv.x), trans_data(_plain(conv.weight), weight), main, back)


def _input_gradient(call: Call) -> KernelPlan | None:
    """``Conv2DBackpropInput(dy, weight, sizes of x) -> dx``."""
    conv = _geometry(call.output(), call.tensor(1), call.tensor(0))
    if conv is None:
        return None
    weight = _fractal(conv.weight)
    main = cube_kernel(
        "Conv2DBackpropInput",
        [weight, _blocked(conv.y)],
        [_blocked(conv.x)],
        flops=conv.flops,
        tiles=_tiles(conv.x),
        hf32=conv.hf32,
    )
    back = trans_data(_blocked(conv.x), _plain(conv.x))
    return plan_of(_to_blocked(conv.y), trans_data(_plain(conv.weight), weight), main, back)


def _weight_gradient(call: Call) -> KernelPlan | None:
    """
    ``Conv2DBackpropFilter(dy, x, sizes of the weight) -> dw``.

    The gradient is summed up in FP32 by several cores, hence its memory is cleared first.
    """
    conv = _geometry(call.tensor(1), call.output(), call.tensor(0))
    if conv is None:
        return None
    gradient = _fractal(tensor_like(conv.weight, dtype="FLOAT"))
    rows, columns = conv.weight.shape[0], math.prod(conv.weight.shape[1:])
    main = cube_kernel(
        "Conv2DBackpropFilter",
        [_blocked(conv.x), _blocked(conv.y)],
        [gradient],
        flops=conv.flops,
        tiles=output_tiles(rows, columns) * conv.y.shape[0],
        hf32=conv.hf32,
    )
    if main.task_type is TaskType.AI_CPU:
        return plan_of(main)
    clear = kernel("MemSet", [], [gradient], cost=0)
    back = trans_data(gradient, _plain(conv.weight))
    return plan_of(_to_blocked(conv.x), _to_blocked(conv.y), clear, main, back)


def _bias_add(call: Call) -> KernelPlan | None:
    x, bias = call.tensor(0), call.tensor(1)
    return None if x is None or bias is None else plan_of(kernel("BiasAdd", [x, bias], [x], over=x.elements))


def _bias_gradient(call: Call) -> KernelPlan | None:
    """``BiasAddGrad(dy)``: channels come second."""
    dy = call.tensor(0)
    if dy is None or len(dy.shape) < 2:
        return None
    out = call.output() or TensorDesc((dy.shape[1],), dy.dtype)
    return plan_of(kernel("BiasAddGrad", [dy], [out], over=dy.elements))


def convolution_rules() -> dict[str, Rule]:
    """Return the rules by primitive."""
    return {
        "Conv2D": rule_of(_forward, "Conv2D"),
        "Conv2DBackpropInput": rule_of(_input_gradient, "Conv2DBackpropInput"),
        "Conv2DTranspose": rule_of(_input_gradient, "Conv2DBackpropInput"),
        "Conv2DBackpropFilter": rule_of(_weight_gradient, "Conv2DBackpropFilter"),
        "BiasAdd": rule_of(_bias_add, "BiasAdd"),
        "BiasAddGrad": rule_of(_bias_gradient, "BiasAddGrad"),
    }
