"""Result tables in csv files: text cells to typed columns under drynpu's names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from drynpu.products.results._spellings import csv_columns, needed_columns, present, value


def read_csv(kind: str, files: Sequence[Path], notes: list[str]) -> pl.DataFrame:
    """
    Return the rows of files of one kind: the columns of ``spellings.yaml`` that they have, then all others as text.

    A file that cannot be read is left out with a note.
    """
    parts = []
    for file in files:
        cells = read_cells(file, notes)
        if cells is None:
            continue
        rows = _named(cells, kind)
        absent = [name for name in needed_columns(kind) if name not in rows.columns]
        if absent:
            titles = ", ".join(column.spellings[-1] for column in csv_columns(kind) if column.name in absent)
            notes.append(f"{file.name} has no column {titles} and was left out")
        else:
            parts.append(rows)
    return pl.concat(parts, how="diagonal_relaxed") if parts else pl.DataFrame()


def read_cells(file: Path, notes: list[str]) -> pl.DataFrame | None:
    """Return a csv file as text; nothing if it cannot be read, which is noted."""
    try:
        cells = pl.read_csv(file, infer_schema=False, encoding="utf8-lossy", truncate_ragged_lines=True)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        notes.append(f"{file.name} could not be read and was left out: {reason}")
        return None
    titles = [title.strip().lstrip("\ufeff") for title in cells.columns]
    # Titles are distinct as they stand; a damaged line of titles may have two that are not once they are trimmed.
    return cells.rename(dict(zip(cells.columns, titles, strict=True))) if len(set(titles)) == len(titles) else cells


def _named(cells: pl.DataFrame, kind: str) -> pl.DataFrame:
    known = present(csv_columns(kind), cells.columns)
    columns = [value(pl.col(title), column.kind, title).alias(name) for name, (column, title) in known.items()]
    used = {title for _, title in known.values()} | known.keys()
    return cells.select(*columns, *(pl.col(title) for title in cells.columns if title not in used))


def numbers(cells: pl.Series) -> pl.Series:
    """Return cells of text as Int64 if all of them are whole numbers, else as Float64; null where there is none."""
    text = cells.to_frame().select(pl.first().str.strip_chars().replace(["N/A", ""], None)).to_series()
    whole: pl.Series = text.cast(pl.Int64, strict=False)
    any_number: pl.Series = text.cast(pl.Float64, strict=False)
    return whole if whole.null_count() == text.null_count() else any_number
