"""
Pooling and its gradients, resizing.

Max pooling with a mask works on NC1HWC0 with C0 = 16 whatever the type; the mask has kh*kw rows of
(ceil(Ho*Wo/16) + 1) * 16 numbers per 16 channels. Both are as measured (device_and_cost_model.md 4.1).
"""

from __future__ import annotations

import math

from drynpu.kernels._call import OperatorCall
from drynpu.kernels._specs import ceil_div
from drynpu.kernels._types import KernelPlan, TaskType, TensorDesc
from drynpu.kernels.ops.layouts import blocked_image, is_image
from drynpu.kernels.ops.windows import channels_of, image_of_space, windowed_space, windows

_MASKED_C0 = 16
_TYPES_3D = {"MaxPool": "MaxPool3D", "AvgPoolV2": "AvgPool3D"}
_PLANE_DIMS = (3, 4)


def pool(call: OperatorCall) -> KernelPlan | None:
    """``x window stride padding``, or ``edge`` with ``dilation ceil_mode`` where two numbers make a window."""
    x, window = call.tensor("x"), _window(call)
    if x is None or window is None:
        return None
    y = call.output() or _pooled(call, x)
    if y is None:
        return None
    op_type = _TYPES_3D.get(call.binding.kernel, "") if len(x.shape) == 5 else ""
    outputs = [call.image(y), *call.outputs[1:]]
    return call.plan(
        call.kernel(op_type or call.binding.kernel, [call.image(x)], outputs, cost=math.prod(window), over=y.elements)
    )


def max_pool_gradient(call: OperatorCall) -> KernelPlan | None:
    """``x y dy window``."""
    tensors, window = call.tensors("x", "y", "dy"), _window(call)
    if len(tensors) < 3 or window is None:
        return None
    images = [call.image(t) for t in tensors]
    cost, over = math.prod(window), tensors[2].elements
    return call.plan(call.kernel(call.binding.kernel, images, images[:1], cost=cost, over=over))


def argmax_pool_gradient(call: OperatorCall) -> KernelPlan | None:
    """``x dy places``: every gradient goes to the place of its maximum, zeros elsewhere."""
    x, dy, places = call.tensor("x"), call.tensor("dy"), call.tensor("places")
    if x is None or dy is None or places is None:
        return None
    inputs = [call.image(x), call.image(dy), places]
    read = dy.size_bytes + places.size_bytes
    return call.plan(call.kernel(call.binding.kernel, inputs, [call.image(x)], over=dy.elements, read=read))


def average_pool_gradient(call: OperatorCall) -> KernelPlan | None:
    """``x y dy window``, or without *x* and *y* where the shape of the result is known."""
    dy, window = call.tensor("dy"), _window(call)
    dx = call.output() if call.place("x") < 0 else call.tensor("x")
    if dy is None or dx is None or window is None or (call.place("y") >= 0 and call.tensor("y") is None):
        return None
    cost = math.prod(window)
    return call.plan(call.kernel(call.binding.kernel, [call.image(dy)], [call.image(dx)], cost=cost, over=dy.elements))


def global_pool(call: OperatorCall) -> KernelPlan | None:
    """``x``: pooling over whole images, a reduction over rows and columns or its maximum."""
    x, out = call.tensor("x"), call.output()
    if x is None or out is None:
        return None
    if x.elements == out.elements:
        return call.plan()
    return call.plan(call.kernel(call.binding.kernel, [call.image(x)], [call.image(out)], over=x.elements))


def masked_max_pool(call: OperatorCall) -> KernelPlan | None:
    """``x edge stride padding dilation ceil_mode``: also makes the mask that the gradient needs."""
    source = call.tensor("x")
    if source is None or len(source.shape) not in _PLANE_DIMS:
        return None
    x, window, space = _planes(call, source), _pair(call, "edge"), _pooled_space(call, source)
    if space is None:
        return None
    out = call.tensor_of((*x.shape[:2], *space), x.dtype)
    inside, outside = _masked(x), _masked(out)
    outputs = [outside, pooling_mask(x, space, window)]
    cost = math.prod(window)
    main = call.kernel("MaxPoolWithArgmaxV1", [inside], outputs, cost=cost, over=outside.elements)
    return call.plan(call.format_change(0, x, inside), main, call.format_change(1, outside, out))


