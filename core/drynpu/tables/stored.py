"""
How long tables are kept: texts as numbers of distinct words, whole numbers in the fewest bytes that hold them.

A text column takes 16 bytes in every row and a whole number 8, while a profile has few distinct texts and mostly small
numbers. What readers get, :meth:`Stored.frame`, has the dtypes of the schemas. Long tables lie in files (`ColumnFile`),
so that memory does not grow with the recording; who reads them in parts has a part in memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
from attrs import evolve, field, frozen

from drynpu.arrays import Array
from drynpu.tables._column_file import ColumnFile, KeptColumns, Spool

PART_ROWS = 131_072
"""Rows of a long table that are worked on at one time."""
_FEW_ROWS = 2048
"""Rows that Python and numpy look through in less time than a query of polars takes, which other threads answer."""
_WIDTHS = (
    *((kind, 0, 2**bits - 1) for kind, bits in ((pl.UInt8, 8), (pl.UInt16, 16), (pl.UInt32, 32))),
    *((kind, -(2**bits), 2**bits - 1) for kind, bits in ((pl.Int8, 7), (pl.Int16, 15), (pl.Int32, 31))),
)
"""What an Int64 column may be kept as, the first that holds its values: dtype, least and most."""
_NARROW = tuple(kind for kind, _, _ in _WIDTHS)


@frozen(eq=False)
class Texts:
    """A text column: *words*, and for each row which of them it is (null: no text)."""

    codes: pl.Series
    words: pl.Series

    def series(self) -> pl.Series:
        """Return the texts, 16 bytes a row."""
        return gathered(self.words, self.codes)

    def gather(self, rows: pl.Series) -> pl.Series:
        """Return the texts of some rows; null for a null."""
        return gathered(self.words, gathered(self.codes, rows))


def gathered(values: pl.Series, rows: pl.Series) -> pl.Series:
    """Return *values* at *rows*, null for a null; ten times as fast as ``gather``, which polars makes a query of."""
    if rows.len() and rows.null_count() == rows.len():  # polars takes no index without a number
        return values.clear(rows.len())
    chosen: pl.Series = values[rows]
    return chosen


def coded(values: npt.ArrayLike, resolve: Callable[[int], str]) -> Texts:
    """Return the texts of whole numbers; *resolve* is asked once per distinct value."""
    array = np.asarray(values)
    distinct = distinct_numbers(array)
    words = pl.Series([resolve(int(value)) for value in distinct], dtype=pl.String)
    return Texts(pl.Series(np.searchsorted(distinct, array).astype(np.min_scalar_type(len(distinct)))), words)


def distinct_numbers(values: Array) -> Array:
    """Return the distinct whole numbers in ascending order."""
    if len(values) <= _FEW_ROWS:
        return np.unique(values)
    # Finding the few distinct values first is far faster than sorting all of them, as numpy.unique does.
    numbers: Array = np.sort(pl.Series(np.ascontiguousarray(values)).unique().to_numpy())
    return numbers


def narrow(values: pl.Series) -> pl.Series:
    """Return a column of whole numbers in the fewest bytes that hold it, any other as it is."""
    if values.dtype != pl.Int64 and values.dtype not in _NARROW:
        return values
    low, high = values.min(), values.max()
    if not isinstance(low, int) or not isinstance(high, int):
        kept: pl.DataType | type[pl.DataType] = pl.UInt8  # nulls only
    else:
        kept = next((kind for kind, least, most in _WIDTHS if least <= low and high <= most), pl.Int64)
    narrowed: pl.Series = values.cast(kept)
    return narrowed


def narrow_codes(codes: pl.Series) -> pl.Series:
    """Return codes in the fewest bytes that hold them."""
    if codes.dtype != pl.UInt32:
        return codes
    most = codes.max()
    return codes if not isinstance(most, int) else codes.cast(next(kind for kind, _, top in _WIDTHS if most <= top))


@frozen(eq=False, kw_only=True)
class Stored:
    """
    A table as it is kept.

    ``schema`` are the columns that readers see. ``numbers`` holds them under their names, and the codes of texts
    (columns may share them); ``words`` says of each text column which column has its codes, and what they mean.
    """

    schema: pl.Schema
    _numbers: pl.DataFrame | ColumnFile = field(repr=False)
    words: Mapping[str, tuple[str, pl.Series]] = field(factory=dict, repr=False)

    @classmethod
    def from_columns(cls, schema: pl.Schema, columns: Mapping[str, object]) -> Stored:
        """
        Return a table of exactly *schema*; every column is given as array, series, ``Texts``, or one value for all.

        Text columns that are given with one series of codes keep it once.
        """
        height = next((_height(value) for value in columns.values() if _height(value) >= 0), 0)
        # Codes that several columns share are one object.
        return cls.from_makers(
            schema, {name: functools.partial(columns.__getitem__, name) for name in schema}, height, lasting=True
        )

    @classmethod
    def from_makers(
        cls, schema: pl.Schema, makers: Mapping[str, Callable[[], object]], height: int, *, lasting: bool = False
    ) -> Stored:
        """
        Return the same table from functions that give its columns: of a long table they are never all in memory.

        ``lasting``: they give what lives on, and columns may share codes.
        """
        words: dict[str, tuple[str, pl.Series]] = {}
        numbers = KeptColumns(height)
        shared: dict[int, str] = {}
        for name, dtype in schema.items():
            value = makers[name]()
            if isinstance(value, str):
                value = Texts(pl.Series(np.zeros(height, np.uint8)), pl.Series([value], dtype=pl.String))
            if isinstance(value, Texts):
                # Nothing else has its number while a value lives: here the columns of `from_columns` live.
                place = shared.setdefault(id(value.codes), name) if lasting else name
                words[name] = place, value.words
                if place == name:
                    numbers.add(narrow_codes(value.codes).alias(name))
            elif _height(value) < 0:
                numbers.add(narrow(pl.Series([value], dtype=dtype)).new_from_index(0, height).alias(name))
            else:
                column = value if isinstance(value, pl.Series) else pl.Series(np.ascontiguousarray(np.asarray(value)))
                # Numbers of a narrower type are as they are kept: wider ones would take twice the room and more.
                kept = column if dtype == pl.Int64 and column.dtype in _NARROW else column.cast(dtype)
                numbers.add(narrow(kept).alias(name))
        return cls(schema=schema, numbers=numbers.kept(), words=words)

    @property
    def height(self) -> int:
        """Number of rows."""
        return self._numbers.height

    @property
    def numbers(self) -> pl.DataFrame:
        """All rows as they are kept."""
        return self._kept(self._numbers.schema)

    def filed(self) -> Stored:
        """Return the table in a file if it is long, else as it is."""
        if isinstance(self._numbers, ColumnFile):
            return self
        kept = KeptColumns(self.height)
        for column in self._numbers:
            kept.add(column)
        return evolve(self, numbers=kept.kept())

    def _kept(self, names: Iterable[str], offset: int = 0, count: int | None = None) -> pl.DataFrame:
        kept = self._numbers
        if isinstance(kept, ColumnFile):
            return pl.DataFrame([kept.read(name, offset, count) for name in names])
        # Column by column: polars makes a query of `select`, which takes longer than all the rest of a small table.
        return pl.DataFrame([kept.get_column(name).slice(offset, count) for name in names])

    def _kept_column(self, name: str) -> pl.Series:
        kept = self._numbers
        return kept.read(name, 0, None) if isinstance(kept, ColumnFile) else kept.get_column(name)

    def _slice(self, offset: int, count: int | None, names: Iterable[str]) -> Stored:
        """Return rows of some columns, in memory."""
        shown = list(names)
        codes = [self.words[name][0] if name in self.words else name for name in shown]
        return Stored(
            schema=pl.Schema({name: self.schema[name] for name in shown}),
            numbers=self._kept(dict.fromkeys(codes), offset, count),
            words={name: self.words[name] for name in shown if name in self.words},
        )

    def column(self, name: str) -> pl.Series:
        """Return one column with the dtype of the schema."""
        if name in self.words:
            return self.texts(name).series().alias(name)
        values: pl.Series = self._kept_column(name).cast(self.schema[name])
        return values

    def texts(self, name: str) -> Texts:
        """Return a text column as it is kept."""
        codes, words = self.words[name]
        return Texts(self._kept_column(codes), words)

    def frame(self) -> pl.DataFrame:
        """Return the table as readers see it."""
        return self.slice(0, self.height)

    def slice(self, offset: int, count: int, *names: str) -> pl.DataFrame:
        """Return *count* rows from *offset* on, or those that are left, as readers see them; columns default to all."""
        part = self._slice(offset, count, names or self.schema)
        return pl.DataFrame([part.column(name) for name in part.schema])

    def slices(self, *names: str) -> Iterator[pl.DataFrame]:
        """Yield the table in parts of `PART_ROWS` rows, at least one."""
        for offset in range(0, max(self.height, 1), PART_ROWS):
            yield self.slice(offset, PART_ROWS, *names)

    def kept_slices(self, *names: str) -> Iterator[pl.DataFrame]:
        """Yield columns as they are kept in parts of `PART_ROWS` rows: codes in place of texts."""
        codes = {name: self.words[name][0] if name in self.words else name for name in names}
        for offset in range(0, self.height, PART_ROWS):
            part = self._kept(dict.fromkeys(codes.values()), offset, PART_ROWS)
            yield pl.DataFrame([part[kept].alias(name) for name, kept in codes.items()])

    def compact(self, *names: str) -> pl.DataFrame:
        """Return columns (default all) as readers see them, but texts as categories of 4 bytes."""
        columns = []
        for name in names or self.schema:
            if name in self.words:
                texts = self.texts(name)
                columns.append(gathered(texts.words.cast(pl.Categorical), texts.codes).alias(name))
            else:
                values = self.column(name)
                columns.append(values.cast(pl.Categorical) if values.dtype == pl.String else values)
        return pl.DataFrame(columns)

    def gather(self, rows: pl.Series, *names: str) -> pl.DataFrame:
        """Return some rows of columns (default all) as readers see them; a null gives a row of nulls."""
        return self._gathered(rows, names).frame()

    def gather_compact(self, rows: pl.Series, *names: str) -> pl.DataFrame:
        """Return what `gather` does, but texts as categories."""
        return self._gathered(rows, names).compact()

    def _gathered(self, rows: pl.Series, names: Sequence[str]) -> Stored:
        first, last = rows.min(), rows.max()
        if not isinstance(first, int) or not isinstance(last, int):
            first, last = 0, -1
        # Rows that stand close together are read as one stretch.
        part = self._slice(first, last - first + 1, names or self.schema)
        if last - first + 1 == rows.len() and (rows.diff().fill_null(1) == 1).all() and not rows.null_count():
            return part
        place = rows.cast(pl.Int64) - first
        return evolve(part, numbers=pl.DataFrame([gathered(column, place) for column in part.numbers]))

    def ordered(self, *by: str, descending: tuple[bool, ...] = ()) -> Stored:
        """Return the rows in the order of columns; those that are equal there stay in the order they have."""
        keys = self._kept(by)
        if not any(descending) and _in_order(keys):
            return self
        order = keys.select(pl.arg_sort_by(*by, descending=list(descending) or False, maintain_order=True)).to_series()
        del keys
        if order.is_sorted():
            return self
        numbers = KeptColumns(self.height)
        for name in self._numbers.schema:
            numbers.add(gathered(self._kept_column(name), order))
        return evolve(self, numbers=numbers.kept())

    def order(self, *by: str) -> pl.Series | None:
        """Return the rows in the order of columns, as `ordered`; None where they stand so already."""
        first = self._kept(by[:1]).to_series()
        if first.is_sorted() and (len(by) == 1 or not (first.diff() == 0).any()):
            return None
        return self._kept(by).select(pl.arg_sort_by(*by, maintain_order=True)).to_series()

    def gather_of(self, order: pl.Series | None, offset: int, count: int) -> pl.DataFrame:
        """Return *count* rows from *offset* on in an order that `order` gave."""
        return self.slice(offset, count) if order is None else self.gather(order.slice(offset, count))

    def reworded(self, changes: Mapping[str, Callable[[pl.Series], pl.Series]]) -> Stored:
        """Return the table with the words of text columns changed, each distinct one once."""
        words = {name: (codes, changes[name](known)) for name, (codes, known) in self.words.items() if name in changes}
        return evolve(self, words={**self.words, **words})

    def with_columns(self, columns: Mapping[str, pl.Series]) -> Stored:
        """Return the table with further columns at the right."""
        return self.with_made({name: functools.partial(columns.__getitem__, name) for name in columns})

    def with_made(self, makers: Mapping[str, Callable[[], pl.Series]]) -> Stored:
        """Return the table with further columns at the right, which are made one after the other."""
        schema, numbers = dict(self.schema), KeptColumns(self.height)
        for name in self._numbers.schema:
            if name not in makers:
                numbers.add(self._kept([name])[name])
        for name, make in makers.items():
            values = make()
            schema[name] = values.dtype
            numbers.add(narrow(values).alias(name))
        return evolve(self, schema=pl.Schema(schema), numbers=numbers.kept())

    def without(self, *names: str) -> Stored:
        """Return the table without some columns of numbers."""
        schema = pl.Schema({name: dtype for name, dtype in self.schema.items() if name not in names})
        numbers = KeptColumns(self.height)
        for name in self._numbers.schema:
            if name not in names:
                numbers.add(self._kept([name])[name])
        return evolve(self, schema=schema, numbers=numbers.kept())


class Filled:
    """An array that is filled part by part; it is never there twice."""

    def __init__(self, kind: str, count: int = 1 << 16) -> None:
        self._room, self._count = np.empty(count, kind), 0

    def append(self, values: Array) -> None:
        """Add values at the end."""
        needed = self._count + len(values)
        if needed > len(self._room):
            # Memory that nobody has written to yet costs nothing, and arrays of this size grow where they are.
            self._room.resize(max(needed, len(self._room) * 2), refcheck=False)
        self._room[self._count : needed] = values
        self._count = needed

    def values(self) -> Array:
        """Return what was added; nothing can be added afterwards."""
        self._room.resize(self._count, refcheck=False)
        return self._room


def stored(table: Stored | pl.DataFrame) -> Stored:
    """Return a table that is kept as it was given."""
    return table if isinstance(table, Stored) else Stored(schema=table.schema, numbers=table)


def with_codes(table: Stored | pl.DataFrame) -> Stored:
    """Return a table with texts as codes, as tables of records are kept."""
    kept = stored(table)
    if all(name in kept.words for name, dtype in kept.schema.items() if dtype == pl.String):
        return kept
    parts = Gathered(kept.schema)
    for part in kept.slices():
        parts.append(part)
    return parts.table()


def filed(table: Stored | pl.DataFrame) -> Stored:
    """Return a table that lies in a file if it is long."""
    return stored(table).filed()


def _in_order(keys: pl.DataFrame) -> bool:
    """Return whether rows stand in the order of numbers, the first column first; sorting takes ten times the room."""
    equal = np.ones(max(keys.height - 1, 0), bool)
    for column in keys:
        if column.null_count():
            return False
        values = column.to_numpy()
        if bool((equal & (values[1:] < values[:-1])).any()):
            return False
        equal &= values[1:] == values[:-1]
    return True


def _height(value: object) -> int:
    """Return the number of rows of a column, -1 for one value that all rows share."""
    if isinstance(value, Texts):
        return value.codes.len()
    return len(value) if isinstance(value, pl.Series | np.ndarray) and np.ndim(value) else -1


class Gathered:
    """A table that is made part by part and kept from the first part on."""

    def __init__(self, schema: pl.Schema) -> None:
        self._schema = schema
        self._parts = Spool()
        self._words: dict[str, dict[str, int]] = {name: {} for name, dtype in schema.items() if dtype == pl.String}

    def append(self, part: pl.DataFrame) -> None:
        """Add rows; *part* has the columns of the schema."""
        columns = []
        for name in self._schema:
            values = part[name]
            kept = self._coded(values, self._words[name]) if name in self._words else values
            columns.append(narrow(kept).alias(name))
        self._parts.append(pl.DataFrame(columns))

    def table(self) -> Stored:
        """Return all rows, and hold them no more."""
        numbers = KeptColumns(self._parts.height)
        for name, dtype in self._schema.items():
            numbers.add(narrow(self._parts.column(name, pl.Int64() if name in self._words else dtype)))
        self._parts = Spool()
        words = {name: (name, pl.Series(list(known), dtype=pl.String)) for name, known in self._words.items()}
        return Stored(schema=self._schema, numbers=numbers.kept(), words=words)

    @staticmethod
    def _coded(values: pl.Series, known: dict[str, int]) -> pl.Series:
        if len(values) <= _FEW_ROWS:
            codes = [None if word is None else known.setdefault(word, len(known)) for word in values.to_list()]
            return pl.Series(codes, dtype=pl.Int64)
        # As a category a text is looked up once in a row; the words of these rows get the numbers of the table.
        category = values.cast(pl.Categorical)
        distinct = category.unique()
        distinct = distinct.drop_nulls() if distinct.null_count() else distinct
        physical = distinct.to_physical().to_numpy()
        number = np.zeros(int(physical.max(initial=0)) + 1, np.int64)
        number[physical] = [known.setdefault(word, len(known)) for word in distinct.cast(pl.String).to_list()]
        return gathered(pl.Series(number), category.to_physical())
