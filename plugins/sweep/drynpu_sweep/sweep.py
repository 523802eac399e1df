"""``drynpu sweep``: a what-if table, each cell of which is a run of the script."""

from __future__ import annotations

import csv
import io
import itertools
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import click
from attrs import frozen
from rich.table import Table

from drynpu import CommandError
from drynpu.cli.shared import as_json, console, echo_json, gathered, topology_option
from drynpu.cli.world import read_ranks, read_straggler
from drynpu.writers.files import new_file
from drynpu_sweep._cells import DATA_PARALLEL, Cell, parallel_sizes, run_cell, stage_ranks, world_of

_HEADINGS = {"step_ms": "step", "interval": "80 %", "computing_ms": "computing"}
_HEADINGS |= {
    "communication_ms": "communi-\ncation",
    "exposed_ms": "not\nhidden",
    "free_ms": "free",
    "peak_gib": "peak\nGiB",
}
_CHIP = "chip"
"""Axis that is an option of ``drynpu run``, not of the script."""
_LEGEND = (
    "dp: ranks with the same part of the model, by the script's group of that name, else what tp, pp and cp leave.",
    "Times in ms, modelled, of the slowest rank that ran: means over the steps of its profile.",
    "80 %: 8 of 10 such steps last so long. not hidden: communication while nothing computes. free: the device waits.",
)


@frozen
class _Axis:
    name: str
    values: tuple[str, ...]