def masked_max_pool_gradient(call: OperatorCall) -> KernelPlan | None:
    """``dy x edge``."""
    dy, source = call.tensor("dy"), call.tensor("x")
    if dy is None or source is None or len(source.shape) != len(dy.shape) or len(dy.shape) not in _PLANE_DIMS:
        return None
    x, gradient, window = _planes(call, source), _planes(call, dy), _pair(call, "edge")
    if min(window) < 1:
        return None
    inside, blocked_dy = _masked(x), _masked(gradient)
    inputs = [inside, blocked_dy, _mask_of_gradient(x, gradient.shape[2:], window)]
    cost, over = math.prod(window), blocked_dy.elements
    # The listed shape is larger than the mask that is there: its bytes would take longer than the kernel does.
    read = sum(t.size_bytes for t in (inside, blocked_dy, pooling_mask(x, gradient.shape[2:], window)))
    main = call.kernel("MaxPoolGradWithArgmaxV1", inputs, [inside], cost=cost, over=over, read=read)
    before = call.format_change(0, gradient, blocked_dy), call.format_change(1, x, inside)
    return call.plan(*before, main, call.format_change(2, inside, x))


def _mask_of_gradient(x: TensorDesc, space: tuple[int, ...], window: tuple[int, ...]) -> TensorDesc:
    """Return the mask as the gradient lists it: all channels, and the places of the window twice (measured)."""
    mask = pooling_mask(x, space, window)
    batch, _, places, *rest = mask.shape
    return TensorDesc((batch, x.shape[1], places, places, *rest), mask.dtype, mask.format)


def adaptive_average_pool(call: OperatorCall) -> KernelPlan | None:
    """``x size``: by the kernel for three dimensions, which wants channels last."""
    x, size = call.tensor("x"), call.integers("size")
    if x is None or not size or min(size) < 0 or len(x.shape) not in _PLANE_DIMS:
        return None
    out = call.tensor_of((*x.shape[:-2], size[0], size[-1]), x.dtype)
    inside, outside = _channels_last(call, x), _channels_last(call, out)
    return call.plan(
        call.kernel("Transpose", [x], [inside], cost=0),
        call.kernel("AdaptiveAvgPool3d", [inside], [outside]),
        call.kernel("Transpose", [outside], [out], cost=0),
    )


def adaptive_average_pool_gradient(call: OperatorCall) -> KernelPlan | None:
    """``dy x``: see :func:`adaptive_average_pool`."""
    dy, x = call.tensor("dy"), call.tensor("x")
    if dy is None or x is None or len(x.shape) != len(dy.shape) or len(dy.shape) not in _PLANE_DIMS:
        return None
    inside, outside, mixed = _channels_last(call, dy), _channels_last(call, x), TaskType.MIX_AIV
    return call.plan(
        call.kernel("Transpose", [dy], [inside], cost=0),
        call.kernel("AdaptiveAvgPool3dGrad", [inside, x], [outside], task=mixed, read=dy.size_bytes),
        call.kernel("Transpose", [outside], [x], cost=0),
    )


def plain_adaptive_gradient(call: OperatorCall) -> KernelPlan | None:
    """``dy``: by the kernel for two dimensions."""
    dy, out = call.tensor("dy"), call.output()
    return None if dy is None or out is None else call.plan(call.kernel(call.binding.kernel, [dy], [out]))


def resize(call: OperatorCall) -> KernelPlan | None:
    """``x mode``: interpolated between neighbours, or the nearest one."""
    x, out = call.tensor("x"), call.output()
    if x is None or out is None:
        return None
    linear = call.text("mode") in {"linear", "cubic"}
    op_type, cost = ("ResizeBilinearV2", 8) if linear else ("ResizeNearestNeighborV2", 1)
    return call.plan(call.kernel(op_type, [x], [out], cost=cost, over=out.elements))


