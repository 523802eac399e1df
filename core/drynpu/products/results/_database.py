"""Databases of the vendor's tools, opened for reading alone (cann_msprof.md 4.6, torch_npu_profiler.md 4.16)."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
from attrs import field, frozen

from drynpu.products.results._spellings import database_columns, present, spellings
from drynpu.writers.db import STRINGS


@frozen(eq=False)
class Database:
    """
    A database of results.

    Attributes
    ----------
    tables:
        The titles of the columns of each table.
    strings:
        ``id`` and ``text``.
    """

    path: Path
    tables: Mapping[str, tuple[str, ...]]
    strings: pl.DataFrame = field(repr=False)
    notes: list[str] = field(factory=list)

    def frame(self, table: str) -> pl.DataFrame:
        """Return a table under drynpu's names; without columns where the database lacks it."""
        if table not in self.tables:
            return pl.DataFrame()
        known = present(database_columns(table), self.tables[table])
        cells = self._cells(table, *(title for _, title in known.values()))
        if cells.is_empty():
            return pl.DataFrame()
        columns = []
        for name, (column, title) in known.items():
            values = cells[title].alias(name)
            columns.append(self._value(values, column.kind))
        return pl.DataFrame(columns)

    def rows(self, table: str, *titles: str) -> list[tuple[Any, ...]]:
        """Return columns of a table as they are; nothing where the database lacks one of them."""
        if not set(titles) <= set(self.tables.get(table, ())):
            return []
        return self._cells(table, *titles).rows()

    def others(self) -> dict[str, pl.DataFrame]:
        """Return the tables that no reader is for, as they are."""
        known = spellings()
        names = [
            name
            for name in self.tables
            if name not in known["databases_columns"] and not re.match(known["databases_known"], name)
        ]
        frames = {name: self._cells(name, *self.tables[name]) for name in names}
        return {name: frame for name, frame in frames.items() if frame.height}

    def _cells(self, table: str, *titles: str) -> pl.DataFrame:
        """Return columns of a table as they are; what cannot be read is noted."""
        try:
            return _cells(self.path, table, titles)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.notes.append(f"{self.path.name}: table {table} could not be read and was left out: {error}")
            return pl.DataFrame()

    def _value(self, values: pl.Series, kind: str) -> pl.Series:
        plain = {"int": pl.Int64, "float": pl.Float64, "text": pl.String}
        cast: pl.Series = values.cast(plain.get(kind, pl.Int64), strict=False)
        if kind == "text":
            return cast.fill_null("")
        if kind in plain:
            return cast
        return self._texts(cast, self.strings if kind == "string" else self._enumeration(kind))

    def _enumeration(self, name: str) -> pl.DataFrame:
        cells = self._cells(name, "id", "name") if name in self.tables else pl.DataFrame()
        return _texts_by_id(cells, "name")

    @staticmethod
    def _texts(numbers: pl.Series, known: pl.DataFrame) -> pl.Series:
        """Return the texts of ids; ``N/A`` and ids without a text are no text."""
        rows = pl.DataFrame({"id": numbers}).join(known, on="id", how="left", maintain_order="left")
        return rows.select(pl.col("text").replace("N/A", "").fill_null("").alias(numbers.name)).to_series()


def open_database(path: Path) -> Database:
    """
    Return a database; only its directory and its strings are read yet.

    Raises
    ------
    sqlite3.Error
        It is none, or damaged.
    """
    with _connect(path) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        titles = {name: tuple(row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')) for name in names}
    cells = _cells(path, STRINGS, ("id", "value")) if STRINGS in titles else pl.DataFrame()
    return Database(path, titles, _texts_by_id(cells, "value"))


def _texts_by_id(cells: pl.DataFrame, title: str) -> pl.DataFrame:
    if cells.is_empty():
        return pl.DataFrame(schema={"id": pl.Int64, "text": pl.String})
    table = cells.select(pl.col("id").cast(pl.Int64, strict=False), pl.col(title).cast(pl.String).alias("text"))
    return table.unique("id", keep="last", maintain_order=True)


@contextmanager
def _connect(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection that neither writes nor leaves files beside the database."""
    connection = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", uri=True)
    connection.text_factory = lambda content: content.decode("utf-8", "replace")
    try:
        yield connection
    finally:
        connection.close()


def _cells(path: Path, table: str, titles: tuple[str, ...]) -> pl.DataFrame:
    """Return columns of a table; values of several types in one column become texts."""
    chosen = ", ".join(f'"{title}"' for title in titles)
    with _connect(path) as connection:
        rows = connection.execute(f'SELECT {chosen} FROM "{table}"').fetchall()
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(titles)
    return pl.DataFrame([_series(title, values) for title, values in zip(titles, columns, strict=True)])


def _series(title: str, values: tuple[object, ...]) -> pl.Series:
    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {int}:
        return pl.Series(title, values, dtype=pl.Int64, strict=False)
    if kinds <= {int, float}:
        return pl.Series(title, values, dtype=pl.Float64, strict=False)
    return pl.Series(title, [None if value is None else str(value) for value in values], dtype=pl.String)
