"""One rank, read into tables and kept as Parquet files, so that no later stage reads its events again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import orjson
import polars as pl
from attrs import frozen

from drynpu._errors import OutputError
from drynpu.cluster._db_rank import read_db_rank
from drynpu.cluster._find import METADATA, Form, RankSource
from drynpu.cluster._text_rank import read_text_rank
from drynpu.writers._files import make_directory, new_path


@frozen
class RankRead:
    """
    What reading a rank leaves.

    Attributes
    ----------
    folder:
        Holds a Parquet file per table.
    groups:
        ``parallel_group_info``: name of a group -> ``group_name``, ``global_ranks``.
    arguments:
        ``distributed_args``: sizes of the parallel dimensions; empty where the script did not state them.
    host:
        Id and name of the host; empty texts where unknown.
    devices:
        Rank and device ids.
    """

    source: RankSource
    folder: Path
    groups: Mapping[str, Mapping[str, object]]
    arguments: Mapping[str, object]
    host: tuple[str, str] = ("", "")
    devices: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()

    def file(self, name: str) -> Path:
        """Return where a table of the rank lies; there is no file of a table without rows."""
        return self.folder / f"{name}.parquet"


def read_rank(source: RankSource, folder: Path) -> RankRead:
    """
    Read a rank and write its tables to a folder of its own below *folder*.

    It may be called again for the same rank, also by another process: files appear whole.

    Raises
    ------
    OutputError
        A file of the rank cannot be read; the message names the rank.
    """
    try:
        place = make_directory(folder / f"rank_{source.rank}")
        if source.form is Form.DB:
            tables, facts = read_db_rank(source)
            groups, host, devices = facts.groups, facts.host, facts.devices
        else:
            tables, groups, host, devices = read_text_rank(source), {}, ("", ""), ()
        metadata = _metadata(source.path)
        notes = [f"rank {source.rank} has no {what}" for what in _missing(tables)]
        write_tables(tables, place, source.rank)
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise OutputError(f"rank {source.rank} in {source.path} cannot be read: {error}") from error
    named = groups if source.form is Form.DB else metadata.get("parallel_group_info")
    arguments = metadata.get("distributed_args")
    return RankRead(
        source,
        place,
        named if isinstance(named, dict) else {},
        arguments if isinstance(arguments, dict) else {},
        host,
        devices,
        tuple(notes),
    )


def write_tables(tables: Mapping[str, pl.DataFrame], folder: Path, rank: int) -> None:
    """Write the tables of a rank that have rows, each to a file, with a first column ``rank``."""
    for name, table in tables.items():
        if table.height:
            ranked = table.insert_column(0, pl.Series("rank", np.full(table.height, rank, np.int64)))
            with new_path(folder / f"{name}.parquet") as partial:
                ranked.write_parquet(partial, compression="lz4")


def stacked(reads: Sequence[RankRead], name: str) -> pl.DataFrame:
    """Return a table of all ranks with their ``rank``; without columns where no rank has it."""
    files = [file for read in reads if (file := read.file(name)).is_file()]
    if not files:
        return pl.DataFrame()
    try:
        return pl.read_parquet(files)
    except (pl.exceptions.SchemaError, pl.exceptions.ColumnNotFoundError):
        # Step times have the columns of the release that wrote them.
        return pl.concat([pl.read_parquet(file) for file in files], how="diagonal")


def _missing(tables: Mapping[str, pl.DataFrame]) -> Sequence[str]:
    words = {"steps": "step times", "operations": "communication operators", "matrix": "communication matrix"}
    return [word for name, word in words.items() if name not in tables or tables[name].is_empty()]


def _metadata(path: Path) -> Mapping[str, object]:
    file = path / METADATA
    found = orjson.loads(file.read_bytes()) if file.is_file() else {}
    return found if isinstance(found, dict) else {}
