"""Writing files and directories: modes 0640 and 0750, whole or not at all, failures as ``OutputError``."""

from __future__ import annotations

import functools
import io
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import polars as pl

from drynpu._errors import OutputError
from drynpu._staging import Staging, staged_path, staging_prefix, sweep_staged
from drynpu.writers._csv_cells import NEEDS_QUOTES, joined_cells, quoted_cell
from drynpu.writers._in_turn import in_turn
from drynpu.writers.text_table import CHUNK_ROWS, Table, TextTable, parts_of

CSV_ROW_LIMIT = 1_000_000
"""Rows of one csv file of the toolkit; more rows go to ``_slice_<n>`` files (cann_msprof.md 2.3)."""

REPEATED = "\0"
"""Ends a column name that occurs more than once; a number after it keeps the columns apart."""

_CSV_CHUNK_ROWS = CHUNK_ROWS
_STAMP = "%Y%m%d%H%M%S"


def make_directory(path: Path) -> Path:
    """Create *path* and its parents (mode 0750) when absent. Raises ``OutputError``."""
    try:
        path.mkdir(mode=0o750, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot create the directory: {error.strerror or error}") from error
    return path


@contextmanager
def new_path(path: Path) -> Iterator[Path]:
    """
    Give an empty file (mode 0640) beside *path* to fill; afterwards it takes the name *path*.

    Raises ``OutputError`` naming the file and the reason, and leaves nothing behind then.
    """
    try:
        with staged_path(path) as partial:
            yield partial
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """
    Open *path* for writing (mode 0640); the name appears only when everything was written.

    Raises ``OutputError`` naming the file and the reason, and leaves nothing behind then.
    """
    with new_path(path) as partial, partial.open("wb") as stream:
        yield stream


@contextmanager
def replaced_directory(path: Path) -> Iterator[Path]:
    """
    Give a new empty directory beside *path* to fill; afterwards it takes the place of *path*.

    When filling fails the new directory is removed and *path* stays as it was. Between the two renames of the swap
    the old content lies under a dotted sibling name, so that nothing is lost if the process dies there: the next
    writer gives it its name back.
    """
    sweep_staged(path.parent)
    try:
        fresh = Path(tempfile.mkdtemp(prefix=staging_prefix(path.name, Staging.DIRECTORY), dir=path.parent))
        fresh.chmod(0o750)
    except OSError as error:
        raise OutputError(f"{path.parent}: cannot create a directory: {error.strerror or error}") from error
    try:
        yield fresh
        _swap(fresh, path)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _swap(fresh: Path, path: Path) -> None:
    try:
        if not path.exists():
            fresh.rename(path)
            return
        old = Path(tempfile.mkdtemp(prefix=staging_prefix(path.name, Staging.REPLACED), dir=path.parent))
        path.rename(old / path.name)
        try:
            fresh.rename(path)
        except OSError:
            (old / path.name).rename(path)
            old.rmdir()
            raise
        shutil.rmtree(old)
    except OSError as error:
        raise OutputError(f"{path}: cannot be replaced: {error.strerror or error}") from error


def free_stamp(directory: Path, now: datetime | None = None) -> str:
    """Return the first second from *now* on (local time) that no file name in *directory* carries yet."""
    try:
        names = [entry.name for entry in directory.iterdir()] if directory.exists() else []
    except OSError as error:
        raise OutputError(f"{directory}: cannot be read: {error.strerror or error}") from error
    moment = now or datetime.now().astimezone()
    while any(f"_{moment.strftime(_STAMP)}." in name for name in names):
        moment += timedelta(seconds=1)
    return moment.strftime(_STAMP)


def write_csv(path: Path, table: Table, *, line_end: str) -> Path:
    """
    Write a table of String or categorical columns as csv with minimal quoting; empty text is an empty cell.

    Quotes are set as the toolkit's and Python's csv writers set them: around cells that hold a comma, a quote or
    a line break, quotes inside doubled. Of a column name only what stands before ``REPEATED`` is written, so that a
    file can have several columns of one name. Memory use is bounded by the chunk size. Raises ``OutputError``.
    """
    names = list(table.columns)
    plain = table.plain if isinstance(table, TextTable) else ()
    quotable = [name for name in names if name not in plain]
    header = ",".join(quoted_cell(name.split(REPEATED)[0]) for name in names)
    with new_file(path) as stream:
        stream.write(f"{header}{line_end}".encode())
        for rows in in_turn(
            [functools.partial(_csv_rows, part, quotable, line_end) for part in parts_of(table, _CSV_CHUNK_ROWS)]
        ):
            with rows.getbuffer() as written:
                stream.write(written)
    return path


def write_table(path: Path, make: Callable[[], Table], *, line_end: str) -> bool:
    """Write what *make* returns as :func:`write_csv` does, unless it is empty; return whether there is a file."""
    table = make()
    if not table.is_empty():
        write_csv(path, table, line_end=line_end)
    return not table.is_empty()


def _csv_rows(part: Callable[[], pl.DataFrame], quotable: Sequence[str], line_end: str) -> io.BytesIO:
    """Return the text of a part of a table, without its header."""
    rows, buffer = part(), io.BytesIO()
    if rows.is_empty():
        return buffer
    texts = [name for name in quotable if rows[name].dtype == pl.String]
    odd = rows.select(pl.col(texts).unique().str.contains(NEEDS_QUOTES).any())
    rows = rows.with_columns(_quoted(rows[name]) for name in texts if odd[name].item())
    cells = joined_cells(rows, quotable)
    cells.write_csv(buffer, include_header=False, line_terminator=line_end, quote_style="never")
    return buffer


def _quoted(cells: pl.Series) -> pl.Series:
    """Return cells with quotes around those that need them, looking at each distinct text once."""
    distinct = cells.unique()
    odd = distinct.filter(distinct.str.contains(NEEDS_QUOTES))
    if odd.is_empty():
        return cells
    shown = '"' + odd.str.replace_all('"', '""', literal=True) + '"'
    quoted: pl.Series = cells.replace_strict(odd, shown, default=cells, return_dtype=pl.String)
    return quoted


def write_csv_slices(directory: Path, stem: str, stamp: str, table: Table, *, line_end: str) -> Sequence[Path]:
    """Write ``<stem>_<stamp>.csv``, or ``<stem>_slice_<n>_<stamp>.csv`` above the row limit; nothing if empty."""
    if table.is_empty():
        return ()
    if table.height <= CSV_ROW_LIMIT:
        return (write_csv(directory / f"{stem}_{stamp}.csv", table, line_end=line_end),)
    return tuple(
        write_csv(
            directory / f"{stem}_slice_{number}_{stamp}.csv", table.slice(offset, CSV_ROW_LIMIT), line_end=line_end
        )
        for number, offset in enumerate(range(0, table.height, CSV_ROW_LIMIT))
    )
