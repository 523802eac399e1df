"""Handles: numbers that stand for objects, checked whenever they come back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Generic, TypeVar

from drynpu_acl.constants import ReturnCode

T = TypeVar("T")

_RUNTIME, _STEP = 0x2000_0000_0000, 0x40
"""The first handle of the runtime, and the distance of two: both look like addresses of small objects."""


def handle_numbers(first: int = _RUNTIME) -> Iterator[int]:
    """
    Return the numbers of a process's handles: they look like addresses, come once only and are never followed.

    Kinds that do not share an iterator begin far apart, so that a handle of one is none of another.
    """
    return count(first, _STEP)


class Handles(Generic[T]):
    """
    The objects of one kind that were not freed; any other number is unknown, whatever it was once.

    Safe under threads: each method is one operation of a dict.
    """

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._objects: dict[int, T] = {}

    def add(self, value: T) -> int:
        """Return the handle of a new object."""
        number = next(self._numbers)
        self._objects[number] = value
        return number

    def get(self, number: int) -> T | None:
        """Return the object, ``None`` for an unknown number."""
        return self._objects.get(number)

    def look_up(self, number: int) -> tuple[int, T | None]:
        """Return ``(code, object)`` as the runtime answers: 0 is a missing parameter, no wrong handle."""
        if number == 0:
            return ReturnCode.INVALID_PARAM, None
        value = self.get(number)
        return (ReturnCode.INVALID_HANDLE if value is None else ReturnCode.SUCCESS), value

    def remove(self, number: int) -> T | None:
        """Forget the object and return it, ``None`` for an unknown number."""
        return self._objects.pop(number, None)

    def items(self) -> list[tuple[int, T]]:
        """Return the handles with their objects."""
        return list(self._objects.items())

    def values(self) -> list[T]:
        """Return the objects."""
        return list(self._objects.values())

    def clear(self) -> None:
        """Forget all."""
        self._objects.clear()
