"""Recipes run over all ranks, and their tables written beside those that are there."""

from __future__ import annotations

import functools
import shutil
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import polars as pl
from attrs import frozen

from drynpu import OutputError
from drynpu.writers.files import make_directory, new_path
from drynpu_cluster._analyse import FOLDER, reduce_databases
from drynpu_cluster._db_output import DATABASE
from drynpu_cluster._db_rank import database_path, open_read_only
from drynpu_cluster._find import ClusterSource, Form, RankSource
from drynpu_cluster._rank import RankRead, ranked_tables, read_rank, stacked, write_tables
from drynpu_cluster._spread import READING, spread
from drynpu_cluster.recipes._recipe import Recipe
from drynpu_cluster.recipes._slow import EP_LOAD_BALANCE, FREQ_ANALYSIS, SLOW_LINK, SLOW_RANK
from drynpu_cluster.recipes._sums import CANN_API_SUM, COMPUTE_OP_SUM, HCCL_SUM

_PARTS: Mapping[str, tuple[str, ...]] = {
    "communication_group_map": ("CommunicationGroupMapping",),
    "communication_time_sum": (
        "CommunicationGroupMapping",
        "ClusterCommunicationTime",
        "ClusterCommunicationBandwidth",
    ),
    "communication_matrix_sum": ("ClusterCommunicationMatrix",),
}
"""Recipes whose tables are part of a whole analysis."""

_RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        CANN_API_SUM,
        COMPUTE_OP_SUM,
        HCCL_SUM,
        SLOW_RANK,
        SLOW_LINK,
        FREQ_ANALYSIS,
        EP_LOAD_BALANCE,
    )
}
RECIPES: tuple[str, ...] = tuple(sorted((*_RECIPES, *_PARTS)))
"""Names of the recipes, as the vendor spells them."""


@frozen(eq=False)
class RecipeResult:
    """
    What a recipe gave.

    Attributes
    ----------
    tables:
        Result tables by name; none where nothing stands out or no rank has the data.
    file:
        The database that has them; ``None`` if nothing was written.
    notes:
        What is missing.
    """

    tables: Mapping[str, pl.DataFrame]
    file: Path | None
    notes: tuple[str, ...]


def run_recipe(
    source: ClusterSource, name: str, output: Path | None, *, workers: int | None = None, scheduler: str = ""
) -> RecipeResult:
    """
    Run one of `RECIPES` over all ranks.

    Parameters
    ----------
    output:
        Where ``cluster_analysis_output/cluster_analysis.db`` gets the tables, which replace tables of the same names;
        ``None`` writes nothing.
    workers, scheduler:
        As in `spread`; by default the work is done here.

    Raises
    ------
    OutputError
        The ranks are texts, or a database is damaged.
    """
    if source.form is not Form.DB:
        raise OutputError(
            f"recipe {name} reads databases, and {source.path} holds texts; drynpu analyze --export-type db writes them"
        )
    shared = make_directory(output) if scheduler and output is not None else None
    with tempfile.TemporaryDirectory(prefix=".drynpu-recipe-", dir=shared) as folder:
        work = Path(folder)
        if name in _PARTS:
            read = functools.partial(read_rank, folder=work)
            reads = tuple(spread(read, source.ranks, stage=READING, workers=workers or 1))
            reduced = reduce_databases(reads)[1]
            tables: Mapping[str, pl.DataFrame] = {part: reduced[part] for part in _PARTS[name] if part in reduced}
            notes: tuple[str, ...] = tuple(note for read in reads for note in read.notes)
        else:
            read_one = functools.partial(_read, folder=work, name=name)
            chosen = workers if workers or scheduler else 1
            answers = tuple(spread(read_one, source.ranks, stage=READING, workers=chosen, scheduler=scheduler))
            tables, notes = _reduce(_RECIPES[name], answers)
    tables = {table: rows for table, rows in tables.items() if rows.height}
    file = None if output is None or not tables else _store(make_directory(output / FOLDER) / DATABASE, tables)
    return RecipeResult(tables, file, notes)


def _read(source: RankSource, folder: Path, name: str) -> RankRead:
    """Write the answers of a rank's database to queries."""
    path = database_path(source)
    tables, notes = {}, []
    try:
        for table, (needed, query, schema) in _RECIPES[name].queries.items():
            rows = _answers(path, needed, query)
            if not rows:
                notes.append(f"rank {source.rank} has nothing in {', '.join(needed)} for {name}")
            tables[table] = pl.DataFrame(rows, schema=dict(schema), orient="row", strict=False)
    except sqlite3.Error as error:
        raise OutputError(f"{path.name} of rank {source.rank} cannot be read: {error}") from error
    place = make_directory(folder / f"rank_{source.rank}")
    write_tables(ranked_tables(tables, source.rank), place)
    return RankRead(source, place, {}, {}, notes=tuple(notes))


def _answers(path: Path, needed: Sequence[str], query: str) -> list[tuple[object, ...]]:
    if not path.is_file():
        return []
    with open_read_only(path) as connection:
        known = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return connection.execute(query).fetchall() if set(needed) <= known else []


def _reduce(recipe: Recipe, answers: Sequence[RankRead]) -> tuple[Mapping[str, pl.DataFrame], tuple[str, ...]]:
    notes = tuple(note for answer in answers for note in answer.notes)
    tables = {name: stacked(answers, name) for name in recipe.queries}
    return ({} if any(table.is_empty() for table in tables.values()) else recipe.reduce(tables)), notes


_TYPES = {pl.String(): "TEXT", pl.Int64(): "INTEGER", pl.Float64(): "REAL"}


def _store(path: Path, tables: Mapping[str, pl.DataFrame]) -> Path:
    """Put tables into a database, where they replace tables of the same names; other tables stay."""
    with new_path(path) as partial:
        if path.is_file():
            shutil.copyfile(path, partial)
        with closing(sqlite3.connect(partial)) as connection:
            for name, rows in tables.items():
                titles = (f'"{title}" {_TYPES.get(kind, "NUMERIC")}' for title, kind in rows.schema.items())
                connection.execute(f'DROP TABLE IF EXISTS "{name}"')
                connection.execute(f'CREATE TABLE "{name}" ({", ".join(titles)})')
                places = ",".join("?" * rows.width)
                connection.executemany(f'INSERT INTO "{name}" VALUES ({places})', rows.iter_rows())
            connection.commit()
    return path
