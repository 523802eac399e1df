"""Arguments of calls from the words in which the native device's recorder keeps them (native/arguments.h)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

_, _TENSOR, _TENSORS, _NUMBER, _NUMBERS, _OPTIONALS = range(6)
"""Kinds of arguments, in the order of `Argument` in arguments.h."""
_, _INTEGER, _REAL, _TRUTH, _COMPLEX = range(5)
"""Kinds of numbers, in the order of `Number` there."""

_INTEGER_NUMBER, _REAL_NUMBER = struct.Struct("q"), struct.Struct("d")

Arguments = tuple[list[Any], list[str], list[Any]]
"""
Of each argument the shape, the type and the value, as Kineto's getters return them.

A list of optional tensors has no shape and no type, as with Kineto; its value has type and dims of each, or ``None``.
"""


def read_arguments(words: bytes, type_name: Callable[[int], str]) -> Arguments:
    """Return the arguments of a call; *type_name* gives the name of an element type by PyTorch's number."""
    numbers = struct.unpack(f"{len(words) // 8}q", words)
    shapes: list[Any] = []
    types: list[str] = []
    values: list[Any] = []
    at = 0
    while at < len(numbers):
        first, at = numbers[at], at + 1
        kind, length = first & 0xFF, first >> 16
        shape: list[Any] = []
        value: Any = None
        text = ""
        if kind == _TENSOR:
            shape, text, at = list(numbers[at : at + length]), type_name(first >> 8 & 0xFF), at + length
        elif kind == _TENSORS:
            text = "TensorList"
            for _ in range(length):
                end = at + 1 + numbers[at]
                shape.append(list(numbers[at + 1 : end]))
                at = end
        elif kind == _NUMBER:
            text = "Scalar"
            value, at = _number(numbers, at)
        elif kind == _NUMBERS:
            text, value = "ScalarList", []
            for _ in range(length):
                item, at = _number(numbers, at)
                value.append(item)
        elif kind == _OPTIONALS:
            value = ()
            for _ in range(length):
                optional, at = _optional_tensor(numbers, at, type_name)
                value += (optional,)
        shapes.append(shape)
        types.append(text)
        values.append(value)
    return shapes, types, values


def _optional_tensor(
    numbers: Sequence[int], at: int, type_name: Callable[[int], str]
) -> tuple[tuple[str, tuple[int, ...]] | None, int]:
    """Return type and dims of the tensor that begins at that place, ``None`` where none is, and the place behind it."""
    first, at = numbers[at], at + 1
    if first < 0:
        return None, at
    end = at + (first >> 16)
    return (type_name(first >> 8 & 0xFF), tuple(numbers[at:end])), end


def _number(numbers: Sequence[int], at: int) -> tuple[int | float | complex | None, int]:
    """Return the number that begins at that place, and the place behind it."""
    kind = numbers[at]
    if kind == _INTEGER:
        return numbers[at + 1], at + 2
    if kind == _REAL:
        return _real(numbers[at + 1]), at + 2
    if kind == _TRUTH:
        return bool(numbers[at + 1]), at + 2
    if kind == _COMPLEX:
        return complex(_real(numbers[at + 1]), _real(numbers[at + 2])), at + 3
    return None, at + 1


def _real(bits: int) -> float:
    (value,) = _REAL_NUMBER.unpack(_INTEGER_NUMBER.pack(bits))
    return float(value)
