"""``drynpu compare``: what changed from one run to another."""

from __future__ import annotations

from pathlib import Path

import attrs
import click
import polars as pl

from drynpu import CommandError
from drynpu.analysis import changed_options, compare_profiles, objections, refusal_text, run_facts
from drynpu.cli.newest import newest_run
from drynpu.cli.shared import as_json, console, echo_json, read_share
from drynpu.views.comparison import comparison_blocks
from drynpu.views.terminal import render_blocks

_FOLDER = click.Path(exists=True, path_type=Path)


def _read_share(_: click.Context, option: click.Parameter, text: str | None) -> float | None:
    try:
        return None if text is None else read_share(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param=option) from error


@click.command()
@click.argument("first", type=_FOLDER)
@click.argument("second", type=_FOLDER)
@click.option("--rank", default="", help="Rank to compare; the first without it.")
@click.option(
    "--fail-over",
    callback=_read_share,
    metavar="PERCENT",
    help="End with status 1 if a mean step is longer by more than that.",
)
@click.option(
    "-f", "--force", is_flag=True, help="Compare even runs of different frameworks, or without a common kernel."
)
@as_json
def compare(first: Path, second: Path, rank: str, fail_over: float | None, force: bool, json_output: bool) -> None:
    """
    Say what changed from the baseline in FIRST to the run in SECOND: steps, kernels, collectives, operators, memory.

    Both are result directories, folders with the ranks of a run, or single result files; of a folder with several runs
    the newest is meant. Times describe a mean step; the largest change comes first.
    """
    one, other = (newest_run(path).rank(rank) for path in (first, second))
    pair = [(side.profile, side.summary) for side in (one, other)]
    reasons = refusal_text(*pair)
    if reasons and not force:
        raise CommandError(f"{reasons}; --force compares them all the same", exit_code=1)
    comparison = compare_profiles(*pair)
    if json_output:
        tables: dict[str, pl.DataFrame] = attrs.asdict(comparison, recurse=False)
        runs = [{"path": str(side.path), **run_facts(each)} for side, each in zip((one, other), pair, strict=True)]
        said = {"runs": runs, "changed": changed_options(*pair), "careful": list(objections(*pair))}
        echo_json({**said, **{name: table.to_dicts() for name, table in tables.items()}})
    else:
        console().print(render_blocks(comparison_blocks(one, other)))
    if fail_over is not None:
        _judge(comparison.steps, fail_over)


def _judge(steps: pl.DataFrame, limit: float) -> None:
    """
    Say why the command fails, if it does.

    Raises
    ------
    CommandError
        The second run has a longer step than allowed, or one of the two has none.
    """
    factor = dict(steps.select("name", "factor").rows())["step"]
    if factor is None:
        raise CommandError("--fail-over needs the time of a step in both runs; one of them has none", exit_code=1)
    if factor > 1 + limit:
        raise CommandError(f"a step is longer by {factor - 1:.1%}; --fail-over allows {limit:.1%}", exit_code=1)