def resample(call: OperatorCall) -> KernelPlan | None:
    """``x``: the kernel of the binding computes each element of the result from neighbours."""
    x, out = call.tensor("x"), call.output()
    if x is None or out is None:
        return None
    cost = call.binding.operations
    return call.plan(call.kernel(call.binding.kernel, [x], [out], cost=cost, over=out.elements))


def resample_gradient(call: OperatorCall) -> KernelPlan | None:
    """``dy x``: each gradient is given to the neighbours it came from; of *x* only the shape counts."""
    dy, dx = call.tensor("dy"), call.output() or call.tensor("x")
    if dy is None or dx is None:
        return None
    inputs, cost = [dy, *call.tensors("x")], call.binding.operations
    return call.plan(call.kernel(call.binding.kernel, inputs, [dx], cost=cost, over=dy.elements, read=dy.size_bytes))


def place_pooled(call: OperatorCall) -> KernelPlan | None:
    """``x index``: elements at their places, zeros everywhere else."""
    inputs, out = call.tensors("x", "index"), call.output()
    if out is None or len(inputs) < 2:
        return None
    return call.plan(call.kernel(call.binding.kernel, inputs, [out], cost=1, over=inputs[0].elements))


def _window(call: OperatorCall) -> tuple[int, ...] | None:
    """Return the edges of the window; one element where none is given, ``None`` where it is not known."""
    if call.place("edge") >= 0:
        edge = _pair(call, "edge")
        return edge if min(edge) > 0 else None
    window = call.integers("window")
    return window if window or call.guesses else None


def _pair(call: OperatorCall, key: str, default: tuple[int, int] = (1, 1)) -> tuple[int, int]:
    """Return two numbers: one stands for both, none for *default*."""
    values = call.integers(key)
    return (values[0], values[-1]) if values else default


def _pooled(call: OperatorCall, x: TensorDesc) -> TensorDesc | None:
    """Return what pooling makes where the framework did not say."""
    if call.place("edge") >= 0:
        pooled = _pooled_space(call, x) if len(x.shape) in _PLANE_DIMS else None
        return call.tensor_of((*x.shape[:-2], *pooled), x.dtype) if pooled is not None else None
    sizes = call.integers("window")
    if call.place("padding") < 0 or not is_image(x.shape) or len(sizes) != 4:
        return None
    space = windowed_space(call, x, sizes[2:] if call.channels_first else sizes[1:3])
    return image_of_space(call, x, space, channels_of(call, x)) if space is not None else None


def _pooled_space(call: OperatorCall, x: TensorDesc) -> tuple[int, ...] | None:
    """Return rows and columns of what pooling makes of [..., H, W]; *stride* is the window unless it is given."""
    window = _pair(call, "edge")
    stride, padding, dilation = _pair(call, "stride", window), _pair(call, "padding", (0, 0)), _pair(call, "dilation")
    if min(*window, *stride, *dilation) < 1:
        return None
    axes = zip(x.shape[-2:], window, stride, padding, dilation, strict=True)
    space = tuple(windows(*axis, ceil_mode=call.flag("ceil_mode")) for axis in axes)
    return space if min(space) >= 0 else None


def _planes(call: OperatorCall, x: TensorDesc) -> TensorDesc:
    """Return [C, H, W] as [1, C, H, W]."""
    return call.tensor_of((1,) * (4 - len(x.shape)) + x.shape, x.dtype)


def _masked(image: TensorDesc) -> TensorDesc:
    return blocked_image(image, c0=_MASKED_C0)


def pooling_mask(x: TensorDesc, space: tuple[int, ...], window: tuple[int, ...]) -> TensorDesc:
    """Return the mask that says where in each window of [N, C, H, W] the maximum stands; *space* is the result's."""
    n, c = x.shape[:2]
    columns = ceil_div(math.prod(space), 16) + 1
    return TensorDesc((n, ceil_div(c, _MASKED_C0), math.prod(window), columns, 16), "UINT16", "NC1HWC0")


def _channels_last(call: OperatorCall, x: TensorDesc) -> TensorDesc:
    """Return [N, C, H, W] as the [N, 1, H, W, C] of the kernel for three dimensions."""
    n, c, h, w = _planes(call, x).shape
    return TensorDesc((n, 1, h, w, c), x.dtype)
