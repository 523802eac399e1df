"""What the hook saw of launches becomes their calls (:mod:`drynpu_mindspore.capture._hook`)."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

import numpy as np
from attrs import define, evolve

from drynpu.arrays import I32, I64, Bools
from drynpu.kernels import NO_DATA, Signature, TensorDesc
from drynpu.kernels.ops import ge_dtype
from drynpu_mindspore.capture._hook import SeenLaunches
from drynpu_mindspore.rules import signature

# ``TypeId`` of MindSpore (mindapi/base/type_id.h) -> numpy's name of the type.
_TYPES = {
    30: "bool",
    32: "int8",
    33: "int16",
    34: "int32",
    35: "int64",
    37: "uint8",
    38: "uint16",
    39: "uint32",
    40: "uint64",
    42: "float16",
    43: "float32",
    44: "float64",
    45: "bfloat16",
    51: "complex64",
    52: "complex128",
}
_NUMBER, _TEXT, _TUPLE, _TENSOR = 11, 12, 14, 17
_READS_NUMBERS = re.compile(r"(^|/)Cast(-op\d+)?$")
"""Launches whose kernel reads a Python number as it reads a tensor, if that is the first argument."""


@define
class _Reader:
    """Reads the bytes of one call in their order."""

    text: bytes
    at: int = 0

    def number(self) -> int:
        (value,) = struct.unpack_from("<i", self.text, self.at)
        self.at += 4
        return int(value)

    def bytes(self, count: int) -> bytes:
        data = self.text[self.at : self.at + count]
        self.at += count
        return data

    def argument(self, *, is_result: bool = False, reads_numbers: bool = False) -> tuple[TensorDesc | None, object]:
        """
        Return the next argument: a tensor, or a value as far as it was written down.

        Every result is a tensor, and so is a tuple of more than one dim, which holds one. With *reads_numbers* a number
        is a tensor as well as a value.
        """
        kind, type_id, dims = self.number(), self.number(), self.number()
        shape = tuple(np.frombuffer(self.bytes(8 * dims), np.int64).tolist())
        size = self.number()
        value = self.bytes(size) if size >= 0 else None
        name = _TYPES.get(type_id, "")
        if kind == _TENSOR or is_result or (kind == _TUPLE and len(shape) > 1):
            return TensorDesc(shape, ge_dtype(name) if name else NO_DATA), None
        number = TensorDesc((), ge_dtype(name)) if reads_numbers and kind == _NUMBER and name else None
        if value is None:
            return number, None
        if kind == _TEXT:
            return None, value.decode(errors="replace")
        return number, _value(np.frombuffer(value, name), shape)


def _value(numbers: np.ndarray[tuple[int], np.dtype[np.generic]], shape: tuple[int, ...]) -> object:
    """Return a number, or a tuple of numbers; nothing where there are not as many as the shape says."""
    if len(numbers) != np.prod(shape, dtype=np.int64):
        return None
    return tuple(numbers.tolist()) if shape else numbers[0].item()


def read_call(text: bytes) -> tuple[str, Signature]:
    """Return the name under which a call was launched, and its signature."""
    reader = _Reader(text)
    name = reader.bytes(reader.number()).decode(errors="replace")
    reads_numbers = _READS_NUMBERS.search(name) is not None
    arguments = [reader.argument(reads_numbers=reads_numbers and not place) for place in range(reader.number())]
    results = [reader.argument(is_result=True)[0] for _ in range(reader.number())]
    outputs = [result for result in results if result is not None]
    return name, signature(name, [tensor for tensor, _ in arguments], outputs, None, [value for _, value in arguments])


def join_seen(
    names: Sequence[str], name: I32, start_ns: I64, end_ns: I64, seen: SeenLaunches
) -> tuple[tuple[Signature, ...], I32]:
    """
    Return the calls of launches: distinct ones, and the index of each launch's (-1: it was not seen), int32 ``[n]``.

    Parameters
    ----------
    names, name:
        Launch ``i`` has the name ``names[name[i]]``.
    start_ns, end_ns:
        When it ran.

    A launch lies in the time of what was seen of it, which is the last of its name that began before it. Two threads
    may launch at once: where as many were seen as launched, the k-th of a name that was seen is the k-th launch.
    """
    calls = [read_call(text) for text in seen.calls]
    launch_call = np.full(len(name), -1, np.int32)
    if not len(seen.rows) or not len(name):
        return (), launch_call
    numbers: dict[str, int] = {}
    group = np.array([numbers.setdefault(text, len(numbers)) for text in names], np.int64)[name]
    of_call = np.array([numbers.get(text, -1) for text, _ in calls], np.int64)
    rows = seen.rows[of_call[seen.rows[:, 2]] >= 0]
    rows = rows[np.lexsort((rows[:, 0], of_call[rows[:, 2]]))]
    row_group = of_call[rows[:, 2]]
    order = np.lexsort((start_ns, group))
    group, start_ns, end_ns = group[order], start_ns[order], end_ns[order]
    first, count = _spans(row_group, len(numbers))
    begun, launched = _spans(group, len(numbers))
    in_turn = first[group] + np.arange(len(group)) - begun[group]
    fits = _inside(rows, row_group, in_turn, group, start_ns, end_ns)
    whole = (np.bincount(group[fits], minlength=len(numbers)) == launched) & (count == launched)
    last = _last_begun(rows, row_group, group, start_ns)
    at = np.where(whole[group], in_turn, last)
    inside = _inside(rows, row_group, at, group, start_ns, end_ns)
    launch_call[order[inside]] = rows[at[inside], 2]
    return tuple(call for _, call in calls), launch_call


def _spans(group: I64, groups: int) -> tuple[I64, I64]:
    """Return where each group begins in a sorted column, and how many rows it has."""
    count = np.bincount(group, minlength=groups).astype(np.int64)
    return np.cumsum(count) - count, count


def _last_begun(rows: I64, row_group: I64, group: I64, start_ns: I64) -> I64:
    """Return for each launch the last row, in the order of groups and times, that comes before it (-1: none)."""
    is_launch = np.repeat([False, True], [len(rows), len(group)])
    order = np.lexsort((is_launch, np.concatenate([rows[:, 0], start_ns]), np.concatenate([row_group, group])))
    before = np.maximum.accumulate(np.where(order < len(rows), order, -1))
    at = np.empty(len(order), np.int64)
    at[order] = before
    return at[len(rows) :]


def _inside(rows: I64, row_group: I64, at: I64, group: I64, start_ns: I64, end_ns: I64) -> Bools:
    """Return which launches lie in the times of their rows *at*, and have the name of these."""
    known = (at >= 0) & (at < len(rows))
    at = np.where(known, at, 0)
    inside: Bools = known & (row_group[at] == group) & (rows[at, 0] <= start_ns) & (end_ns <= rows[at, 1])
    return inside


def completed(call: Signature, seen: Signature) -> Signature:
    """
    Return the *call* of a kernel of a graph as it was *seen*, with the attributes that only the graph has.

    Values that were not written down (those with a fraction) are the graph's, too.
    """
    results, _, values = seen.attributes
    _, attrs, arguments = call.attributes
    assert isinstance(values, tuple)
    if isinstance(arguments, tuple) and len(arguments) == len(values):
        values = tuple(old if new is None else new for old, new in zip(arguments, values, strict=True))
    return evolve(seen, name=call.name, attributes=(results, attrs, values))
