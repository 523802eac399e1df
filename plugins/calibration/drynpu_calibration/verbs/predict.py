"""``drynpu predict``: how long kernels and transfers of a table take."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import orjson
import polars as pl
from rich.table import Table

from drynpu.cli.shared import as_json, console, echo_json
from drynpu.kernels import Tuning, bundled_calibration, load_calibration
from drynpu.plugins import Plugins
from drynpu_calibration._predictions import predict_kernels, predict_transfers

_DECIMALS = 3
_NOTHING = "N/A"


@click.command()
@click.argument("table", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--chip", default="", help="Chip of all rows; by default the column 'chip' names it.")
@click.option("--hccl", is_flag=True, help="The table has transfers and collectives, no kernels.")
@click.option(
    "--calibration", type=click.Path(path_type=Path), envvar="DRYNPU_CALIBRATION", help="Coefficients to use."
)
@click.option("--explain", is_flag=True, help="Sum up by family, bound and support instead of listing rows.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File for the result.")
@as_json
@click.pass_obj
def predict(
    plugins: Plugins,
    table: Path,
    chip: str,
    hccl: bool,
    calibration: Path | None,
    explain: bool,
    output: Path | None,
    json_output: bool,
) -> None:
    """
    Predict the kernels in TABLE, a CSV file with the columns of op_summary or kernel_details in short form.

    Columns: id, chip, op_type, task_type, input_shapes ("4096,1024;1024"), input_dtypes, input_formats, output_*, hf32;
    only op_type, input_shapes and chip (or --chip) are needed. Prints CSV: id, predicted_us, low_us, high_us (80 % of
    kernels lie between), bound, family and support (seen, family, physics: what was measured). A type of which nothing
    is known has N/A in all of them.
    """
    files = plugins.chip_files()
    if hccl:
        predictions = predict_transfers(table, chip=chip, chip_files=files)
    else:
        used = load_calibration(calibration) if calibration else bundled_calibration()
        predictions = predict_kernels(table, chip=chip, tuning=Tuning(calibration=used), chip_files=files)
    if explain and not json_output:
        console().print(_explained(predictions))
        return
    if json_output and output is None:
        echo_json(predictions.to_dicts())
    elif json_output and output is not None:
        output.write_bytes(orjson.dumps(predictions.to_dicts(), option=orjson.OPT_INDENT_2))
    elif output is not None:
        predictions.write_csv(output, float_precision=_DECIMALS, null_value=_NOTHING)
    else:
        sys.stdout.write(predictions.write_csv(float_precision=_DECIMALS, null_value=_NOTHING))


def _explained(predictions: pl.DataFrame) -> Table:
    by = ["family", "bound", "support"]
    groups = predictions.group_by(by).agg(
        pl.len(), *(pl.col(f"{name}_us").sum() for name in ("predicted", "low", "high"))
    )
    shown = Table(title=f"{len(predictions)} kernels, {predictions['predicted_us'].sum() / 1000:.3f} ms")
    for heading in (*by, "rows", "ms", "low ms", "high ms"):
        shown.add_column(heading, justify="left" if heading in by else "right")
    for row in groups.sort("predicted_us", descending=True).iter_rows():
        times = (_NOTHING if row[0] is None else f"{us / 1000:.3f}" for us in row[4:])
        shown.add_row(*(each or _NOTHING for each in row[:3]), str(row[3]), *times)
    return shown
