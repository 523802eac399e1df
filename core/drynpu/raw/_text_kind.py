"""What a text kind is: a file of lines or of snapshots, read and written as columns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence

import polars as pl
from attrs import field, frozen

from drynpu._errors import RawFormatError

_LARGEST = 2**63 - 1
_PID = "{pid}"


Row = tuple[object, ...]


@frozen
class Parsed:
    """Rows found in lines, and how many lines were neither rows nor part of the format."""

    rows: list[Row]
    left_out: int


Chunks = Callable[[pl.DataFrame], Iterator[str]]
Parse = Callable[[Sequence[str]], Parsed]


@frozen(kw_only=True)
class TextKind:
    """
    One kind of text file (cann_msprof.md 7.1).

    ``stem`` is the file name before the device id and the slice number, with ``{pid}`` where a process id stands.
    ``chunks`` turns rows into pieces of whole lines, none of which is cut in two between slices; ``parse`` turns lines
    without their ends into rows and passes over ``header``, which every slice begins with. ``footer`` is what every
    slice ends with.
    """

    name: str
    side: str
    """``host`` or ``device``."""
    stem: str
    schema: pl.Schema = field(eq=False)
    chunks: Chunks = field(eq=False)
    parse: Parse = field(eq=False)
    optional: frozenset[str] = frozenset()
    """Columns that may be null."""
    header: str = ""
    footer: Callable[[pl.DataFrame], str] | None = field(default=None, eq=False)

    @property
    def per_process(self) -> bool:
        """Whether there is a file for each process."""
        return _PID in self.stem

    def process_stem(self, pid: int | None) -> str:
        """
        Return the stem, for a process if the kind has a file for each.

        Raises
        ------
        RawFormatError
            If a process id is missing or out of place.
        """
        if self.per_process and pid is None:
            message = f"{self.name} has a file for each process: say which by pid."
            raise RawFormatError(message)
        if not self.per_process and pid is not None:
            message = f"{self.name} has no file for each process: pid {pid} is out of place."
            raise RawFormatError(message)
        return self.stem.replace(_PID, str(pid))

    def find_process(self, file_name: str) -> int | None:
        """Return the process whose slice a file is; ``None`` for any other file."""
        before, _, after = self.stem.partition(_PID)
        match = re.fullmatch(rf"{before}([0-9]{{1,10}}){re.escape(after)}(?:\.[0-9]+)?\.slice_[0-9]+", file_name)
        return int(match[1]) if match else None


def check_rows(entry: TextKind, rows: pl.DataFrame) -> pl.DataFrame:
    """
    Return the rows with the types of the kind.

    Raises
    ------
    RawFormatError
        If columns are missing or others are there, or a value is no number that the file can hold.
    """
    if rows.columns != entry.schema.names():
        message = f"Rows of {entry.name} have the columns {entry.schema.names()}, not {rows.columns}."
        raise RawFormatError(message)
    try:
        typed = rows.cast(entry.schema)
    except pl.exceptions.PolarsError as error:
        message = f"Rows of {entry.name} do not fit their columns: {error}."
        raise RawFormatError(message) from error
    for name, kind in entry.schema.items():
        if name not in entry.optional and typed[name].null_count():
            message = f"A row of {entry.name} misses values in {name}."
            raise RawFormatError(message)
        if kind.is_numeric():
            values = typed[name].drop_nulls()
            if (kind == pl.Float64 and not values.is_finite().all()) or (values < 0).any():
                message = f"Column {name} of {entry.name} holds negative numbers or none: it counts from 0."
                raise RawFormatError(message)
    return typed


def whole(text: str) -> int | None:
    """Read a counter; ``None`` if the text is none, or one that no column can hold."""
    if not re.fullmatch(r"[0-9]{1,19}", text):
        return None
    value = int(text)
    return value if value <= _LARGEST else None


def number(text: str) -> float | None:
    """Read a decimal number that is not negative; ``None`` if the text is none."""
    return float(text) if re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?", text) else None


def shortest(value: float) -> str:
    """Write a number without a fraction that says nothing."""
    return str(int(value)) if math.floor(value) == value else f"{value:.6f}".rstrip("0")


def word(text: str) -> str:
    """Give a name as one word: readers split lines at blanks."""
    return re.sub(r"\s+", "_", text.strip()) or "_"


def one_line(text: str) -> str:
    """Give a name as the rest of a line."""
    return " ".join(text.split())
