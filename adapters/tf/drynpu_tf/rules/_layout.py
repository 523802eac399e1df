"""
Blocked formats: NC1HWC0 for activations, FRACTAL_Z for weights.

C0 is 8 for FP32 and 16 for narrower types; weights become [C1*KH*KW, N1, 16, C0] (device_and_cost_model.md 4.2).
TensorFlow's images are NHWC unless an operator says NCHW, its weights [KH, KW, C, N].
"""

from __future__ import annotations

from collections.abc import Sequence

from drynpu.kernels import (
    NodeCall,
    TensorDesc,
    ceil_div,
)

__all__ = ["blocked", "channels_first", "fractal", "is_image", "plain", "windowed"]


def channels_first(call: NodeCall) -> bool:
    """Whether images of this call are NCHW."""
    return call.text("data_format", "NHWC") == "NCHW"


def _block(dtype: str) -> int:
    return 8 if dtype == "FLOAT" else 16


def plain(image: TensorDesc, *, nchw: bool) -> TensorDesc:
    """Return an image as TensorFlow holds it, with its format."""
    return TensorDesc(image.shape, image.dtype, "NCHW" if nchw else "NHWC")


def blocked(image: TensorDesc, *, nchw: bool) -> TensorDesc:
    """Return an image as the cube unit and pooling want it; its four dims must be known."""
    n, *rest = image.shape
    c, h, w = rest if nchw else (rest[2], rest[0], rest[1])
    c0 = _block(image.dtype)
    return TensorDesc((n, ceil_div(c, c0), h, w, c0), image.dtype, "NC1HWC0")


def fractal(weight: TensorDesc, *, depthwise: bool = False) -> TensorDesc:
    """Return a weight [KH, KW, C, N] as the cube unit wants it; a depthwise one has one channel per group."""
    kh, kw, c, n = weight.shape
    inside, outside = (1, c * n) if depthwise else (c, n)
    c0 = _block(weight.dtype)
    return TensorDesc((ceil_div(inside, c0) * kh * kw, ceil_div(outside, 16), 16, c0), weight.dtype, "FRACTAL_Z")


def windowed(call: NodeCall, x: TensorDesc, window: Sequence[int], channels: int) -> TensorDesc | None:
    """
    Return what a window of *window* rows and columns makes of an image, by the attributes of the call.

    TensorFlow's rule: SAME gives ceil(size / stride), VALID as many windows as fit. ``None`` for anything else.
    """
    nchw = channels_first(call)
    strides, dilations = (_spatial(call.integers(name), nchw=nchw) for name in ("strides", "dilations"))
    padding, explicit = call.text("padding"), call.integers("explicit_paddings")
    if not is_image(x.shape) or not strides or padding not in {"SAME", "VALID", "EXPLICIT"}:
        return None
    if padding == "EXPLICIT" and len(explicit) != 2 * len(x.shape):
        return None
    first = 2 if nchw else 1
    space = []
    for axis in (0, 1):
        reach = (dilations[axis] if dilations else 1) * (window[axis] - 1) + 1
        size, stride = x.shape[first + axis], strides[axis]
        if padding == "EXPLICIT":
            size += sum(explicit[2 * (first + axis) : 2 * (first + axis) + 2])
        space.append(ceil_div(size, stride) if padding == "SAME" else max(ceil_div(size - reach + 1, stride), 0))
    shape = (x.shape[0], channels, *space) if nchw else (x.shape[0], *space, channels)
    return TensorDesc(shape, x.dtype)


def _spatial(values: tuple[int, ...], *, nchw: bool) -> tuple[int, ...]:
    """Return rows and columns of an attribute that has one number per dim of an image."""
    return (values[2:4] if nchw else values[1:3]) if len(values) == 4 else ()


def is_image(shape: Sequence[int]) -> bool:
    """Whether a tensor can be an image: four dims."""
    return len(shape) == 4
