"""
Convolutions and their gradients.

The kernels work on blocked formats. In a compiled graph these pass from operator to operator, and TransData kernels
stand where a plain tensor meets a blocked one (:mod:`drynpu_tf.rules._graph`); a convolution on its own has them all.
HF32 is on for FP32 convolutions, as it is by default.
"""

from __future__ import annotations

import math

from attrs import frozen

from drynpu.kernels import (
    KernelPlan,
    KernelSpec,
    NodeCall,
    Rule,
    TaskType,
    TensorDesc,
    node_kernel,
    node_rule,
    numbered_format_change,
    output_tiles,
    plan_of,
    tensor_like,
)
from drynpu_tf.rules._elementwise import fused_operations
from drynpu_tf.rules._layout import blocked, channels_first, fractal, is_image, plain, windowed

__all__ = ["convolution_rules"]


@frozen(kw_only=True)
class _Geometry:
    """One convolution, in the forward direction: *x* and *weight* give *y*."""

    x: TensorDesc
    weight: TensorDesc
    y: TensorDesc
    nchw: bool
    depthwise: bool

    @property
    def flops(self) -> int:
        """2 x multiply-adds of one direction; the three directions cost the same."""
        positions = self.y.elements // max(self._channels(self.y), 1)
        return 2 * positions * self.weight.elements

    @property
    def hf32(self) -> bool:
        return self.x.dtype == "FLOAT"

    @property
    def blocked_x(self) -> TensorDesc:
        return blocked(self.x, nchw=self.nchw)

    @property
    def blocked_y(self) -> TensorDesc:
        return blocked(self.y, nchw=self.nchw)

    @property
    def fractal(self) -> TensorDesc:
        return fractal(self.weight, depthwise=self.depthwise)

    def tiles(self, image: TensorDesc) -> int:
        """Output tiles where *image* is the result."""
        channels, rows = self._channels(image), math.prod(image.shape[1:])
        return image.shape[0] * output_tiles(rows // max(channels, 1), channels)

    def _channels(self, image: TensorDesc) -> int:
        return image.shape[1 if self.nchw else 3]


def _geometry(
    call: NodeCall, x: TensorDesc | None, weight: TensorDesc | None, y: TensorDesc | None, *, depthwise: bool
) -> _Geometry | None:
    if x is None or weight is None or y is None or not all(is_image(t.shape) for t in (x, weight, y)):
        return None
    return _Geometry(x=x, weight=weight, y=y, nchw=channels_first(call), depthwise=depthwise)


def _alone(call: NodeCall) -> bool:
    """Whether the call is not part of a compiled graph, whose format changes are known."""
    return "_graph" not in call.attrs


def _forward(op_type: str, *, depthwise: bool) -> Rule:
    def read(call: NodeCall) -> KernelPlan | None:
        x, weight = call.tensor(0), call.tensor(1)
        y = call.output() or _result(call, x, weight, depthwise=depthwise)
        conv = _geometry(call, x, weight, y, depthwise=depthwise)
        if conv is None:
            return None
        # A bias (of a fused call) comes third.
        extra = call.tensors()[2:]
        main = call.cube_kernel(
            op_type,
            [conv.blocked_x, conv.fractal, *extra],
            [conv.blocked_y],
            flops=conv.flops,
            tiles=conv.tiles(conv.y),
            vector_ops=fused_operations(call, conv.y),
            hf32=conv.hf32,
        )
        if not _alone(call):
            return plan_of(main)
        return plan_of(*_in(conv, conv.x, 0), *_weight_in(conv), main, *_out(conv, conv.y, 2))

    return node_rule(read)


def _result(call: NodeCall, x: TensorDesc | None, weight: TensorDesc | None, *, depthwise: bool) -> TensorDesc | None:
    """Return what a convolution makes where TensorFlow did not say."""
    if x is None or weight is None or not is_image(weight.shape):
        return None
    channels = math.prod(weight.shape[2:]) if depthwise else weight.shape[3]
    return windowed(call, x, weight.shape[:2], channels)


def _input_gradient(op_type: str, *, depthwise: bool) -> Rule:
    """``(sizes of x, weight, dy) -> dx``; a transposed convolution is the same operator."""

    def read(call: NodeCall) -> KernelPlan | None:
        conv = _geometry(call, call.output(), call.tensor(1), call.tensor(2), depthwise=depthwise)
        if conv is None:
            return None
        extra = call.tensors()[3:]
        main = call.cube_kernel(
            op_type,
            [conv.fractal, conv.blocked_y, *extra],
            [conv.blocked_x],
            flops=conv.flops,
            tiles=conv.tiles(conv.x),
            vector_ops=fused_operations(call, conv.x),
            hf32=conv.hf32,
        )
        if not _alone(call):
            return plan_of(main)
        return plan_of(*_in(conv, conv.y, 0), *_weight_in(conv), main, *_out(conv, conv.x, 2))

    return node_rule(read)


def _weight_gradient(op_type: str, *, depthwise: bool) -> Rule:
    """
    ``(x, sizes of the weight, dy) -> dw``.

    The gradient is summed up in FP32 by several cores, hence its memory is cleared first.
    """

    def read(call: NodeCall) -> KernelPlan | None:
        conv = _geometry(call, call.tensor(0), call.output(), call.tensor(2), depthwise=depthwise)
        if conv is None:
            return None
        gradient = fractal(tensor_like(conv.weight, dtype="FLOAT"), depthwise=depthwise)
        rows, columns = conv.weight.shape[-1], math.prod(conv.weight.shape[:-1])
        main = call.cube_kernel(
            op_type,
            [conv.blocked_x, conv.blocked_y],
            [gradient],
            flops=conv.flops,
            tiles=output_tiles(rows, columns) * conv.y.shape[0],
            hf32=conv.hf32,
        )
        clear = node_kernel(call, "MemSet", [], [gradient], suffix="_MemSet", tail=False, cost=0)
        if main.task_type is TaskType.AI_CPU:
            return plan_of(main)
        if not _alone(call):
            return plan_of(clear, main)
        back = numbered_format_change(2, gradient, tensor_like(conv.weight, layout="HWCN"))
        return plan_of(*_in(conv, conv.x, 0), *_in(conv, conv.y, 1), clear, main, back)

    return node_rule(read)


def _in(conv: _Geometry, image: TensorDesc, number: int) -> list[KernelSpec]:
    return [numbered_format_change(number, plain(image, nchw=conv.nchw), blocked(image, nchw=conv.nchw))]


def _weight_in(conv: _Geometry) -> list[KernelSpec]:
    return [numbered_format_change(1, tensor_like(conv.weight, layout="HWCN"), conv.fractal)]


def _out(conv: _Geometry, image: TensorDesc, number: int) -> list[KernelSpec]:
    return [numbered_format_change(number, blocked(image, nchw=conv.nchw), plain(image, nchw=conv.nchw))]


def _bias_add(call: NodeCall) -> KernelPlan | None:
    """``BiasAdd`` is an addition unless the operator before it takes the bias (:mod:`drynpu_tf.rules._graph`)."""
    x, bias = call.tensor(0), call.tensor(1)
    if x is None or bias is None:
        return None
    return plan_of(node_kernel(call, "Add", [x, bias], [x], over=x.elements))


def _bias_gradient(call: NodeCall) -> KernelPlan | None:
    dy = call.tensor(0)
    if dy is None or not dy.shape:
        return None
    channels = dy.shape[1] if channels_first(call) and len(dy.shape) > 1 else dy.shape[-1]
    out = call.output() or TensorDesc((channels,), dy.dtype)
    inside = is_image(dy.shape) and not _alone(call)
    image = blocked(dy, nchw=channels_first(call)) if inside else dy
    return plan_of(node_kernel(call, "BiasAddGrad", [image], [out], over=dy.elements))


def convolution_rules() -> dict[str, Rule]:
    """Return the rules by operator type."""
    native = "DepthwiseConv2dNative"
    return {
        "Conv2D": _forward("Conv2D", depthwise=False),
        "_FusedConv2D": _forward("Conv2D", depthwise=False),
        "_FusedDepthwiseConv2dNative": _forward("DepthwiseConv2D", depthwise=True),
        "Conv2DBackpropInput": _input_gradient("Conv2DBackpropInputD", depthwise=False),
        "Conv2DBackpropFilter": _weight_gradient("Conv2DBackpropFilterD", depthwise=False),
        native: _forward("DepthwiseConv2D", depthwise=True),
        f"{native}BackpropInput": _input_gradient("DepthwiseConv2DBackpropInputD", depthwise=True),
        f"{native}BackpropFilter": _weight_gradient("DepthwiseConv2DBackpropFilterD", depthwise=True),
        "BiasAdd": node_rule(_bias_add),
        "BiasAddV1": node_rule(_bias_add),
        "BiasAddGrad": node_rule(_bias_gradient),
    }
