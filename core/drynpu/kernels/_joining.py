"""Operator tables put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from attrs import evolve

from drynpu.arrays import I32, Array
from drynpu.kernels._operators import Operators

T = TypeVar("T")
_NO_TEXT = ("", "")


def concatenate(parts: Sequence[Operators]) -> Operators:
    """Join tables and sort by time; names, signatures and stacks that parts share (the same tuple) are taken once."""
    names, name_at = _pool([part.names for part in parts])
    signatures, signature_at = _pool([part.signatures for part in parts])
    stacks, stack_at = _pool([part.stacks for part in parts])
    lengths = [len(part) for part in parts]
    start, end = _column(parts, "start_ns", np.int64), _column(parts, "end_ns", np.int64)
    order = np.lexsort((-end, start))

    def codes(name: str, begins: list[int]) -> I32:
        numbers = _column(parts, name, np.int32)
        moved = numbers + np.repeat(np.array(begins, np.int32), lengths)
        return np.asarray(np.where(numbers >= 0, moved, np.int32(-1))[order], np.int32)

    return Operators(
        names=names,
        name=codes("name", name_at),
        start_ns=start[order],
        end_ns=end[order],
        thread=_column(parts, "thread", np.int64)[order],
        fwd_thread=_column(parts, "fwd_thread", np.int64)[order],
        sequence=_column(parts, "sequence", np.int64)[order],
        scope=_column(parts, "scope", np.uint8)[order],
        signature=codes("signature", signature_at),
        signatures=signatures,
        texts=_texts(parts, signature_at, len(signatures)),
        stack=codes("stack", stack_at),
        stacks=stacks,
        reported=_column(parts, "reported", np.bool_)[order],
    )


def merge_equal(operators: Operators) -> Operators:
    """Return the table with names and signatures that are equal stored once, so that their calls count together."""
    names = {name: number for number, name in enumerate(dict.fromkeys(operators.names))}
    numbers: dict[object, int] = {}
    kept: list[int] = []
    for row, signature in enumerate(operators.signatures):
        if numbers.setdefault(signature.key, len(kept)) == len(kept):
            kept.append(row)
    # The last entry is for rows without a signature.
    signature_at = np.array([*(numbers[signature.key] for signature in operators.signatures), -1], np.int32)
    return evolve(
        operators,
        names=tuple(names),
        name=np.array([*(names[name] for name in operators.names), 0], np.int32)[operators.name],
        signature=signature_at[operators.signature],
        signatures=tuple(operators.signatures[row] for row in kept),
        texts=tuple(operators.texts[row] for row in kept) if operators.texts else (),
    )


def used_entries(operators: Operators) -> Operators:
    """Return a table whose names, signatures and stacks are those that its rows have."""
    name_rows, name = np.unique(operators.name, return_inverse=True)
    signature_rows, signature = _used(operators.signature)
    stack_rows, stack = _used(operators.stack)
    return evolve(
        operators,
        names=tuple(operators.names[row] for row in name_rows.tolist()),
        name=name.astype(np.int32),
        signatures=tuple(operators.signatures[row] for row in signature_rows),
        texts=tuple(operators.texts[row] for row in signature_rows) if operators.texts else (),
        signature=signature,
        stacks=tuple(operators.stacks[row] for row in stack_rows),
        stack=stack,
    )


def _used(index: I32) -> tuple[list[int], I32]:
    """Return the entries that are used, and the index into these; -1 stays."""
    rows = np.unique(index[index >= 0])
    moved = np.where(index >= 0, np.searchsorted(rows, index), -1).astype(np.int32)
    return rows.tolist(), moved


def _column(parts: Sequence[Operators], name: str, dtype: type[np.generic]) -> Array:
    joined: Array = np.concatenate([np.empty(0, dtype), *(getattr(part, name) for part in parts)])
    return joined.astype(dtype)


def _pool(tuples: Sequence[tuple[T, ...]]) -> tuple[tuple[T, ...], list[int]]:
    """Return all entries, equal tuples once, and where the entries of each tuple begin."""
    pooled: list[T] = []
    place: dict[int, int] = {}
    for entries in tuples:
        if id(entries) not in place:
            place[id(entries)] = len(pooled)
            pooled.extend(entries)
    return tuple(pooled), [place[id(entries)] for entries in tuples]


def _texts(parts: Sequence[Operators], begins: list[int], count: int) -> tuple[tuple[str, str], ...]:
    """Return the texts of the pooled signatures, empty where a part tells none."""
    texts = [_NO_TEXT] * count
    for part, begin in zip(parts, begins, strict=True):
        texts[begin : begin + len(part.texts)] = part.texts
    return tuple(texts)
