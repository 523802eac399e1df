"""Values, tables and files as lines of text, the same on every machine; a difference is then one of lines."""

from __future__ import annotations

import enum
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import attrs
import numpy as np
import polars as pl
from cost_columns import time_columns, work_columns

from drynpu.analysis import Links
from drynpu.kernels import CostTable
from drynpu.platforms import Chip

_TIME_OF_EXPORT = re.compile(r"_\d{14}(?=[._])")
"""Stands in names of files that the toolkit writes: local time of the export."""
_CHANCE = re.compile(r"(?<=PROF_\d{6}_\d{17}_)\w+")
"""The end of the name of a PROF directory."""
_DIGITS, _DECIMALS = 10, 6
"""Of floating-point numbers: polars adds up in an order that depends on the number of processors."""


def describe(value: object, name: str = "") -> Iterator[str]:
    """Yield a value as lines, each part under its name."""
    if isinstance(value, Chip):
        yield f"{name} = {value.name}"  # what a chip is stands in its YAML file
    elif isinstance(value, pl.DataFrame):
        yield from frame_lines(value, name)
    elif isinstance(value, pl.Series):
        yield from frame_lines(value.to_frame(value.name or "value"), name)
    elif isinstance(value, np.ndarray):
        yield from array_lines(value, name)
    elif isinstance(value, Links):
        # Kept in tables that lie in files; this is what they tell.
        for part in ("kernel_op", "op_starts", "op_ends"):
            yield from describe(getattr(value, part), f"{name}.{part}")
    elif isinstance(value, CostTable):
        columns = time_columns(value) | {"aiv_blocks": value.aiv_blocks, "mac_int8": value.mac_int8}
        parts = {"chip": value.chip, **columns, "kernel": value.kernel, "work": work_columns(value)}
        for part, column in parts.items():
            yield from describe(column, f"{name}.{part}")
    elif attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            if not field.name.startswith("_"):
                yield from describe(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, Mapping):
        for key in value:
            yield from describe(value[key], f"{name}[{key!r}]")
    elif isinstance(value, (list, tuple)) and any(map(_is_composed, value)):
        for number, part in enumerate(value):
            yield from describe(part, f"{name}[{number}]")
    elif not callable(value) or isinstance(value, enum.Enum):
        yield f"{name} = {scalar(value)}"


def _is_composed(value: object) -> bool:
    return isinstance(value, (pl.DataFrame, np.ndarray, Mapping, list, tuple)) or attrs.has(type(value))


def scalar(value: object) -> str:
    """Return a value in one line; floating-point numbers as far as every machine computes the same."""
    if isinstance(value, (float, np.floating)):
        return f"{round(float(value), _DECIMALS):.{_DIGITS}g}"
    if isinstance(value, Path):
        return _CHANCE.sub("", value.name)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {scalar(part)}" for key, part in value.items()) + "}"
    if isinstance(value, (list, tuple, pl.Series)):
        return "[" + ", ".join(map(scalar, value)) + "]"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(scalar, value))) + "}"
    if isinstance(value, enum.Enum):
        return _CHANCE.sub("", value.name)
    return repr(value.item() if isinstance(value, np.generic) else value)


def frame_lines(frame: pl.DataFrame, name: str) -> Iterator[str]:
    """Yield a table as lines: its name, its columns with their types, its rows."""
    yield f"## {name}: {frame.height} rows"
    if frame.height:
        yield "\t".join(f"{column}:{dtype}" for column, dtype in frame.schema.items())
        yield from ("\t".join(map(scalar, row)) for row in frame.iter_rows())


def array_lines(array: np.ndarray, name: str) -> Iterator[str]:
    """Yield an array as lines, a line for each row; one of a single dimension in lines of 32 numbers."""
    yield f"## {name}: {array.shape} {array.dtype if array.dtype.names is None else array.dtype.names}"
    if array.ndim == 1 and array.dtype.names is None:
        numbers = [scalar(number) for number in array.tolist()]
        yield from (" ".join(numbers[first : first + 32]) for first in range(0, len(numbers), 32))
    else:
        yield from (scalar(row) for row in array.tolist())


def file_lines(folder: Path) -> Iterator[str]:
    """Yield all files below a folder in the order of their names: text as it stands, databases row by row."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        yield f"# {_TIME_OF_EXPORT.sub('', str(path.relative_to(folder)))}"
        if path.suffix == ".db":
            yield from _database_lines(path)
        else:
            text = path.read_text(encoding="utf-8")
            yield from (text.replace("},", "},\n") if path.suffix == ".json" else text).splitlines()


def _database_lines(path: Path) -> Iterator[str]:
    with closing(sqlite3.connect(path)) as database:
        tables = database.execute("select name, sql from sqlite_master order by name").fetchall()
        for table, definition in tables:
            yield f"## {table}: {' '.join((definition or '').split())}"
            if (definition or "").upper().startswith("CREATE TABLE"):
                rows = database.execute(f"select * from {json.dumps(table)}")
                yield from ("\t".join(map(scalar, row)) for row in rows)
