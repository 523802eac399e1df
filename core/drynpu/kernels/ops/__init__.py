"""
Neutral operators: which kernels an operator launches on an NPU, whichever framework calls it.

An operator is a function from a call to a plan. It reads the arguments by neutral names and states work (operations,
bytes, tiles, tensors, kernel types), never times. :func:`rules_of` binds a framework's names to these functions; an
adapter adds rules of its own only for what no other framework has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu._lazy import lazy_room

if TYPE_CHECKING:
    from drynpu.kernels.ops._binding import kernel_types, kernel_types_of, rules_of
    from drynpu.kernels.ops._shapes import (
        FLOATING,
        axes_of,
        concatenated,
        ge_dtype,
        padded,
        reduced,
        replaced,
        stacked,
        tiled,
    )
    from drynpu.kernels.ops.attention import (
        attention_gradient,
        attention_gradient_work,
        attention_tiles,
        attention_work,
        fused_attention,
    )
    from drynpu.kernels.ops.constants import for_unified_cores, with_constants, without_constants
    from drynpu.kernels.ops.conv import Convolution, convolution_of
    from drynpu.kernels.ops.creation import clear_kernel, drop_mask, fill_kernel, make_on_cpu
    from drynpu.kernels.ops.elementwise import cast_kernel
    from drynpu.kernels.ops.engines import engine_of
    from drynpu.kernels.ops.formats import FormatChanges, FormatPass, ImageFormats, ImageTypes
    from drynpu.kernels.ops.gelu import fuse_gelus
    from drynpu.kernels.ops.graphs import Fusion, GraphOperator, Place, fuse, takers_of
    from drynpu.kernels.ops.layouts import blocked_image, channels_block, fractal_weight, is_image, plain_image
    from drynpu.kernels.ops.matmul import Sides, matrix_sides, product_kernel
    from drynpu.kernels.ops.movement import gather_kernel
    from drynpu.kernels.ops.passes import FusedTypes, fuse_graph
    from drynpu.kernels.ops.pool import pooling_mask
else:
    __getattr__ = lazy_room(__name__)

__all__ = [
    "FLOATING",
    "Convolution",
    "FormatChanges",
    "FormatPass",
    "FusedTypes",
    "Fusion",
    "GraphOperator",
    "ImageFormats",
    "ImageTypes",
    "Place",
    "Sides",
    "attention_gradient",
    "attention_gradient_work",
    "attention_tiles",
    "attention_work",
    "axes_of",
    "blocked_image",
    "cast_kernel",
    "channels_block",
    "clear_kernel",
    "concatenated",
    "convolution_of",
    "drop_mask",
    "engine_of",
    "fill_kernel",
    "for_unified_cores",
    "fractal_weight",
    "fuse",
    "fuse_gelus",
    "fuse_graph",
    "fused_attention",
    "gather_kernel",
    "ge_dtype",
    "is_image",
    "kernel_types",
    "kernel_types_of",
    "make_on_cpu",
    "matrix_sides",
    "padded",
    "plain_image",
    "pooling_mask",
    "product_kernel",
    "reduced",
    "replaced",
    "rules_of",
    "stacked",
    "takers_of",
    "tiled",
    "with_constants",
    "without_constants",
]
