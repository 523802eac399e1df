"""Tables of text that are made chunk by chunk, so that a long one never stands in memory as text."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

import polars as pl
from attrs import evolve, frozen
from polars.selectors import categorical

CHUNK_ROWS = 65_536
"""Rows that are text at one time: some 50 MB of an op_summary with all its counters."""


class Rows(Protocol):
    """A table whose rows are made part by part: a frame, or a long table of a profile."""

    @property
    def height(self) -> int:
        """Number of rows."""

    def slice(self, offset: int, count: int, /) -> pl.DataFrame:
        """Return *count* rows from *offset* on, or those that are left."""


@frozen(eq=False)
class TextTable:
    """
    Rows that are made when they are asked for: of String columns, or with the columns of a database.

    Columns in which few texts repeat may be categories in the parts; `frame` has them as texts.

    ``make(offset, count)`` returns the rows from *offset* on, *count* of them or those that are left. ``plain`` names
    columns of numbers and set words, in which nothing can need quotes in a csv file.
    """

    columns: tuple[str, ...]
    height: int
    make: Callable[[int, int], pl.DataFrame]
    plain: frozenset[str] = frozenset()

    @classmethod
    def from_rows(cls, rows: pl.DataFrame | Rows, columns: Iterable[pl.Expr], plain: Iterable[str] = ()) -> TextTable:
        """Return the table whose cells are *columns* of *rows*; each looks at its own row only, texts as such."""
        shown = list(columns)

        def make(offset: int, count: int) -> pl.DataFrame:
            return rows.slice(offset, count).with_columns(categorical().cast(pl.String)).select(shown)

        return cls(tuple(make(0, 0).columns), rows.height, make, frozenset(plain))

    def is_empty(self) -> bool:
        """Return whether there are no rows."""
        return not self.height

    def slice(self, offset: int, count: int) -> TextTable:
        """Return *count* rows from *offset* on, or those that are left."""
        height = max(min(count, self.height - offset), 0)

        def make(start: int, rows: int) -> pl.DataFrame:
            return self.make(offset + start, min(rows, max(height - start, 0)))

        return evolve(self, height=height, make=make)

    def map(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> TextTable:
        """Return the table with *change* made to every part of it."""

        def make(offset: int, count: int) -> pl.DataFrame:
            return change(self.make(offset, count))

        return evolve(self, columns=tuple(make(0, 0).columns), make=make)

    def drop(self, name: str) -> TextTable:
        """Return the table without a column."""
        columns = tuple(column for column in self.columns if column != name)
        return evolve(self, columns=columns, make=lambda offset, count: self.make(offset, count).drop(name))

    def frame(self) -> pl.DataFrame:
        """Return all rows at once."""
        return self.make(0, self.height).with_columns(categorical().cast(pl.String))


Table: TypeAlias = pl.DataFrame | TextTable


def parts_of(table: Table, rows: int) -> list[Callable[[], pl.DataFrame]]:
    """Return what makes each part of the table, of *rows* rows, the last one shorter."""
    part = table.slice if isinstance(table, pl.DataFrame) else table.make
    return [functools.partial(part, offset, rows) for offset in range(0, table.height, rows)]
