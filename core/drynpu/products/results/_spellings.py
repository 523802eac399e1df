"""``spellings.yaml``: how result files name what they hold, and text cells as values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from attrs import frozen

from drynpu._packaged import packaged_yaml

_NO_VALUE = ("N/A", "NA", "")
_UNITS = {"KB": 1024, "MB": 1024**2}
_UNIT = re.compile(r"\((\w+)\)$")


@frozen
class Column:
    """One column: drynpu's name for it, the kind of its values, and its spellings, the newest first."""

    name: str
    kind: str
    spellings: tuple[str, ...]


def spellings() -> Mapping[str, Any]:
    """Return ``spellings.yaml``."""
    return packaged_yaml("drynpu.products.results", "spellings.yaml")


def needed_columns(kind: str) -> tuple[str, ...]:
    """Return the columns without which a csv file is not read as one of a kind."""
    return tuple(spellings()["csv"][kind]["needed"])


def csv_columns(kind: str) -> tuple[Column, ...]:
    """Return the columns of a kind of csv file."""
    return _columns(spellings()["csv"][kind]["columns"])


def database_columns(table: str) -> tuple[Column, ...]:
    """Return the columns of a table of the databases."""
    return _columns(spellings()["databases_columns"][table])


def argument_columns() -> tuple[Column, ...]:
    """Return the arguments of the events of a timeline."""
    return _columns(spellings()["arguments"])


def _columns(entries: Mapping[str, Sequence[str]]) -> tuple[Column, ...]:
    return tuple(Column(name, kind, tuple(names)) for name, (kind, *names) in entries.items())


def present(columns: Iterable[Column], titles: Iterable[str]) -> dict[str, tuple[Column, str]]:
    """Return of each column that is among *titles*, by its name, the column and the newest spelling that is there."""
    known = set(titles)
    by_name = {}
    for column in columns:
        spelling = next((spelling for spelling in column.spellings if spelling in known), None)
        if spelling is not None:
            by_name[column.name] = column, spelling
    return by_name


def value(cell: pl.Expr, kind: str, title: str) -> pl.Expr:
    """
    Return text cells as values of a kind of ``spellings.yaml``: null for ``N/A``, empty and unreadable cells.

    Texts are ``""`` there. Cells of times and ids may end in a tab, which keeps spreadsheets from rounding them.
    """
    cell = cell.str.strip_chars()
    if kind == "text":
        return cell.replace(list(_NO_VALUE), "").fill_null("")
    if kind == "us":
        return us_to_ns(cell)
    if kind == "size":
        unit = _UNIT.search(title)
        factor = _UNITS[unit.group(1)] if unit else 1
        return (cell.cast(pl.Float64, strict=False) * factor).round(0).cast(pl.Int64, strict=False)
    if kind == "float":
        return cell.cast(pl.Float64, strict=False)
    if kind == "device":
        cell = cell.str.strip_prefix("NPU:")
    return pl.coalesce(
        cell.cast(pl.Int64, strict=False), cell.cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    )


def us_to_ns(cell: pl.Expr) -> pl.Expr:
    """
    Return microseconds as text in whole nanoseconds, Int64; digits below a nanosecond are rounded.

    Unix times in microseconds have more digits than a float holds, so the part before the point is read by itself.
    """
    parts = cell.str.extract_groups(r"^(-?)(\d+)(?:\.(\d*))?$")
    whole = parts.struct.field("2").cast(pl.Int64, strict=False) * 1000
    fraction = pl.concat_str([pl.lit("0."), parts.struct.field("3").fill_null(""), pl.lit("0")]).cast(pl.Float64)
    size = whole + (fraction * 1000).round(0).cast(pl.Int64, strict=False)
    plain = pl.when(parts.struct.field("1") == "-").then(-size).otherwise(size)
    # Small floats may be written with an exponent: 2e-05.
    other = (cell.cast(pl.Float64, strict=False) * 1000).round(0).cast(pl.Int64, strict=False)
    return pl.coalesce(plain, other)


def typed(frame: pl.DataFrame, schema: pl.Schema, **expressions: pl.Expr) -> pl.DataFrame:
    """
    Return *frame* with exactly the columns of *schema*.

    A column that it lacks is taken from *expressions*, else null; texts are never null.
    """
    columns = []
    for name, dtype in schema.items():
        source = (
            expressions[name] if name in expressions else pl.col(name) if name in frame.columns else pl.lit(None, dtype)
        )
        column = source.cast(dtype, strict=False).alias(name)
        columns.append(column.fill_null("") if dtype == pl.String else column)
    return frame.select(columns)
