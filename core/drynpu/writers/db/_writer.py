"""Tables to SQLite in bulk: column types by the schema, texts by number, the file whole or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import polars as pl

from drynpu._alone import each_alone
from drynpu._errors import OutputError
from drynpu.writers._in_turn import in_turn, started
from drynpu.writers.db._schema import Table
from drynpu.writers.files import new_path
from drynpu.writers.text_table import CHUNK_ROWS, TextTable, parts_of
from drynpu.writers.text_table import Table as Rows

NO_TEXT = 4_294_967_295
"""Stands for an empty text of the framework, which STRING_IDS does not have (torch_npu_profiler.md 4.16)."""

STRINGS = "STRING_IDS"

_MOST_VALUES = 999
"""What one statement may bind in every SQLite."""


class DatabaseWriter:
    """
    Writes tables of *tables* into an open database.

    A table is made with its first row. Text in a column of numbers is replaced by its number in STRING_IDS; numbers
    count in order of first use, every text has one. The toolkit's count from 0; who adds rows of its own counts from
    another first number, under which the same text has another number.
    """

    def __init__(self, connection: sqlite3.Connection, tables: Mapping[str, Table], pool: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._pool = pool
        self._adding: Future[None] | None = None
        self._tables = tables
        self._made: list[str] = []
        self._numbers: dict[int, dict[str, int]] = {}

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables made so far."""
        return tuple(self._made)

    def write(self, name: str, rows: Rows, *, always: bool = False, first_string: int = 0) -> None:
        """
        Add *rows*, whose columns have the names of the table's columns; *always* makes the table without rows, too.

        Rows that are made when they are asked for are made twice where several columns of them are numbered texts.
        *first_string* is where the texts of these rows count from. Above 0, for texts of a framework, an empty text is
        ``NO_TEXT``.
        """
        table = self._tables[name]
        if rows.is_empty() and not always:
            return
        if name not in self._made:
            self._wait()
            self._connection.execute(table.create())
            self._made.append(name)
        for part in each_alone(f"table {name}", lambda: self._parts(rows, table, first_string)):
            columns = (self._stored(part[column], kind, first_string) for column, kind in table.columns.items())
            values = [column.to_list() for column in columns]
            self._wait()
            self._adding = started(self._pool, partial(self._insert, table, values, part.height))

    def number_texts(self, texts: Iterable[str], first_string: int) -> None:
        """Give numbers to texts before a table has them; STRING_IDS has them also if none does."""
        for text in texts:
            self._number_of(text, first_string)

    def finish(self) -> None:
        """Write STRING_IDS, where the tables have it, and the indexes of the tables that were made."""
        if STRINGS in self._tables:
            known = [(number, text) for texts in self._numbers.values() for text, number in texts.items()]
            strings = pl.DataFrame(known, schema={"id": pl.Int64, "value": pl.String}, orient="row")
            self.write(STRINGS, strings, always=True)
        self._wait()
        for name in self._made:
            index = self._tables[name].index
            if index is not None:
                self._connection.execute(f"CREATE INDEX {index[0]} ON {name} ({','.join(index[1])})")

    def _wait(self) -> None:
        """Wait until the rows so far are in the database."""
        if self._adding is not None:
            self._adding.result()

    def _insert(self, table: Table, columns: Sequence[list[object]], height: int) -> None:
        """Add rows, many with each statement: binding values is cheap, and beginning a statement is not."""
        width = len(columns)
        values: list[object] = [None] * (width * height)
        for place, column in enumerate(columns):
            values[place::width] = column
        many = _MOST_VALUES // width
        whole = height // many * many * width
        for rows, first, last in ((many, 0, whole), (1, whole, len(values))):
            step = rows * width
            if first < last:
                bound = (values[at : at + step] for at in range(first, last, step))
                self._connection.executemany(table.insert(rows), bound)

    def _stored(self, column: pl.Series, kind: str, first_string: int) -> pl.Series:
        if column.dtype == pl.UInt64:
            # SQLite has signed numbers only: addresses above 2^63 keep their bits.
            return column.reinterpret(signed=True)
        if column.dtype == pl.String and kind != "TEXT":
            return self._numbered(column, first_string)
        return column

    def _parts(self, rows: Rows, table: Table, first: int) -> Iterator[pl.DataFrame]:
        """Number the texts of *rows*, column by column, as the numbers of the toolkit run; then yield the rows."""
        shown = rows.make(0, 0) if isinstance(rows, TextTable) else rows
        seen: dict[str, dict[str, None]] = {
            column: {} for column, kind in table.columns.items() if kind != "TEXT" and shown[column].dtype == pl.String
        }
        if len(seen) > 1:
            for part in in_turn(parts_of(rows, CHUNK_ROWS)):
                for column, distinct in seen.items():
                    distinct.update(dict.fromkeys(_distinct(part[column]).to_list()))
        for distinct in seen.values():
            for text in distinct:
                self._number_of(text, first)
        yield from in_turn(parts_of(rows, CHUNK_ROWS))

    def _numbered(self, texts: pl.Series, first: int) -> pl.Series:
        distinct = _distinct(texts)
        numbers = [self._number_of(text, first) for text in distinct.to_list()]
        numbered: pl.Series = texts.replace_strict(distinct, numbers, default=None, return_dtype=pl.Int64)
        return numbered

    def _number_of(self, text: str, first: int) -> int:
        known = self._numbers.setdefault(first, {})
        return NO_TEXT if first and not text else known.setdefault(text, first + len(known))


def _distinct(texts: pl.Series) -> pl.Series:
    distinct: pl.Series = texts.drop_nulls().unique(maintain_order=True)
    return distinct


@contextmanager
def new_database(path: Path, tables: Mapping[str, Table]) -> Iterator[DatabaseWriter]:
    """
    Give a writer to a new database of *tables* (mode 0640); the name appears only when everything was written.

    Raises ``OutputError`` naming the file and the reason, and leaves nothing behind then.
    """
    with new_path(path) as unfinished:
        try:
            # One thread adds rows while this one makes the next ones; they never use the connection at the same time.
            with (
                closing(sqlite3.connect(unfinished, isolation_level=None, check_same_thread=False)) as connection,
                ThreadPoolExecutor(1, thread_name_prefix="drynpu-adding") as pool,
            ):
                # Nobody reads an unfinished file, so neither a journal nor waiting for the disk protects anything.
                for setting in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
                    connection.execute(f"PRAGMA {setting}")
                connection.execute("BEGIN")
                writer = DatabaseWriter(connection, tables, pool)
                yield writer
                writer.finish()
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise OutputError(f"{path}: cannot be written: {error}") from error
