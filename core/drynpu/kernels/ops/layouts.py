"""
Blocked formats of the cube unit: NC1HWC0 for images, FRACTAL_Z for weights.

Channels stand in blocks of C0: 8 for FP32, 16 for narrower types. Weights become [C1*KH*KW, N1, 16, C0]. Both are as
measured (device_and_cost_model.md 4.1, 4.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from drynpu.kernels._specs import ceil_div
from drynpu.kernels._types import TensorDesc

# Bytes of a block: 8 numbers of FP32 and 16 of two bytes (device_and_cost_model.md 4.2); int8 is not measured.
_C0_FP32, _C0 = 8, 16
_N0 = 16
"""Output channels of one block of a weight."""


def channels_block(dtype: str) -> int:
    """Return C0, the channels of one block."""
    return _C0_FP32 if dtype == "FLOAT" else _C0


def is_image(shape: Sequence[int]) -> bool:
    """Return whether a tensor of that shape can be an image: four dims."""
    return len(shape) == 4


def plain_image(image: TensorDesc, *, channels_first: bool = True) -> TensorDesc:
    """Return an image with the name of the format in which a framework holds it."""
    volume = len(image.shape) == 5
    plain = ("NCDHW" if volume else "NCHW") if channels_first else ("NDHWC" if volume else "NHWC")
    return TensorDesc(image.shape, image.dtype, plain)


def blocked_image(image: TensorDesc, *, channels_first: bool = True, c0: int | None = None) -> TensorDesc:
    """Return an image of four dims (or of five, NCDHW) as the cube unit and pooling want it."""
    n, *rest = image.shape
    channels, space = (rest[0], rest[1:]) if channels_first else (rest[-1], rest[:-1])
    c0 = c0 or channels_block(image.dtype)
    c1 = ceil_div(channels, c0)
    if len(space) == 3:
        return TensorDesc((n, space[0], c1, *space[1:], c0), image.dtype, "NDC1HWC0")
    return TensorDesc((n, c1, *space, c0), image.dtype, "NC1HWC0")


def fractal_weight(weight: TensorDesc, *, order: str = "NCHW", depthwise: bool = False) -> TensorDesc:
    """
    Return a weight as the cube unit wants it.

    *order* is ``NCHW`` for [N, C, KH, KW] or ``HWCN`` for [KH, KW, C, N], each with a depth before KH for volumes; a
    depthwise weight has one channel per group.
    """
    if order == "HWCN":
        *space, inside, outside = weight.shape
    else:
        outside, inside, *space = weight.shape
    if depthwise:
        inside, outside = 1, inside * outside
    c0 = channels_block(weight.dtype)
    blocks = ceil_div(inside, c0) * math.prod(space)
    layout = "FRACTAL_Z_3D" if len(space) == 3 else "FRACTAL_Z"
    return TensorDesc((blocks, ceil_div(outside, _N0), _N0, c0), weight.dtype, layout)
