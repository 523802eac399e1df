"""
Cells of csv rows that are categories: what stands side by side is put together once for each combination that occurs.

Rows of kernels repeat each other but for times and counters. Joining cells and setting quotes row by row would take
most of the time in which a table is written.
"""

from __future__ import annotations

import re
from collections.abc import Container

import numpy as np
import polars as pl
from attrs import define, field
from polars.selectors import categorical

from drynpu.arrays import Integers

_MOST_COMBINATIONS = 1 << 16
"""Beyond these, looking a combination up takes longer than making the text."""


NEEDS_QUOTES = r'[",\r\n]'
"""What makes quotes around a cell necessary, as the toolkit's and Python's csv writers set them."""


def joined_cells(part: pl.DataFrame, quotable: Container[str]) -> pl.DataFrame:
    """
    Return rows with runs of categorical columns as one column of texts each, with commas between their cells.

    Of *quotable* columns the cells that need quotes have them. Other columns stay as they are.
    """
    columns: list[pl.Series] = []
    run = _Run()
    physical = part.select(categorical().to_physical())
    for column in part:
        if column.dtype != pl.Categorical or column.null_count():
            columns += [*run.text(), column.cast(pl.String) if column.dtype == pl.Categorical else column]
            run = _Run()
            continue
        codes, words = _distinct(column, physical[column.name].to_numpy())
        words = _quoted(words) if column.name in quotable else words
        if not run.add(column.name, part.height, codes, words):
            columns += run.text()
            run = _Run()
            run.add(column.name, part.height, codes, words)
    return pl.DataFrame([*columns, *run.text()])


@define
class _Run:
    """Columns side by side: for each its codes by row (None: all rows have one) and words; together a key by row."""

    _names: list[str] = field(factory=list)
    _columns: list[tuple[Integers | None, pl.Series]] = field(factory=list)
    _height: int = 0
    _key: Integers | None = None
    _count: int = 1

    def add(self, name: str, height: int, codes: Integers | None, words: pl.Series) -> bool:
        """Add a column, unless there may be too many combinations then."""
        if codes is not None and self._key is not None:
            if self._count * len(words) > _MOST_COMBINATIONS:
                self._key, present = _numbered(self._key, self._count)
                self._count = len(present)
            if self._count * len(words) > _MOST_COMBINATIONS:
                return False
            self._key = self._key * np.int32(len(words)) + codes
        elif codes is not None:
            self._key = codes
        self._height, self._count = height, self._count * len(words)
        self._names.append(name)
        self._columns.append((codes, words))
        return True

    def text(self) -> list[pl.Series]:
        """Return the column of all, none if there are none."""
        if not self._columns:
            return []
        key, rows = (None, np.zeros(1, np.int64)) if self._key is None else _numbered(self._key, self._count)
        cells = [words if codes is None else words[pl.Series(codes[rows])] for codes, words in self._columns]
        alone = len(cells) == 1
        texts = cells[0] if alone else pl.select(pl.concat_str(cells, separator=",")).to_series()
        texts = texts.alias(self._names[0])
        return [texts.new_from_index(0, self._height) if key is None else texts[pl.Series(key)]]


def _quoted(words: pl.Series) -> pl.Series:
    """Return distinct texts with quotes around those that need them; plain Python, since they are few."""
    texts, needs = words.to_list(), re.compile(NEEDS_QUOTES)
    if not needs.search("".join(texts)):
        return words
    return pl.Series(words.name, list(map(quoted_cell, texts)))


def quoted_cell(text: str) -> str:
    """Return a text as a cell, with quotes around it if it needs them."""
    return '"' + text.replace('"', '""') + '"' if re.search(NEEDS_QUOTES, text) else text


def _numbered(key: Integers, count: int) -> tuple[Integers, Integers]:
    """Return keys (below *count*) numbered without gaps, and for each number a row that has it."""
    rows = np.full(count, -1, np.int32)
    rows[key] = np.arange(len(key), dtype=np.int32)
    present = np.flatnonzero(rows >= 0)
    number = np.empty(count, np.int32)
    number[present] = np.arange(len(present), dtype=np.int32)
    return number.take(key), rows[present]


def _distinct(column: pl.Series, physical: Integers) -> tuple[Integers | None, pl.Series]:
    """Return which of the distinct texts of categories each row has (None: there is one), and the texts."""
    low, high = int(physical.min()), int(physical.max())
    if low == high:
        return None, column[:1].cast(pl.String)
    codes, rows = _numbered(physical, high + 1)
    return codes, column[pl.Series(rows)].cast(pl.String)
