"""Columns of a long table in a file without a name: only the rows that somebody reads are in memory."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping

import numpy as np
import polars as pl
from attrs import frozen

from drynpu.arrays import Array

_KINDS: Mapping[type[pl.DataType], str] = {
    pl.Int8: "i1",
    pl.Int16: "i2",
    pl.Int32: "i4",
    pl.Int64: "i8",
    pl.UInt8: "u1",
    pl.UInt16: "u2",
    pl.UInt32: "u4",
    pl.UInt64: "u8",
    pl.Float32: "f4",
    pl.Float64: "f8",
    pl.Boolean: "?",
}
"""Dtypes that have one size in every row, as numpy calls them."""


FILED_ROWS = 262_144
"""Tables of more rows lie in a file; below, files would cost more than they save."""


class UnnamedFile:
    """A file for temporary data that the system removes as soon as nobody has it any more, also when it is killed."""

    def __init__(self) -> None:
        self._end = 0
        with tempfile.TemporaryFile(prefix="drynpu-", buffering=0) as file:
            self._number = os.dup(file.fileno())

    def __del__(self) -> None:
        """Let the file go."""
        with contextlib.suppress(OSError, AttributeError):
            os.close(self._number)

    def append(self, values: Array) -> int:
        """Write an array at the end and return where it begins; nothing of it counts if that fails (``OSError``)."""
        view, at = np.ascontiguousarray(values).view(np.uint8).data, self._end
        written = 0
        while written < len(view):
            written += os.pwrite(self._number, view[written:], at + written)
        self._end = at + written
        return at

    def read(self, room: Array, at: int) -> None:
        """Fill an array with the bytes that begin at *at*."""
        view, filled = room.view(np.uint8).data, 0
        while filled < len(view):
            got = os.preadv(self._number, [view[filled:]], at + filled)
            if not got:
                raise OSError("a temporary file of drynpu was cut")
            filled += got


@frozen
class _Place:
    dtype: pl.DataType
    kind: np.dtype[np.generic]
    at: int
    known_at: int
    """Where one byte for each row tells whether it has a value, -1 where all have."""


@frozen(eq=False)
class ColumnFile:
    """
    The columns of a frame in a file that has no name, so that the system removes it when nobody needs it any more.

    One column stands after the other; `read` gives some rows of it. A process that is forked reads the same file.
    """

    file: UnnamedFile
    height: int
    places: Mapping[str, _Place]

    @property
    def schema(self) -> pl.Schema:
        """Names and dtypes of the columns."""
        return pl.Schema({name: place.dtype for name, place in self.places.items()})

    def read(self, name: str, offset: int = 0, count: int | None = None) -> pl.Series:
        """Return *count* rows of a column from *offset* on, or those that are left."""
        place = self.places[name]
        rows = max(min(self.height - offset, self.height if count is None else count), 0)
        values = pl.Series(name, self._rows(place.at, place.kind, offset, rows))
        if place.known_at < 0:
            return values
        known = pl.Series(self._rows(place.known_at, np.dtype("?"), offset, rows))
        shown: pl.Series = pl.select(pl.when(known).then(values)).to_series().alias(name)
        return shown

    def _rows(self, at: int, kind: np.dtype[np.generic], offset: int, rows: int) -> Array:
        values = np.empty(rows, kind)
        self.file.read(values, at + offset * kind.itemsize)
        return values


class KeptColumns:
    """
    Columns of *height* rows that come one by one: of a long table they go to a file, of a short one they stay.

    Columns without a fixed size stay too, and all where the folder for temporary files has no room.
    """

    def __init__(self, height: int) -> None:
        self._height = height
        self._columns: list[pl.Series] = []
        self._places: dict[str, _Place] = {}
        self._file = _new_file() if height > FILED_ROWS else None

    def add(self, column: pl.Series) -> None:
        """Add a column."""
        if self._file is None:
            self._columns.append(column)
            return
        place = _file_column(self._file, column)
        if place is None:
            filed = ColumnFile(self._file, self._height, self._places)
            self._columns = [*(filed.read(name) for name in self._places), column]
            self._file = None
        else:
            self._places[column.name] = place

    def kept(self) -> pl.DataFrame | ColumnFile:
        """Return the columns."""
        if self._file is None:
            return pl.DataFrame(self._columns)
        return ColumnFile(self._file, self._height, self._places)


class Spool:
    """Frames that come one after the other, of whatever columns: beyond some rows they lie in a file."""

    def __init__(self) -> None:
        self._parts: list[pl.DataFrame | ColumnFile] = []
        self._file: UnnamedFile | None = None
        self.height = 0

    def append(self, frame: pl.DataFrame) -> None:
        """Add rows."""
        self._parts.append(frame)
        self.height += frame.height
        if self.height > FILED_ROWS:
            self._file = self._file or _new_file()
            self._parts = [self._filed(part) for part in self._parts]

    def column(self, name: str, dtype: pl.DataType) -> pl.Series:
        """Return a column of all rows; null in frames that lack it."""
        parts = []
        for part in self._parts:
            if name not in part.schema:
                parts.append(pl.Series([None], dtype=dtype).new_from_index(0, part.height))
            else:
                parts.append((part.read(name) if isinstance(part, ColumnFile) else part[name]).cast(dtype))
        whole: pl.Series = (pl.concat(parts) if parts else pl.Series(dtype=dtype)).alias(name)
        return whole

    def _filed(self, part: pl.DataFrame | ColumnFile) -> pl.DataFrame | ColumnFile:
        if isinstance(part, ColumnFile) or self._file is None:
            return part
        places = {column.name: _file_column(self._file, column) for column in part}
        known = {name: place for name, place in places.items() if place is not None}
        return ColumnFile(self._file, part.height, known) if len(known) == len(places) else part


def _new_file() -> UnnamedFile | None:
    with contextlib.suppress(OSError):
        return UnnamedFile()
    return None


def _file_column(file: UnnamedFile, column: pl.Series) -> _Place | None:
    """Write a column at the end of a file; None if it has no fixed size, or there is no room."""
    if column.dtype.base_type() not in _KINDS:
        return None
    kind, has_nulls = np.dtype(_KINDS[column.dtype.base_type()]), column.null_count() > 0
    values = column.fill_null(False if column.dtype == pl.Boolean else 0) if has_nulls else column
    try:
        at = file.append(values.to_numpy().astype(kind, copy=False))
        if has_nulls:
            file.append(column.is_not_null().to_numpy())
    except OSError:
        return None
    return _Place(column.dtype, kind, at, at + len(column) * kind.itemsize if has_nulls else -1)


class RowFile:
    """Rows of one layout that come in parts: beyond some megabytes they lie in a file."""

    def __init__(self, kind: np.dtype[np.void]) -> None:
        self.kind = kind
        self._parts: list[Array] = []
        self._count, self._filed = 0, 0
        self._file: UnnamedFile | None = None

    def append(self, rows: Array) -> None:
        """Add rows."""
        self._parts.append(rows)
        self._count += len(rows)
        if self._count - self._filed > FILED_ROWS:
            self._spill()

    def gather(self, rows: Array) -> Array:
        """Return rows by their numbers; those that stand close together are read as one stretch."""
        if not len(rows):
            return np.zeros(0, self.kind)
        low, high = int(rows.min()), int(rows.max()) + 1
        records: Array = self._between(low, high)[rows - low]
        return records

    def _between(self, low: int, high: int) -> Array:
        records, at = np.empty(high - low, self.kind), low
        if self._file is not None and low < self._filed:
            stop = min(high, self._filed)
            self._file.read(records[: stop - low], low * self.kind.itemsize)
            at = stop
        begin = self._filed
        for part in self._parts:
            stop = begin + len(part)
            if at < stop and high > begin:
                last = min(high, stop)
                records[at - low : last - low] = part[at - begin : last - begin]
                at = last
            begin = stop
        return records

    def _spill(self) -> None:
        try:
            self._file = self._file or UnnamedFile()
            whole = np.concatenate(self._parts)
            self._file.append(whole)
        except OSError:
            # No room: they stay in memory, and the next part tries again.
            return
        self._parts, self._filed = [], self._count
