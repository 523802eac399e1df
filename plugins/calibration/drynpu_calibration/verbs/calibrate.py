"""``drynpu calibrate``: coefficients of the model from genuine profiles."""

from __future__ import annotations

from pathlib import Path

import attrs
import click
from rich.table import Table

from drynpu.cli.shared import as_json, console, echo_json
from drynpu.kernels import CALIBRATION_VARIABLE, bundled_calibration
from drynpu.plugins import Plugins
from drynpu_calibration._genuine import chip_option, read_genuine
from drynpu_calibration._measured import Errors, recalibrate


@click.command()
@click.argument("directories", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@chip_option
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="File to write.")
@as_json
@click.pass_obj
def calibrate(plugins: Plugins, directories: tuple[Path, ...], chip: str, output: Path, json_output: bool) -> None:
    """
    Fit the model of kernel times to genuine profiles in DIRECTORIES, all of one chip.

    The file holds the bundled coefficients of the chip's generation, moved by as much as the profiles show. Errors are
    shown for each half of the kernels with the other half fitted. Use the file with --calibration, or name it in
    DRYNPU_CALIBRATION for recordings.
    """
    recalibration = recalibrate(read_genuine(directories, chip, plugins), bundled_calibration())
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(recalibration.text, encoding="utf-8")
    if json_output:
        echo_json({"output": str(output), **attrs.asdict(recalibration, filter=attrs.filters.exclude("text"))})
        return
    shown = Table(title=f"{recalibration.after.kernels} different kernels, each half predicted from the other")
    for heading in ("coefficients", "median error", "within 25 %", "total time"):
        shown.add_column(heading, justify="left" if heading == "coefficients" else "right")
    for name, errors in (("bundled", recalibration.before), ("fitted", recalibration.after)):
        shown.add_row(name, *_cells(errors))
    out = console()
    out.print(shown)
    for text, count in recalibration.left_out.items():
        out.print(f"{count} launches are not part of this: {text}")
    if recalibration.after.median >= recalibration.before.median:
        out.print("Fitted coefficients are no better for kernels they did not see: the bundled ones serve as well.")
    out.print(f"Wrote {output}; name it with --calibration or {CALIBRATION_VARIABLE}.", soft_wrap=True)


def _cells(errors: Errors) -> tuple[str, str, str]:
    return f"{errors.median:.1%}", f"{errors.within_quarter:.0%}", f"{errors.total:+.1%}"
