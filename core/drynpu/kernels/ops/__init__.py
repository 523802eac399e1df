"""Neutral operators: which work the kernels of an operator do, whichever framework calls it."""

from __future__ import annotations

from drynpu.kernels.ops._dtypes import FLOATING, ge_dtype
from drynpu.kernels.ops._shapes import axes_of, concatenated, padded, reduced, replaced, stacked, tiled

__all__ = [
    "FLOATING",
    "axes_of",
    "concatenated",
    "ge_dtype",
    "padded",
    "reduced",
    "replaced",
    "stacked",
    "tiled",
]
