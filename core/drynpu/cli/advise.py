"""``drynpu advise``: what is conspicuous in a run, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from drynpu.analysis.hints import find_all
from drynpu.cli.newest import newest_run
from drynpu.cli.shared import as_json, console, echo_json
from drynpu.views.hints import hint_blocks
from drynpu.views.terminal import render_blocks


@click.command()
@click.argument("directory", type=click.Path(exists=True, path_type=Path))
@click.option("--rank", default="", help="Rank to look at; the first without it.")
@as_json
def advise(directory: Path, rank: str, json_output: bool) -> None:
    """
    Say what costs time in the run in DIRECTORY, the numbers that show it, and what to do about it.

    DIRECTORY is a result directory, a folder with the ranks of a run, or a single result file. Of a folder with several
    runs the newest is meant.
    """
    run = newest_run(directory)
    chosen = run.rank(rank)
    if json_output:
        echo_json([attrs.asdict(finding) for finding in find_all(chosen.profile, chosen.summary)])
        return
    console().print(render_blocks(hint_blocks(chosen)))
