"""One rank, read into tables, which it leaves as Parquet files: no later stage reads its events again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import orjson
import polars as pl
from attrs import field, frozen

from drynpu import OutputError, without_collections
from drynpu.layouts.result_files import METADATA_FILE
from drynpu.writers.files import make_directory, new_path
from drynpu_cluster._db_rank import read_db_rank
from drynpu_cluster._find import Form, RankSource
from drynpu_cluster._text_rank import read_text_rank


@frozen
class RankRead:
    """
    What reading a rank leaves.

    Attributes
    ----------
    folder:
        Holds a Parquet file per table; None where the tables stayed in memory.
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
    folder: Path | None
    groups: Mapping[str, Mapping[str, object]]
    arguments: Mapping[str, object]
    host: tuple[str, str] = ("", "")
    devices: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()
    tables: Mapping[str, pl.DataFrame] = field(factory=dict, eq=False, repr=False)
    """Those that have rows, where there is no folder."""

    def file(self, name: str) -> Path | None:
        """Return where a table of the rank lies, if it has rows."""
        file = None if self.folder is None else self.folder / f"{name}.parquet"
        return file if file is not None and file.is_file() else None


def read_rank(source: RankSource, folder: Path | None) -> RankRead:
    """
    Read a rank and write its tables to a folder of its own below *folder*; without one they stay in memory.

    It may be called again for the same rank, also by another process: files appear whole.

    Raises
    ------
    OutputError
        A file of the rank cannot be read; the message names the rank.
    """
    try:
        place = None if folder is None else make_directory(folder / f"rank_{source.rank}")
        if source.form is Form.DB:
            tables, facts = read_db_rank(source)
            groups, host, devices = facts.groups, facts.host, facts.devices
        else:
            with without_collections():
                tables, groups, host, devices = read_text_rank(source), {}, ("", ""), ()
        metadata = _metadata(source.path)
        notes = [f"rank {source.rank} has no {what}" for what in _missing(tables)]
        ranked = ranked_tables(tables, source.rank)
        if place is not None:
            write_tables(ranked, place)
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
        {} if place is not None else ranked,
    )


def ranked_tables(tables: Mapping[str, pl.DataFrame], rank: int) -> Mapping[str, pl.DataFrame]:
    """Return the tables of a rank that have rows, with a first column ``rank``."""
    return {
        name: table.insert_column(0, pl.Series("rank", np.full(table.height, rank, np.int64)))
        for name, table in tables.items()
        if table.height
    }


def write_tables(tables: Mapping[str, pl.DataFrame], folder: Path) -> None:
    """Write tables, each to a file."""
    for name, table in tables.items():
        with new_path(folder / f"{name}.parquet") as partial:
            table.write_parquet(partial, compression="lz4")


def stacked(reads: Sequence[RankRead], name: str) -> pl.DataFrame:
    """Return a table of all ranks with their ``rank``; without columns where no rank has it."""
    if kept := [read.tables[name] for read in reads if name in read.tables]:
        return pl.concat(
            kept, how="vertical" if len({tuple(table.schema.items()) for table in kept}) == 1 else "diagonal"
        )
    files = [file for read in reads if (file := read.file(name)) is not None]
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
    file = path / METADATA_FILE
    content = orjson.loads(file.read_bytes()) if file.is_file() else {}
    return content if isinstance(content, dict) else {}
