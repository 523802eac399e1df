"""Tables as JSON instead of CSV: ``--summary-format=json`` (cann_msprof.md 4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from drynpu.writers.files import REPEATED
from drynpu.writers.number_text import UNKNOWN
from drynpu.writers.trace_json import SPACED, Events, Value, write_trace

DEVICE_ID = "Device_id"
_NUMBER = r"^-?(0|[1-9]\d*)(\.\d+)?$"


def by_device(tables: Mapping[str, pl.DataFrame]) -> Iterator[dict[str, pl.DataFrame]]:
    """
    Yield the tables of each device (and of the host) without the column that names it.

    The toolkit has one JSON file per table and device (Ascend/msprof msprof_output_summary.py). Tables without rows
    are left out.
    """
    filled = {stem: table for stem, table in tables.items() if table.height}
    names = dict.fromkeys(name for table in filled.values() for name in table[DEVICE_ID].unique(maintain_order=True))
    for name in names:
        parts = {stem: table.filter(pl.col(DEVICE_ID) == name).drop(DEVICE_ID) for stem, table in filled.items()}
        yield {stem: part for stem, part in parts.items() if part.height}


def write_json_table(path: Path, table: pl.DataFrame) -> Path:
    """
    Write a table of String columns as a JSON array with one object per row.

    Cells of a column that holds numbers only, ``N/A`` aside, are numbers. Columns of one name get `` 2``, `` 3``, ...
    from the second on, since an object has each name once. Raises ``OutputError``.
    """
    rows = table.fill_null("")
    numbers = [name for name in rows.columns if _holds_numbers(rows[name])]
    texts = tuple(name for name in rows.columns if name not in numbers)
    rows = rows.with_columns(pl.col(numbers).replace(UNKNOWN, f'"{UNKNOWN}"'))
    members: dict[str, Value] = {
        title: pl.col(name) for title, name in zip(_titles(rows.columns), rows.columns, strict=True)
    }
    write_trace(path, [Events(rows, members, texts)], SPACED)
    return path


def _titles(columns: list[str]) -> list[str]:
    seen: dict[str, int] = {}
    titles = []
    for column in columns:
        title = column.split(REPEATED)[0]
        seen[title] = seen.get(title, 0) + 1
        titles.append(title if seen[title] == 1 else f"{title} {seen[title]}")
    return titles


def _holds_numbers(cells: pl.Series) -> bool:
    """Return whether a column holds numbers; names stay texts, whatever they look like."""
    known = cells.filter(cells != UNKNOWN)
    return "Name" not in cells.name and bool(known.len()) and bool(known.str.contains(_NUMBER).all())
