"""
How long tables are kept: texts as numbers of distinct words, whole numbers in the fewest bytes that hold them.

A text column takes 16 bytes in every row and a whole number 8, while a profile has few distinct texts and mostly small
numbers. What readers get, :meth:`Stored.frame`, has the dtypes of the schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl
from attrs import evolve, field, frozen

_WIDTHS = (
    *((kind, 0, 2**bits - 1) for kind, bits in ((pl.UInt8, 8), (pl.UInt16, 16), (pl.UInt32, 32))),
    *((kind, -(2**bits), 2**bits - 1) for kind, bits in ((pl.Int8, 7), (pl.Int16, 15), (pl.Int32, 31))),
)
"""What an Int64 column may be kept as, the first that holds its values: dtype, least and most."""


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
    found: pl.Series = values[rows]
    return found


def coded(values: npt.ArrayLike, resolve: Callable[[int], str]) -> Texts:
    """Return the texts of whole numbers; *resolve* is asked once per distinct value."""
    array = np.asarray(values)
    # Finding the few distinct values first is far faster than sorting all of them, as numpy.unique does.
    distinct = np.sort(pl.Series(np.ascontiguousarray(array)).unique().to_numpy())
    words = pl.Series([resolve(int(value)) for value in distinct], dtype=pl.String)
    return Texts(pl.Series(np.searchsorted(distinct, array).astype(np.min_scalar_type(len(distinct)))), words)


def narrow(values: pl.Series) -> pl.Series:
    """Return an Int64 column in the fewest bytes that hold it, any other as it is."""
    if values.dtype != pl.Int64:
        return values
    low, high = values.min(), values.max()
    if not isinstance(low, int) or not isinstance(high, int):
        kept: pl.DataType | type[pl.DataType] = pl.UInt8  # nulls only
    else:
        kept = next((kind for kind, least, most in _WIDTHS if least <= low and high <= most), pl.Int64)
    narrowed: pl.Series = values.cast(kept)
    return narrowed


@frozen(eq=False, kw_only=True)
class Stored:
    """
    A table as it is kept.

    ``schema`` are the columns that readers see. ``numbers`` holds them under their names, and the codes of texts
    (columns may share them); ``words`` says of each text column which column has its codes, and what they mean.
    """

    schema: pl.Schema
    numbers: pl.DataFrame = field(repr=False)
    words: Mapping[str, tuple[str, pl.Series]] = field(factory=dict, repr=False)

    @classmethod
    def from_columns(cls, schema: pl.Schema, columns: Mapping[str, object]) -> Stored:
        """
        Return a table of exactly *schema*; every column is given as array, series, ``Texts``, or one value for all.

        Text columns that are given with one series of codes keep it once.
        """
        numbers: dict[str, pl.Series] = {}
        words: dict[str, tuple[str, pl.Series]] = {}
        shared: dict[int, str] = {}
        height = next((_height(value) for value in columns.values() if _height(value) >= 0), 0)
        for name, dtype in schema.items():
            value = columns[name]
            if isinstance(value, str):
                value = Texts(pl.Series(np.zeros(height, np.uint8)), pl.Series([value], dtype=pl.String))
            if isinstance(value, Texts):
                place = shared.setdefault(id(value.codes), name)
                words[name] = place, value.words
                numbers[place] = value.codes.alias(place)
            elif _height(value) < 0:
                numbers[name] = narrow(pl.Series([value], dtype=dtype)).new_from_index(0, height).alias(name)
            else:
                given = value if isinstance(value, pl.Series) else pl.Series(np.ascontiguousarray(np.asarray(value)))
                numbers[name] = narrow(given.cast(dtype)).alias(name)
        return cls(schema=schema, numbers=pl.DataFrame(list(numbers.values())), words=words)

    @property
    def height(self) -> int:
        """Number of rows."""
        return self.numbers.height

    def column(self, name: str) -> pl.Series:
        """Return one column with the dtype of the schema."""
        if name in self.words:
            return self.texts(name).series().alias(name)
        values: pl.Series = self.numbers[name].cast(self.schema[name])
        return values

    def texts(self, name: str) -> Texts:
        """Return a text column as it is kept."""
        codes, words = self.words[name]
        return Texts(self.numbers[codes], words)

    def frame(self) -> pl.DataFrame:
        """Return the table as readers see it."""
        return pl.DataFrame([self.column(name) for name in self.schema])

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

    def gather(self, rows: pl.Series) -> pl.DataFrame:
        """Return some rows as readers see them; a null gives a row of nulls."""
        return evolve(self, numbers=pl.DataFrame([gathered(column, rows) for column in self.numbers])).frame()

    def ordered(self, *by: str, descending: tuple[bool, ...] = ()) -> Stored:
        """Return the rows in the order of columns; those that are equal there stay in the order they have."""
        keys = self.numbers.select(by)
        if not any(descending) and len(by) == 1 and keys.to_series().is_sorted():
            return self
        order = keys.select(pl.arg_sort_by(*by, descending=list(descending) or False, maintain_order=True)).to_series()
        return evolve(self, numbers=pl.DataFrame([gathered(column, order) for column in self.numbers]))

    def with_columns(self, columns: Mapping[str, pl.Series]) -> Stored:
        """Return the table with further columns at the right."""
        schema = pl.Schema({**self.schema, **{name: values.dtype for name, values in columns.items()}})
        added = [narrow(values).alias(name) for name, values in columns.items()]
        return evolve(self, schema=schema, numbers=self.numbers.with_columns(added))

    def without(self, *names: str) -> Stored:
        """Return the table without some columns of numbers."""
        schema = pl.Schema({name: dtype for name, dtype in self.schema.items() if name not in names})
        return evolve(self, schema=schema, numbers=self.numbers.drop(names))


def stored(table: Stored | pl.DataFrame) -> Stored:
    """Return a table that is kept as it was given."""
    return table if isinstance(table, Stored) else Stored(schema=table.schema, numbers=table)


def _height(value: object) -> int:
    """Return the number of rows of a column, -1 for one value that is that of all rows."""
    if isinstance(value, Texts):
        return value.codes.len()
    return len(value) if isinstance(value, pl.Series | np.ndarray) and np.ndim(value) else -1


class Gathered:
    """A table that is made part by part and kept from the first part on."""

    def __init__(self, schema: pl.Schema) -> None:
        self._schema = schema
        self._parts: dict[str, list[pl.Series]] = {name: [] for name in schema}
        self._words: dict[str, dict[str, int]] = {name: {} for name, dtype in schema.items() if dtype == pl.String}

    def append(self, part: pl.DataFrame) -> None:
        """Add rows; *part* has the columns of the schema."""
        for name, parts in self._parts.items():
            values = part[name]
            parts.append(narrow(self._coded(values, self._words[name]) if name in self._words else values))

    def table(self) -> Stored:
        """Return all rows, and hold them no more."""
        numbers = []
        for name, parts in self._parts.items():
            kind = pl.Int64 if name in self._words else self._schema[name]
            whole = [values.cast(kind) for values in parts]
            parts.clear()
            numbers.append(narrow(pl.concat(whole) if whole else pl.Series(dtype=kind)).alias(name))
        words = {name: (name, pl.Series(list(known), dtype=pl.String)) for name, known in self._words.items()}
        return Stored(schema=self._schema, numbers=pl.DataFrame(numbers), words=words)

    @staticmethod
    def _coded(values: pl.Series, known: dict[str, int]) -> pl.Series:
        # As a category a text is looked up once in a row; the words of these rows get the numbers of the table.
        category = values.cast(pl.Categorical)
        distinct = category.unique()
        distinct = distinct.drop_nulls() if distinct.null_count() else distinct
        physical = distinct.to_physical().to_numpy()
        number = np.zeros(int(physical.max(initial=0)) + 1, np.int64)
        number[physical] = [known.setdefault(word, len(known)) for word in distinct.cast(pl.String).to_list()]
        return gathered(pl.Series(number), category.to_physical())
