"""``drynpu whatif``: a run simulated again with something changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click
from rich.table import Table

from drynpu import CommandError
from drynpu.cli.newest import newest_run
from drynpu.cli.shared import as_json, console, echo_json
from drynpu.platforms import Chip, load_chip
from drynpu.plugins import Plugins
from drynpu.views.runs import Rank
from drynpu.views.theme import time_text
from drynpu_pages.pages.whatif import recorded_of
from drynpu_pages.verbs._chip import chip_option
from drynpu_pages.whatif import (
    GROUP_NAMES,
    NO_BATCH,
    Change,
    Outcome,
    Recorded,
    basis_text,
    cut_text,
    memory_text,
    outcome_text,
    simulate_again,
)

_MODELLED = "Times after the change are modelled."


@click.command()
@click.argument("directory", type=click.Path(exists=True, path_type=Path))
@click.option("--chip", "chip_name", help="The other chip.")
@click.option(
    "--matmul", type=click.FloatRange(min=0, min_open=True), default=1.0, help="Products so many times as fast."
)
@click.option("--link", type=click.FloatRange(min=0, min_open=True), default=1.0, help="Links so many times as fast.")
@click.option("--no-host-gaps", is_flag=True, help="A host that takes no time, and waits for the device all the same.")
@chip_option("--recorded-chip")
@click.option("--step", default="", help="Step that is simulated again; of a long run the last ones without it.")
@click.option("--rank", default="", help="Rank that is simulated again; the first without it.")
@as_json
@click.pass_obj
def whatif(
    plugins: Plugins,
    directory: Path,
    chip_name: str | None,
    matmul: float,
    link: float,
    no_host_gaps: bool,
    step: str,
    rank: str,
    json_output: bool,
) -> None:
    """
    Simulate the run in DIRECTORY again with something changed, and say how long its steps take and what bounds them.

    Each kernel takes what the model says of it on the changed device, by its type, shapes and data types, each
    collective what its plan takes over the changed links; host, task queue, streams and waits follow from that anew.
    Another batch needs the script: drynpu fit --batch.
    """
    chosen = newest_run(directory).rank(rank)
    changed = load_chip(chip_name, extra_files=plugins.chip_files()) if chip_name else None
    change = Change(chip=changed, matmul=matmul, link=link, no_host_gaps=no_host_gaps)
    recorded = _recorded(chosen, step)
    outcome = simulate_again(recorded, change)
    basis = basis_text(recorded, modelled=chosen.modelled)
    if json_output:
        echo_json(_document(outcome, recorded.chip, change, basis))
        return
    unfit = memory_text(chosen.summary.peak_allocated_bytes, changed)
    _show(outcome, change, [*filter(None, (unfit, cut_text(recorded))), basis, _MODELLED, NO_BATCH])


def _recorded(rank: Rank, step: str) -> Recorded:
    """
    Return the run of a rank.

    Raises
    ------
    CommandError
        Its chip, the step or its work is not known.
    """
    if rank.chip is None:
        raise CommandError("the run does not say of which chip it is; name it with --recorded-chip", exit_code=2)
    if step and step not in rank.step_names:
        raise CommandError(f"no step {step!r} in this run: it has {', '.join(rank.step_names) or 'none'}", exit_code=2)
    recorded = recorded_of(rank, step)
    if recorded is None:
        raise CommandError("no work of a device was recorded, so there is nothing to simulate again")
    return recorded


def _document(outcome: Outcome, chip: Chip, change: Change, basis: str) -> Mapping[str, object]:
    between = outcome.range_us
    return {
        "recorded_chip": chip.name,
        "modelled": True,
        "change": {
            "chip": None if change.chip is None else change.chip.name,
            "matmul": change.matmul,
            "link": change.link,
            "no_host_gaps": change.no_host_gaps,
        },
        "before_us": outcome.was_us,
        "after_us": outcome.mean_us,
        "low_us": None if between is None else between[0],
        "high_us": None if between is None else between[1],
        "bounds": outcome.groups.to_dicts(),
        "steps": outcome.steps.to_dicts(),
        "types": outcome.types.to_dicts(),
        "basis": basis,
    }


def _show(outcome: Outcome, change: Change, notes: list[str]) -> None:
    out = console()
    out.print(outcome_text(outcome, change), soft_wrap=True)
    table = Table(box=None)
    for heading in ("on the critical path", "before", "after"):
        table.add_column(heading, justify="left" if heading.startswith("on") else "right", no_wrap=True)
    for what, before, after in outcome.groups.iter_rows():
        table.add_row(GROUP_NAMES[what], time_text(before), time_text(after))
    table.add_row("a step", time_text(outcome.was_us), time_text(outcome.mean_us))
    out.print(table)
    for note in notes:
        out.print(note, style="dim", soft_wrap=True)
