"""``drynpu validate``: the model of kernel times against a genuine profile."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click
import polars as pl
from attrs import asdict
from rich.table import Table

from drynpu.cli.shared import as_json, console, echo_json
from drynpu.kernels import bundled_calibration, load_calibration
from drynpu.plugins import Plugins
from drynpu_calibration._called_kernels import LaunchComparison
from drynpu_calibration._genuine import chip_option, read_genuine, read_launches
from drynpu_calibration._measured import known_kernels, validate_kernels

_HEADINGS = ("kernels", "launches", "real\nms", "model\nms")
_ERRORS = ("total\nerror", "median\nerror", "within\n25 %", "in\nrange")
"""Short, so that the table fits 100 characters."""


@click.command()
@click.argument("directory", type=click.Path(exists=True, path_type=Path))
@chip_option
@click.option(
    "--calibration", type=click.Path(path_type=Path), envvar="DRYNPU_CALIBRATION", help="Coefficients to use."
)
@click.option("--types", is_flag=True, help="Show a row for each kernel type instead of each family.")
@as_json
@click.pass_obj
def validate(
    plugins: Plugins, directory: Path, chip: str, calibration: Path | None, types: bool, json_output: bool
) -> None:
    """
    Say how far off the model of kernel times is for the kernels of the genuine profile in DIRECTORY.

    "real" and "model" are the time of all launches as measured and as predicted, and the total error compares them.
    Each different kernel counts once for the rest: the median error, the share with an error of at most 25 %, and the
    share that lies in the range of its prediction (80 % when the ranges are right).

    Where the profile has PyTorch's operators with their shapes, a second table has those that launched other types of
    kernels than drynpu would launch for the same call. A profile has no values (strides, axes), on which some depend.
    """
    used = load_calibration(calibration) if calibration else bundled_calibration()
    kernels = known_kernels(read_genuine([directory], chip, plugins), used)
    groups = validate_kernels(kernels, used, by="type" if types else "family")
    launches = read_launches(directory, plugins)
    if json_output:
        echo_json({"groups": groups.to_dicts(), "left_out": kernels.left_out, "launches": _counted(launches)})
        return
    out = console()
    out.print(_shown(groups, (("type", "support") if types else ("family", "types")) + _HEADINGS + _ERRORS))
    for text, count in kernels.left_out.items():
        out.print(f"{count} launches are not part of this: {text}")
    if launches is not None:
        out.print(_differing(launches))


def _counted(launches: LaunchComparison | None) -> dict[str, object] | None:
    """Return the comparison of launches for ``--json``."""
    if launches is None:
        return None
    return {**asdict(launches, recurse=False), "table": launches.table.to_dicts()}


def _differing(launches: LaunchComparison) -> Table:
    """Return the operators that launch other kernels here, with what is on one side alone."""
    title = (
        f"{launches.equal} of {launches.operators} operators launch the same kernels here.\n"
        f"Of {launches.kernels} kernels {launches.missing} are not launched here, and {launches.added} others are"
    )
    shown = Table(title=title)
    for heading in ("operator", "calls", "only in the profile", "only here"):
        shown.add_column(heading, justify="right" if heading == "calls" else "left", overflow="fold")
    for operator, calls, genuine, predicted in launches.table.iter_rows():
        there, here = Counter(genuine), Counter(predicted)
        shown.add_row(operator, str(calls), _listed(there - here), _listed(here - there))
    return shown


def _listed(types: Counter[str]) -> str:
    return ", ".join(f"{kind} x{count}" if count > 1 else kind for kind, count in types.items())


def _shown(groups: pl.DataFrame, headings: tuple[str, ...]) -> Table:
    spent, said = (float(groups[name].sum()) for name in ("measured_ms", "predicted_ms"))
    title = f"{groups['kernels'].sum()} different kernels: {spent:.3f} ms measured, {said:.3f} ms predicted"
    shown = Table(title=f"{title}, {said / spent - 1:+.1%}")
    for index, heading in enumerate(headings):
        shown.add_column(heading, justify="right" if index and heading != "support" else "left", no_wrap=not index)
    for row in groups.iter_rows():
        head, (measured, predicted, off, median, within, inside) = row[:4], row[4:]
        shown.add_row(
            *map(str, head),
            *(f"{milliseconds:.3f}" for milliseconds in (measured, predicted)),
            *(f"{off:+.0%}", f"{median:.0%}", f"{within:.0%}", f"{inside:.0%}"),
        )
    return shown
