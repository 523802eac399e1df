"""
``npu-smi info``: the devices, as the vendor's command lists them.

Programs learn from it what there is: verl the release of the driver, builds the name of the chip, a server
the health of a device. What drynpu does not simulate, temperatures and power, is ``NA``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Final

import click

from drynpu.options import Settings
from drynpu.platforms import Chip
from drynpu.recorder import load_chosen_chip

PYTHON_VARIABLE: Final = "_DRYNPU_PYTHON"
"""The interpreter that the command starts: one on ``PATH`` need not have drynpu."""
DRIVER, FIRMWARE = "25.5.2", "7.8.0.7.220"
"""A driver that goes with the simulated CANN, and the firmware that a public listing of a 910B2 shows beside it."""
_NOT_SIMULATED = "drynpu shows info, info -l, info -m, info -t board -i ID [-c 0] and info -t health -i ID"
_TABLE = """\
+------------------------------------------------------------------------------------------------+
| npu-smi {driver:<25}Version: {driver:<53}|
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+"""
_ROW = """\
| {number:<6}{name:<20}| OK            | NA          NA                0    / 0             |
| 0                         | NA            | NA          0    / 0          NA   / {megabytes:<14}|
+===========================+===============+====================================================+"""


def serve_command(environment: MutableMapping[str, str]) -> None:
    """Put the command at the end of ``PATH``, behind a genuine one."""
    folder = str(Path(__file__).with_name("bin"))
    environment[PYTHON_VARIABLE] = sys.executable
    path = environment.get("PATH", os.defpath)
    if folder not in path.split(os.pathsep):
        environment["PATH"] = os.pathsep.join([path, folder])


def _fields(rows: dict[str, object]) -> str:
    return "\n".join(f"\t{name:<31}: {value}" for name, value in rows.items())


def _overview(chip: Chip, devices: int) -> Iterator[str]:
    yield _TABLE.format(driver=DRIVER)
    for number in range(devices):
        yield _ROW.format(number=number, name=chip.name.removeprefix("Ascend"), megabytes=chip.memory_bytes >> 20)


def _cards(_: Chip, devices: int) -> Iterator[str]:
    yield _fields({"Card Count": devices})
    for number in range(devices):
        yield "\n" + _fields({"NPU ID": number, "Product Name": "NA", "Serial Number": "NA", "Chip Count": 1})


def _mapping(chip: Chip, devices: int) -> Iterator[str]:
    names = ("NPU ID", "Chip ID", "Chip Logic ID")
    yield "\t" + "".join(f"{name:<31}" for name in names) + "Chip Name"
    for number in range(devices):
        yield "\t" + "".join(f"{each:<31}" for each in (number, 0, number)) + _spaced(chip)


def _board(chip: Chip, number: int, *, of_chip: bool) -> str:
    if of_chip:
        named = {"Chip Type": "Ascend", "Chip Name": chip.name.removeprefix("Ascend")}
        return _fields({"NPU ID": number, "Chip ID": 0, **named, "PCIe Bus Info": "NA"})
    versions = {"Software Version": DRIVER, "Firmware Version": FIRMWARE, "Compatibility": "OK"}
    return _fields({"NPU ID": number, "Product Name": "NA", **versions, "PCIe Bus Info": "NA", "Chip Count": 1})


def _spaced(chip: Chip) -> str:
    return f"Ascend {chip.name.removeprefix('Ascend')}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="npu-smi", allow_abbrev=False)
    info = parser.add_subparsers(dest="verb", required=True).add_parser("info", allow_abbrev=False)
    info.add_argument("-l", dest="cards", action="store_true")
    info.add_argument("-m", dest="mapping", action="store_true")
    info.add_argument("-t", dest="kind")
    info.add_argument("-i", dest="number", type=int)
    info.add_argument("-c", dest="chip", type=int)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what the command prints; return its exit code."""
    options = _parser().parse_args(arguments)
    settings = Settings.from_environ(os.environ)
    chip, devices = load_chosen_chip(settings), settings.devices
    if options.kind is None:
        lists = _cards if options.cards else _mapping if options.mapping else _overview
        click.echo("\n".join(lists(chip, devices)))
        return 0
    if options.number is None or options.kind not in ("board", "health"):
        click.echo(f"npu-smi: {options.kind} is not simulated here; {_NOT_SIMULATED}", err=True)
        return 1
    if not 0 <= options.number < devices or options.chip not in (None, 0):
        click.echo(f"npu-smi: there is no such device; there are {devices}, of one chip each", err=True)
        return 1
    health = options.kind == "health"
    click.echo(_fields({"Health": "OK"}) if health else _board(chip, options.number, of_chip=options.chip is not None))
    return 0


if __name__ == "__main__":
    sys.exit(main())
