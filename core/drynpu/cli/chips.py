"""``drynpu chips``: what can be simulated."""

from __future__ import annotations

import attrs
import click
from rich.table import Table

from drynpu.cli.shared import as_json, console, echo_json
from drynpu.platforms import Chip, known_chips, load_chip
from drynpu.plugins import Plugins


@click.command()
@click.argument("name", required=False)
@as_json
@click.pass_obj
def chips(plugins: Plugins, name: str | None, json_output: bool) -> None:
    """List the chips that can be simulated, or show every number of one (NAME) with its sources."""
    files = plugins.chip_files()
    if name is not None:
        chip = load_chip(name, extra_files=files)
        if json_output:
            echo_json(attrs.asdict(chip))
        else:
            console().print(_numbers(chip))
        return
    listed = known_chips(files)
    if json_output:
        echo_json([attrs.asdict(chip) for chip in listed])
    else:
        console().print(_overview(listed))


def _numbers(chip: Chip) -> Table:
    table = Table(title=chip.name, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for key, value in attrs.asdict(chip).items():
        table.add_row(key, "\n".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value))
    return table


def _overview(listed: tuple[Chip, ...]) -> Table:
    table = Table(title="Chips (choose with DRYNPU_CHIP or drynpu run --chip)")
    table.add_column("name", no_wrap=True)
    for heading in ("cores\ncube/vec", "MHz", "TFLOPS\n16 bit", "memory\nGiB", "GB/s", "L2\nMiB", "platform"):
        table.add_column(heading, justify="right", no_wrap=True)
    for chip in listed:
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
