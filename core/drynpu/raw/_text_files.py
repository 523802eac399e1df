"""Text kinds in slices (cann_msprof.md 7, 7.1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from drynpu.raw._hash import encode_text
from drynpu.raw._text_kind import TextKind, check_rows
from drynpu.raw.files import read_bytes
from drynpu.raw.slices import find_slices, note_unfinished, unbroken


def text_slices(entry: TextKind, rows: pl.DataFrame, limit: int) -> Iterator[list[bytes]]:
    """
    Cut the text of rows into slices of about ``limit`` bytes, each with the header and the footer of the kind.

    Raises
    ------
    RawFormatError
        If the rows are not of the kind.
    """
    typed = check_rows(entry, rows)
    if typed.is_empty():
        return
    header = f"{entry.header}\n".encode() if entry.header else b""
    footer = entry.footer(typed).encode() if entry.footer else b""
    room = limit - len(header) - len(footer)
    batch: list[bytes] = []
    size = 0
    for piece in map(encode_text, entry.chunks(typed)):
        if batch and size + len(piece) > room:
            yield [header, *batch, footer]
            batch, size = [], 0
        batch.append(piece)
        size += len(piece)
    yield [header, *batch, footer]


def read_rows(directory: Path, entry: TextKind, stem: str, notes: list[str]) -> pl.DataFrame:
    """
    Read all rows of a text kind in a data directory; what cannot be used is left out and noted.

    Raises
    ------
    OutputError
        If a slice cannot be read.
    """
    rows: list[tuple[object, ...]] = []
    for run in unbroken(find_slices(directory, stem), stem, notes):
        note_unfinished(run, notes)
        text = b"".join(read_bytes(part.path, "samples as text") for part in run).decode("utf-8", "replace")
        *lines, rest = text.split("\n")
        parsed = entry.parse([line.rstrip("\r") for line in lines])
        rows += parsed.rows
        left_out = parsed.left_out + bool(rest.strip())
        if left_out:
            where = f"{directory.parent.name}/{run[0].path.name}"
            notes.append(f"{where}: {left_out} lines that are no whole rows of {entry.name} were left out")
    return pl.DataFrame(rows, schema=entry.schema, orient="row")


def processes(directory: Path, entry: TextKind) -> tuple[int, ...]:
    """Return the ids of the processes that a data directory has files of."""
    if not directory.is_dir():
        return ()
    ids = {entry.find_process(path.name) for path in directory.iterdir()}
    return tuple(sorted(pid for pid in ids if pid is not None))
