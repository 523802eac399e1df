"""Shape arithmetic and readers for the attributes that decide it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from drynpu.kernels import Signature

__all__ = [
    "attribute",
    "axes_of",
    "broadcast",
    "ceil_div",
    "flag",
    "integers",
    "number",
    "product",
    "reduced",
    "replaced",
    "whole",
]

Shape = tuple[int, ...]


def ceil_div(value: int, divisor: int) -> int:
    """Return *value* / *divisor* rounded up."""
    return -(-value // divisor)


def attribute(signature: Signature, position: int) -> object:
    """Return the scalar or list at *position*, ``None`` when there is none."""
    return signature.attributes[position] if position < len(signature.attributes) else None


def number(signature: Signature, position: int, default: float) -> float:
    """Return the number at *position*, *default* when there is none."""
    value = attribute(signature, position)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else default


def whole(signature: Signature, position: int, default: int) -> int:
    """Return the integer at *position*, *default* when there is none."""
    value = attribute(signature, position)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def flag(signature: Signature, position: int) -> bool:
    """Return the boolean at *position*; absent counts as false."""
    return attribute(signature, position) is True


def integers(signature: Signature, position: int) -> Shape | None:
    """Return the integer or list of integers at *position* as a tuple, ``None`` when there is none."""
    value = attribute(signature, position)
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,)
    if isinstance(value, tuple) and all(isinstance(item, int) for item in value):
        return value
    return None


def broadcast(shapes: Iterable[Shape]) -> Shape | None:
    """Return the common shape by torch's broadcasting rule, ``None`` when there is none."""
    result: list[int] = []
    for shape in shapes:
        padded = [1] * (len(result) - len(shape)) + list(shape)
        result = [1] * (len(padded) - len(result)) + result
        for axis, dim in enumerate(padded):
            if dim != 1 and result[axis] not in (1, dim):
                return None
            result[axis] = dim if result[axis] == 1 else result[axis]
    return tuple(result)


def axes_of(shape: Shape, dims: Shape | None) -> Shape:
    """Return *dims* counted from the front; none or an empty list means all axes."""
    rank = max(len(shape), 1)
    return tuple(sorted({dim % rank for dim in dims})) if dims else tuple(range(len(shape)))


def reduced(shape: Shape, axes: Shape, *, keep: bool) -> Shape:
    """Return the shape after a reduction over *axes*; *keep* leaves them with length 1."""
    if keep:
        return tuple(1 if axis in axes else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in axes)


def replaced(shape: Shape, axis: int, length: int) -> Shape:
    """Return *shape* with *length* on *axis* (negative counts from the back)."""
    if not shape:
        return shape
    position = axis % len(shape)
    return (*shape[:position], length, *shape[position + 1 :])


def product(dims: Iterable[int]) -> int:
    """Return the product of *dims*, 1 for none."""
    return math.prod(dims)
