"""Handles: numbers that stand for what we hold, looked up and never followed as addresses."""

from __future__ import annotations

from itertools import count
from typing import Generic, TypeVar

from attrs import define, field

__all__ = ["Handles"]

T = TypeVar("T")
_STRIDE = 64
"""Apart as allocated structures are, so that a handle is not mistaken for a small number."""


@define
class Handles(Generic[T]):
    """
    A table of values by handle. No number is given twice, so a freed handle stays unknown.

    ``base`` keeps the numbers of different kinds apart: a handle of one kind is none of another.
    """

    base: int
    _values: dict[int, T] = field(factory=dict, init=False)
    _numbers: count[int] = field(init=False)

    @_numbers.default
    def _count(self) -> count[int]:
        return count(self.base, _STRIDE)

    def add(self, value: T) -> int:
        """Return a new handle of *value*."""
        handle = next(self._numbers)
        self._values[handle] = value
        return handle

    def get(self, handle: int) -> T | None:
        """Return what *handle* stands for, ``None`` if nothing."""
        return self._values.get(handle)

    def free(self, handle: int) -> T | None:
        """Forget *handle* and return what it stood for, ``None`` if nothing."""
        return self._values.pop(handle, None)
