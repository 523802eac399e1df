"""Shapes and data types that operators return, where a framework does not record them or has names of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from drynpu.kernels._call import NO_DATA

Shape: TypeAlias = "tuple[int, ...]"


def axes_of(shape: Shape, dims: Iterable[int] | None) -> Shape:
    """Return *dims* counted from the front, in order and each once; no dims mean all axes."""
    rank = max(len(shape), 1)
    return tuple(sorted({dim % rank for dim in dims or ()})) or tuple(range(len(shape)))


def reduced(shape: Shape, axes: Shape, *, keep: bool) -> Shape:
    """Return the shape after a reduction over *axes*; *keep* leaves them with length 1."""
    if keep:
        return tuple(1 if axis in axes else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in axes)


def replaced(shape: Shape, axis: int, length: int) -> Shape:
    """Return *shape* with *length* on *axis*, which counts from the back where it is negative."""
    if not shape:
        return shape
    position = axis % len(shape)
    return (*shape[:position], length, *shape[position + 1 :])


def concatenated(shapes: Sequence[Shape], axis: int) -> Shape:
    """Return the shape of tensors joined along *axis*."""
    return replaced(shapes[0], axis, sum(shape[axis % len(shape)] for shape in shapes if shape))


def stacked(shape: Shape, axis: int, count: int) -> Shape:
    """Return the shape of *count* tensors of one shape joined along a new *axis*."""
    position = axis % (len(shape) + 1)
    return (*shape[:position], count, *shape[position:])


def tiled(shape: Shape, times: Shape) -> Shape | None:
    """Return the shape after repeating each dim, ``None`` where *times* are fewer than the dims, or negative."""
    if len(times) < len(shape) or min(times, default=0) < 0:
        return None
    padded = (1,) * (len(times) - len(shape)) + shape
    return tuple(dim * count for dim, count in zip(padded, times, strict=True))


def padded(shape: Shape, pads: Shape) -> Shape | None:
    """Return the shape after adding *pads*, pairs of (before, after) from the last dim on; ``None`` if they misfit."""
    if len(pads) > 2 * len(shape):
        return None
    grown = list(shape)
    for pair in range(len(pads) // 2):
        grown[-1 - pair] += pads[2 * pair] + pads[2 * pair + 1]
    return tuple(grown) if min(grown, default=0) >= 0 else None


FLOATING: Final = frozenset({"FLOAT16", "DT_BF16", "FLOAT", "DOUBLE"})
"""GE's floating types."""

_BY_PYTHON_NAME: Final = MappingProxyType(
    {
        "float32": "FLOAT",
        "float64": "DOUBLE",
        "float16": "FLOAT16",
        "bfloat16": "DT_BF16",
        "int8": "INT8",
        "int16": "INT16",
        "int32": "INT32",
        "int64": "INT64",
        "uint8": "UINT8",
        "uint16": "UINT16",
        "uint32": "UINT32",
        "uint64": "UINT64",
        "bool": "BOOL",
        "complex64": "COMPLEX64",
        "complex128": "COMPLEX128",
    }
)


def ge_dtype(name: str) -> str:
    """
    Return GE's name of the type that numpy calls *name*, ``UNDEFINED`` for a type without numbers.

    Capitals do not matter: MindSpore's graphs have ``Float32`` and ``BFloat16``.
    """
    return _BY_PYTHON_NAME.get(name.lower(), NO_DATA)