def _read_axes(_: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> tuple[_Axis, ...]:
    axes = []
    for text in texts:
        name, _equals, values = text.partition("=")
        parts = tuple(dict.fromkeys(part.strip() for part in values.split(",")))
        if not name.strip("-") or not all(parts):
            raise click.BadParameter(f"{text!r} is no axis; write it as tp=1,2,4", param=option)
        axes.append(_Axis(name.lstrip("-"), parts))
    names = [axis.name for axis in axes]
    if len(set(names)) < len(names):
        raise click.BadParameter("an axis is given twice; name all its values at once", param=option)
    return tuple(axes)


@frozen
class CellFlags:
    """The options of ``drynpu run`` that all cells share."""

    nproc_per_node: int | None
    straggler: tuple[int, float] | None
    topology: Path | None
    no_compute: bool
    profile: bool
    chip: str | None

    def arguments(self) -> list[str]:
        """Return them as ``drynpu run`` takes them."""
        arguments = [] if self.nproc_per_node is None else ["--nproc-per-node", str(self.nproc_per_node)]
        arguments += [] if self.straggler is None else ["--straggler", "{}:{}".format(*self.straggler)]
        arguments += [] if self.topology is None else ["--topology", str(self.topology)]
        arguments += [] if self.chip is None else ["--chip", self.chip]
        return arguments + ["--no-compute"] * self.no_compute + ["--profile"] * self.profile


@click.command(context_settings={"ignore_unknown_options": False})
@click.option(
    "--grid",
    "axes",
    multiple=True,
    required=True,
    callback=_read_axes,
    metavar="NAME=V,V",
    help="Values of an option of the script; may be given for each.",
)
@click.option(
    "--world",
    type=click.IntRange(min=1),
    help="Ranks of the job.  [default: 1, or as many as the axis dp needs]",
)
@click.option(
    "--ranks",
    callback=read_ranks,
    metavar="LIST",
    help="Those that run.  [default: one of every stage, by the axis pp]",
)
@click.option("--nproc-per-node", type=click.IntRange(min=1, max=63), help="Ranks of a node.  [default: 8]")
@click.option("--straggler", callback=read_straggler, metavar="RANK:FACTOR", help="A rank that takes longer.")
@topology_option
@click.option("--no-compute", is_flag=True, help="On shapes alone, at full size.")
@click.option("--profile", is_flag=True, help="Profile a script that has no profiler code of its own.")
@click.option("--chip", help="Chip to simulate.")
@click.option("--jobs", type=click.IntRange(min=1), help="Cells that run at once.  [default: as many as cores]")
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="Keep what the runs leave, a folder each."
)
@click.option("--csv", "csv_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the table.")
@gathered("shared", CellFlags)
@as_json
@click.argument("script", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def sweep(
    axes: tuple[_Axis, ...],
    world: int | None,
    ranks: tuple[int, ...] | None,
    shared: CellFlags,
    jobs: int | None,
    output: Path | None,
    csv_file: Path | None,
    json_output: bool,
    script: Path,
    arguments: tuple[str, ...],
) -> None:
    """
    Run SCRIPT once for each combination of the values, and compare steps, memory and communication.

    Every cell is a run of the script by drynpu run --world, with the values as its options (--tp 2 --pp 4) behind the
    ARGUMENTS, which follow a --. Numbers describe the slowest rank that ran. A cell that fails says why.

    Without --world the axis dp is the number of data-parallel ranks: the world is as large as they and the sizes tp, pp
    and cp make it, and the script does not get the value. Nor does it get the axis chip, which says what is simulated.
    """
    if output is not None and output.exists() and any(output.iterdir()):
        raise CommandError(f"{output} is not empty; each run gets a new folder there", exit_code=2)
    if shared.chip is not None and any(axis.name == _CHIP for axis in axes):
        raise CommandError("the chip is an axis, so leave --chip out", exit_code=2)
    cells = [
        _cell(dict(zip([axis.name for axis in axes], values, strict=True)), world, ranks, arguments)
        for values in _product(axes)
    ]
    command = [str(script.resolve()), *arguments]
    keep = tempfile.TemporaryDirectory(prefix="drynpu-sweep-") if output is None else nullcontext(str(output))
    with keep as folder, ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        done = list(
            pool.map(
                lambda cell: run_cell(
                    Path(folder).resolve() / _folder_name(cell.values),
                    cell,
                    _script_values(cell.values, world),
                    [*shared.arguments(), *_chip_option(cell.values)],
                    command,
                ),
                cells,
            )
        )
    _show(done, csv_file, json_output)
    if all(cell.error for cell in done):
        raise SystemExit(1)


def _cell(
    values: Mapping[str, str], world: int | None, ranks: tuple[int, ...] | None, arguments: Sequence[str]
) -> Cell:
    """Return a cell that has not run yet, with its world and what is known of its data parallelism."""
    sizes = parallel_sizes(values, arguments)
    if world is None:
        world = world_of(values, sizes) if DATA_PARALLEL in values else 1
    copies, rest = divmod(world, math.prod(sizes.values()))
    chosen = ranks or stage_ranks(sizes["pp"], world)
    return Cell(values=values, ranks=chosen, world=world, data_parallel=None if rest else copies)


def _script_values(values: Mapping[str, str], world: int | None) -> Mapping[str, str]:
    """Return the values that the script gets as options: not the chip, nor the size that makes the world."""
    apart = {_CHIP} if world is not None else {_CHIP, DATA_PARALLEL}
    return {name: value for name, value in values.items() if name not in apart}


def _chip_option(values: Mapping[str, str]) -> list[str]:
    return ["--chip", values[_CHIP]] if _CHIP in values else []


def _product(axes: Sequence[_Axis]) -> itertools.product[tuple[str, ...]]:
    return itertools.product(*(axis.values for axis in axes))


def _folder_name(values: Mapping[str, str]) -> str:
    return "_".join(f"{name}-{value}" for name, value in values.items()).replace("/", "-")


def _show(cells: Sequence[Cell], csv_file: Path | None, json_output: bool) -> None:
    rows = [cell.row() for cell in cells]
    if csv_file is not None:
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        with new_file(csv_file) as file:
            file.write(text.getvalue().encode())
    if json_output:
        notes = list(dict.fromkeys(note for cell in cells for note in cell.notes))
        echo_json({"cells": rows, "notes": notes})
        return
    table = Table(box=None)
    placed = [name for name in (DATA_PARALLEL,) if name not in cells[0].values]
    for name in [*cells[0].values, *placed, *_HEADINGS.values()]:
        table.add_column(name, justify="right", no_wrap=True)
    for cell, row in zip(cells, rows, strict=True):
        texts = [*cell.values.values(), *("N/A" if row[name] is None else str(row[name]) for name in placed)]
        if cell.measures is not None:
            low, high = row["low_ms"], row["high_ms"]
            row["interval"] = "N/A" if low is None else f"{low:.3f} to {high:.3f}"
            texts += [_text(row[name]) for name in _HEADINGS]
        table.add_row(*texts)
    out = console()
    out.print(table)
    for cell in cells:
        if cell.error:
            out.print(f"Failed: {' '.join(f'{k}={v}' for k, v in cell.values.items())}: {cell.error}", soft_wrap=True)
    for line in _LEGEND:
        out.print(line, style="dim")


def _text(value: object) -> str:
    return value if isinstance(value, str) else "N/A" if value is None else f"{value:.3f}"
