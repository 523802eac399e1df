"""``drynpu compare``: what changed from one run to another."""

from __future__ import annotations

from pathlib import Path

import attrs
import click
import polars as pl

from drynpu.analysis import compare_profiles
from drynpu.cli.newest import newest_run
from drynpu.cli.shared import as_json, console, echo_json
from drynpu.views.comparison import comparison_blocks
from drynpu.views.terminal import render_blocks

_FOLDER = click.Path(exists=True, path_type=Path)


@click.command()
@click.argument("first", type=_FOLDER)
@click.argument("second", type=_FOLDER)
@click.option("--rank", default="", help="Rank to compare; the first without it.")
@as_json
def compare(first: Path, second: Path, rank: str, json_output: bool) -> None:
    """
    Say what changed from the run in FIRST to that in SECOND: steps, kernels, collectives, operators, memory.

    Both are result directories, folders with the ranks of a run, or single result files; of a folder with several runs
    the newest is meant. Times describe a mean step; the largest change comes first.
    """
    one, other = (newest_run(path).rank(rank) for path in (first, second))
    if json_output:
        comparison = compare_profiles(*((side.profile, side.summary) for side in (one, other)))
        tables: dict[str, pl.DataFrame] = attrs.asdict(comparison, recurse=False)
        echo_json({name: table.to_dicts() for name, table in tables.items()})
        return
    console().print(render_blocks(comparison_blocks(one, other)))
