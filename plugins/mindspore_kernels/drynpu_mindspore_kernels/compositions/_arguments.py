"""Arguments of compositions that are tuples."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Numbers: TypeAlias = Any
"""A tuple of numbers, as one array."""
Flag: TypeAlias = Any
"""A truth value."""


def several(numbers: Any, count: int) -> list[int]:
    """
    Return *count* numbers: as many are there, or one that is meant for all.

    A tuple that several arguments share reaches them repeated in GRAPH mode; only one of its copies is returned.

    Raises
    ------
    ValueError
        The numbers are not of so many dims.
    """
    values = [int(number) for number in np.ravel(numbers)]
    if len(set(values)) == 1:
        return values[:1] * count
    if len(values) % count or values != values[:count] * (len(values) // count):
        raise ValueError(f"{values} is not for {count} dims")
    return values[:count]


def at(*parts: Any) -> Any:
    """Return what indexes an array at *parts*, some of which may come from a list."""
    return parts
