"""From the directories of the ranks to the files of the vendor's cluster analysis, and what they say."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
from attrs import evolve, frozen

from drynpu import at_stage, without_collections
from drynpu.host import shared_memory_folder
from drynpu.writers.db import new_database
from drynpu.writers.files import make_directory
from drynpu_cluster import _db_output, _text_output
from drynpu_cluster._find import ClusterSource, Form
from drynpu_cluster._groups import Group, find_groups
from drynpu_cluster._overview import Overview, db_overview, text_overview
from drynpu_cluster._rank import RankRead, read_rank, stacked
from drynpu_cluster._spread import READING, spread

FOLDER = "cluster_analysis_output"

SMALL_BYTES = 128 << 20
"""Less than this is read faster here (4 s) than by processes that have to be started first."""

SPARE = 4
"""How many times the bytes that are read have to be free there."""


@frozen
class ClusterResult:
    """
    A finished analysis.

    Attributes
    ----------
    files:
        What was written; empty if nothing was to be.
    """

    source: ClusterSource
    overview: Overview
    files: tuple[Path, ...]
    notes: tuple[str, ...]


def analyse_cluster(
    source: ClusterSource,
    output: Path | None,
    *,
    workers: int | None = None,
    scheduler: str = "",
    work: Path | None = None,
) -> ClusterResult:
    """
    Read all ranks, each in a process, and reduce what they leave.

    Parameters
    ----------
    output:
        Where the folder ``cluster_analysis_output`` is made; ``None`` writes nothing.
    workers, scheduler:
        Who does the work, as in `spread`. By default little is done here, more on all cores.
    work:
        Folder for the tables of the ranks, which stay there; otherwise a temporary one, or none where all is read here.
        All workers of a *scheduler* have to see it.

    Raises
    ------
    OutputError
        A rank cannot be read, or a file not be written.
    """
    is_small = not scheduler and sum(rank.size_bytes for rank in source.ranks) < SMALL_BYTES
    workers = 1 if workers is None and is_small else workers
    if work is not None:
        return _analyse(source, output, make_directory(work), workers, scheduler)
    if workers == 1 and is_small:
        return _analyse(source, output, None, workers, scheduler)
    # Workers elsewhere see the folder of the results rather than the temporary folder of this machine.
    shared = make_directory(output) if scheduler and output is not None else _memory_folder(source)
    with tempfile.TemporaryDirectory(prefix=".drynpu-cluster-", dir=shared) as folder:
        return _analyse(source, output, Path(folder), workers, scheduler)


def _memory_folder(source: ClusterSource) -> Path | None:
    """Return a folder in memory with room for the tables, which are smaller than what they are read from, or none."""
    needed = sum(rank.size_bytes for rank in source.ranks)
    memory = shared_memory_folder()
    return memory if memory is not None and shutil.disk_usage(memory).free > SPARE * needed else None


def _analyse(
    source: ClusterSource, output: Path | None, work: Path | None, workers: int | None, scheduler: str
) -> ClusterResult:
    read = functools.partial(read_rank, folder=work)
    reads = tuple(spread(read, source.ranks, stage=READING, workers=workers, scheduler=scheduler))
    at_stage("Comparing ranks")
    folder = None if output is None else make_directory(output / FOLDER)
    reduce = _reduce_db if source.form is Form.DB else _reduce_text
    with without_collections():
        result = reduce(reads, folder)
    notes = (*source.notes, *(note for each in reads for note in each.notes), *result[2])
    return ClusterResult(source, evolve(result[0], form=source.form.value), tuple(result[1]), notes)


_Reduced = tuple[Overview, Sequence[Path], tuple[str, ...]]


def _reduce_text(reads: Sequence[RankRead], folder: Path | None) -> _Reduced:
    steps, operations, totals, matrix = (stacked(reads, name) for name in ("steps", "operations", "totals", "matrix"))
    groups = find_groups(_text_output.group_pairs([operations, matrix]), reads)
    links, sums = pl.DataFrame(), pl.DataFrame()
    notes: tuple[str, ...] = ()
    if matrix.height:
        links, sums, notes = _text_output.link_tables(matrix, groups)
    files: list[Path | None] = []
    if folder is not None:
        files = [
            _text_output.write_steps(folder, steps, reads, groups),
            _text_output.write_times(folder, operations, totals, groups),
            _text_output.write_matrix(folder, links, sums),
            _text_output.write_groups(folder, groups),
        ]
    overview = text_overview(steps, operations, sums, groups)
    return overview, [file for file in files if file is not None], notes


def _reduce_db(reads: Sequence[RankRead], folder: Path | None) -> _Reduced:
    groups, tables, notes = reduce_databases(reads)
    files = [] if folder is None else [_write(folder, tables)]
    links = tables.get("ClusterCommunicationMatrix", pl.DataFrame())
    return db_overview(stacked(reads, "steps"), stacked(reads, "operations"), links, groups), files, notes


def reduce_databases(
    reads: Sequence[RankRead],
) -> tuple[tuple[Group, ...], Mapping[str, pl.DataFrame], tuple[str, ...]]:
    """Return the groups of ranks whose results are databases, the tables of the vendor's analysis, and notes."""
    steps, operations, rates, matrix = (stacked(reads, name) for name in ("steps", "operations", "rates", "matrix"))
    pairs = operations
    if operations.height:
        pairs = operations.select(
            _db_output.kind_of(pl.col("hccl_op_name")).alias("type"), pl.col("group_name").alias("group"), "rank"
        )
    groups: tuple[Group, ...] = ()
    if pairs.height:
        groups = find_groups(pairs.unique(maintain_order=True).sort("type", "group", maintain_order=True), reads)
    tables: dict[str, pl.DataFrame] = {"CommunicationGroupMapping": _db_output.group_rows(groups)}
    notes: tuple[str, ...] = ()
    # Without a group the vendor's analysis has no operators either.
    if groups:
        tables["ClusterCommunicationTime"] = _db_output.time_rows(operations)
    if groups and rates.height:
        tables["ClusterCommunicationBandwidth"] = _db_output.rate_rows(rates)
    if matrix.height:
        tables["ClusterCommunicationMatrix"], notes = _db_output.matrix_rows(matrix, reads)
    tables["HostInfo"], tables["RankDeviceMap"] = _db_output.host_rows(reads)
    tables["ClusterStepTraceTime"] = _db_output.step_rows(steps, reads, groups)
    tables["ClusterBaseInfo"] = _db_output.base_rows(reads)
    return groups, tables, notes


def _write(folder: Path, tables: Mapping[str, pl.DataFrame]) -> Path:
    path = _db_output.database_file(folder)
    with new_database(path, _db_output.TABLES) as writer:
        for name, rows in tables.items():
            writer.write(name, rows)
    return path
