"""``drynpu chips``: what can be simulated."""

from __future__ import annotations

import attrs
import click
from rich.console import Console
from rich.table import Table

from drynpu.chips import Chip, known_chips, load_chip
from drynpu.cli._options import as_json, echo_json
from drynpu.plugins import build_manager

__all__ = ["chips"]


@click.command()
@click.argument("name", required=False)
@as_json
def chips(name: str | None, json_output: bool) -> None:
    """List the chips that can be simulated, or show every number of one (NAME) with its sources."""
    files = build_manager(record_problems=True).chip_files()
    if name:
        chip = load_chip(name, extra_files=files)
        if json_output:
            echo_json(attrs.asdict(chip))
            return
        table = Table(title=chip.name, show_header=False)
        for key, value in attrs.asdict(chip).items():
            text = "\n".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
            table.add_row(key, text)
        Console().print(table)
        return
    found = known_chips(files)
    if json_output:
        echo_json([attrs.asdict(chip) for chip in found])
    else:
        Console().print(_overview(found))


def _overview(found: tuple[Chip, ...]) -> Table:
    table = Table(title="Chips (choose with DRYNPU_CHIP or drynpu run --chip)")
    table.add_column("name", no_wrap=True)
    for heading in ("cores\ncube/vec", "MHz", "TFLOPS\n16 bit", "memory\nGB", "GB/s", "L2\nMB", "platform"):
        table.add_column(heading, justify="right")
    for chip in found:
        tflops = chip.cube_cores * chip.cube_flop_per_cycle * chip.aic_mhz / 1e6
        table.add_row(
            chip.name,
            f"{chip.cube_cores}/{chip.vector_cores}",
            str(chip.aic_mhz),
            f"{tflops:.0f}",
            f"{chip.memory_bytes / 2**30:.0f}",
            f"{chip.memory_gbs:g}",
            f"{chip.l2_bytes / 2**20:g}",
            chip.platform_version,
        )
    return table
