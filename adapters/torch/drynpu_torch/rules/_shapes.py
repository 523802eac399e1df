"""Readers of the scalars and lists among the arguments of a call."""

from __future__ import annotations

from math import prod as product  # noqa: F401 - convolutions and pooling still take it from here

from drynpu.kernels import Signature, broadcast_shape
from drynpu.kernels import ceil_div as ceil_div

broadcast = broadcast_shape

Shape = tuple[int, ...]


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
