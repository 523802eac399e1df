"""``drynpu fit``: whether a training fits on a chip, and how long a step takes there; a row for each chip and batch."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from drynpu import CommandError
from drynpu.cli.shared import as_json, console, echo_json
from drynpu.platforms import Chip, known_chips
from drynpu.plugins import Plugins
from drynpu_sweep._cells import GIB, Cell, run_cell

_TRANSFER = {"TORCH_TRANSFER_TO_NPU": "1"}
"""Lets a script that wants CUDA have the npu; one that wants the npu does not notice."""
_LEGEND = (
    "On shapes alone: nothing is computed. Times are modelled, of one rank; 80 %: 8 of 10 such steps last so long.",
    "fits: what the pool reserves lies within the chip's memory; tight: only what is allocated does.",
    "The software of the device needs some GiB besides.",
)


def chips_named(text: str, known: Sequence[Chip]) -> list[Chip]:
    """
    Return the chips of a list of names; all of a family for its name, so that 910B stands for 910B1, 910B2 and so on.

    Raises
    ------
    CommandError
        A name stands for no chip; the message lists those that there are.
    """
    chosen: list[Chip] = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        plain = name.lower().removeprefix("ascend")
        exact = [chip for chip in known if chip.name.lower().removeprefix("ascend") == plain]
        family = [chip for chip in known if chip.name.lower().removeprefix("ascend").startswith(plain)]
        if not exact and not family:
            raise CommandError(f"no chip {name!r}: there are {', '.join(chip.name for chip in known)}", exit_code=2)
        chosen += [chip for chip in exact or family if chip not in chosen]
    return chosen


@click.command(context_settings={"ignore_unknown_options": False})
@click.option("--chip", "names", required=True, metavar="A,B", help="Chips; 910B stands for all whose names begin so.")
@click.option("--batch", "batches", default="", metavar="N,N", help="Sizes that the script gets as its option.")
@click.option("--batch-option", default="batch", show_default=True, help="What the script calls that option.")
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at once.  [default: as many as cores]")
@as_json
@click.argument("script", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def fit(
    plugins: Plugins,
    names: str,
    batches: str,
    batch_option: str,
    jobs: int | None,
    json_output: bool,
    script: Path,
    arguments: tuple[str, ...],
) -> None:
    """
    Say whether SCRIPT fits on chips, and how long a step takes there (PyTorch).

    It runs once for each chip and batch by drynpu run --no-compute: at full size, without values. ARGUMENTS follow a
    --. A script for CUDA runs as if it were for the npu. A script without profiler code is profiled from outside.
    """
    chips = chips_named(names, known_chips(plugins.chip_files()))
    sizes = [part.strip() for part in batches.split(",") if part.strip()] or [""]
    profiled = [] if "profiler" in script.read_text(encoding="utf-8", errors="replace") else ["--profile"]
    command = [str(script.resolve()), *arguments]
    planned = [(chip, batch) for chip in chips for batch in sizes]
    with tempfile.TemporaryDirectory(prefix="drynpu-fit-") as folder:

        def run(chip: Chip, batch: str) -> Cell:
            values = {batch_option.lstrip("-"): batch} if batch else {}
            options = ["--no-compute", "--chip", chip.name, *profiled]
            place = Path(folder) / f"{chip.name}_{batch}"
            return run_cell(place, Cell(values=values, ranks=(0,)), values, options, command, _TRANSFER)

        with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
            cells = list(pool.map(run, *zip(*planned, strict=True)))
    rows = [_row(chip, batch, cell) for (chip, batch), cell in zip(planned, cells, strict=True)]
    if json_output:
        echo_json({"rows": rows})
    else:
        _show(rows)
    if all(row["error"] for row in rows):
        raise SystemExit(1)


def _row(chip: Chip, batch: str, cell: Cell) -> dict[str, object]:
    measures, capacity = cell.measures, chip.memory_bytes / GIB
    allocated = None if measures is None else measures.peak_gib
    reserved = None if measures is None else measures.reserved_gib
    per_second = None
    if measures is not None and batch.isdecimal() and measures.step_ms:
        per_second = int(batch) * 1000 / measures.step_ms
    return {
        "chip": chip.name,
        "batch": batch,
        "fits": _fits(allocated, reserved, capacity),
        "allocated_gib": allocated,
        "reserved_gib": reserved,
        "capacity_gib": capacity,
        "step_ms": None if measures is None else measures.step_ms,
        "low_ms": None if measures is None else measures.low_ms,
        "high_ms": None if measures is None else measures.high_ms,
        "samples_per_s": per_second,
        "error": cell.error,
    }


def _fits(allocated: float | None, reserved: float | None, capacity: float) -> str | None:
    """Return ``yes``, ``tight`` or ``no``; ``None`` where no memory was recorded."""
    if allocated is None:
        return None
    if allocated > capacity:
        return "no"
    return "yes" if (reserved if reserved is not None else allocated) <= capacity else "tight"


def _show(rows: Sequence[Mapping[str, Any]]) -> None:
    table = Table(box=None)
    with_batch = any(row["batch"] for row in rows)
    heads = ["chip", *(["batch"] if with_batch else []), "fits", "peak GiB", "of", "", "step ms", "80 %"]
    for head in [*heads, *(["samples/s"] if with_batch else [])]:
        table.add_column(head, justify="left" if head == "chip" else "right", no_wrap=True)
    for row in rows:
        table.add_row(*_texts(row, with_batch=with_batch))
    out = console()
    out.print(table)
    for row in rows:
        if row["error"]:
            which = f"{row['chip']}, batch {row['batch']}" if row["batch"] else row["chip"]
            out.print(f"Failed: {which}: {row['error']}", soft_wrap=True)
    for line in _LEGEND:
        out.print(line, style="dim", soft_wrap=True)


def _texts(row: Mapping[str, Any], *, with_batch: bool) -> list[str]:
    allocated, capacity, low = row["allocated_gib"], row["capacity_gib"], row["low_ms"]
    return [
        row["chip"],
        *([row["batch"]] if with_batch else []),
        row["fits"] or "N/A",
        _number(allocated),
        f"{capacity:.0f}",
        "" if allocated is None else f"{allocated / capacity:.1%}",
        _number(row["step_ms"]),
        "N/A" if low is None else f"{low:.1f} to {row['high_ms']:.1f}",
        *([_number(row["samples_per_s"])] if with_batch else []),
    ]


def _number(value: float | None) -> str:
    return "N/A" if value is None else f"{value:.2f}"
