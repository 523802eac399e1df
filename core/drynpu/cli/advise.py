"""``drynpu advise``: what is conspicuous in a run, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import click

from drynpu.analysis.hints import find_all
from drynpu.cli.newest import newest_run
from drynpu.cli.shared import as_json, console, echo_json
from drynpu.views.hints import hint_blocks, run_findings
from drynpu.views.terminal import render_blocks


@click.command()
@click.argument("directory", type=click.Path(exists=True, path_type=Path))
@click.option("--rank", default="", help="Rank to look at; without it all ranks, and the one that holds them up.")
@as_json
def advise(directory: Path, rank: str, json_output: bool) -> None:
    """
    Say what costs time in the run in DIRECTORY, the numbers that show it, and what to do about it.

    DIRECTORY is a result directory, a folder with the ranks of a run, or a single result file. Of a folder with several
    runs the newest is meant. Of a run with several ranks all are looked at; what a rank shows by itself is of the one
    that holds the others up, or the first.
    """
    run = newest_run(directory)
    together = [] if rank else run_findings(run)
    chosen = run.rank(rank or next((each.rank for each in together if each.rank), ""))
    if json_output:
        echo_json([finding.document() for finding in (*together, *find_all(chosen.profile, chosen.summary))])
        return
    console().print(render_blocks(hint_blocks(run, chosen, together)))
