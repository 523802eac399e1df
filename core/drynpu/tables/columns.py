"""Small helpers that turn record fields into table columns; loops run over distinct values only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from drynpu.arrays import I64, Array
from drynpu.tables.stored import PART_ROWS, coded


def i64(values: npt.ArrayLike) -> I64:
    """Return *values* as int64; unsigned values above 2^63 keep their bits (pointers, all-ones marks)."""
    array = np.asarray(values)
    return array.view(np.int64) if array.dtype == np.uint64 and array.flags.c_contiguous else array.astype(np.int64)


def texts(values: npt.ArrayLike, resolve: Callable[[int], str]) -> pl.Series:
    """Return a text column: *resolve* is asked once per distinct value."""
    return coded(values, resolve).series()


def gather_text(words: Mapping[int, str], values: npt.ArrayLike) -> pl.Series:
    """Return the words behind text ids, ``""`` where the dictionary has none."""
    return texts(values, lambda value: words.get(value, ""))


def empty(schema: pl.Schema) -> pl.DataFrame:
    """Return a table of *schema* without rows."""
    return pl.DataFrame(schema=schema)


def frame(schema: pl.Schema, columns: Mapping[str, object]) -> pl.DataFrame:
    """Return a table of exactly *schema* from one value per column name (array, series or scalar)."""
    scalars = {n: v for n, v in columns.items() if isinstance(v, str | int | bool) or v is None}
    series = {n: _series(n, v) for n, v in columns.items() if n not in scalars}
    height = max(map(len, series.values()), default=1)
    series |= {n: pl.Series(n, [v], schema[n]).new_from_index(0, height) for n, v in scalars.items()}
    # Column by column: an expression for each would have to be built, planned and handed to other threads.
    return pl.DataFrame([series[name].cast(dtype) for name, dtype in schema.items()])


def _series(name: str, value: object) -> pl.Series:
    if isinstance(value, pl.Series):
        return value.alias(name)
    return pl.Series(name, np.ascontiguousarray(np.asarray(value)))


def order_by(first: I64, *others: Callable[[I64], Array]) -> I64 | None:
    """
    Return the order of rows by *first*, then by *others*; None if they stand so. Rows that are equal keep their order.

    Few rows are equal in what comes first, a time: *others* return their values for those rows only.
    """
    order = None if (first[1:] >= first[:-1]).all() else np.argsort(first, kind="stable")
    ordered = first if order is None else first[order]
    equal = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(equal):
        return order
    together = np.unique(np.concatenate([equal, equal + 1]))
    rows = together if order is None else order[together]
    sorted_rows = rows[np.lexsort((*(other(rows) for other in reversed(others)), first[rows]))]
    if order is None and (sorted_rows == rows).all():
        return None
    order = np.arange(len(first)) if order is None else order
    order[together] = sorted_rows
    return order


def in_parts(make: Callable[[slice], I64], count: int) -> I64:
    """Return a column of *count* rows of which *make* gives stretches: what it needs besides is never there for all."""
    column = np.empty(count, np.int64)
    for begin in range(0, count, PART_ROWS):
        rows = slice(begin, min(begin + PART_ROWS, count))
        column[rows] = make(rows)
    return column


def ordinals(keys: I64) -> I64:
    """
    Return for every row how many earlier rows have the same key; shape ``[n]``.

    >>> ordinals(np.array([7, 3, 7, 7])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    positions = np.arange(len(keys), dtype=np.int64)
    begins = np.ones(len(keys), bool)
    begins[1:] = ordered[1:] != ordered[:-1]
    first = np.maximum.accumulate(np.where(begins, positions, 0)) if len(keys) else positions
    result = np.empty(len(keys), np.int64)
    result[order] = positions - first
    return result
