"""Columns of csv files with the rates of tasks, and the device that files of samples begin with."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from drynpu.writers.number_text import UNKNOWN, floats_text


def device_column() -> pl.Expr:
    """Return the device of each row as text."""
    return pl.col("device_id").cast(pl.String).alias("Device_id")


def task_rates(tasks: pl.DataFrame, counts: Mapping[str, str | None]) -> pl.DataFrame:
    """
    Return what tasks counted as shares of their ``requests``, as text; *counts* are columns by title.

    A count without a column is ``N/A``. The operator is left out where none is known, as the toolkit does.
    """

    def share(name: str) -> pl.Series:
        rate = pl.when(pl.col("requests") > 0).then(pl.col(name) / pl.col("requests")).otherwise(0.0)
        return floats_text(tasks.select(rate.round(6)).to_series())

    table = tasks.select(
        device_column(),
        pl.col("stream_id").cast(pl.String).alias("Stream Id"),
        pl.col("task_id").cast(pl.String).alias("Task Id"),
        *(pl.lit(UNKNOWN if name is None else share(name)).alias(title) for title, name in counts.items()),
        pl.col("name").replace("", UNKNOWN).alias("Op Name"),
    )
    return table if (tasks["name"] != "").any() else table.drop("Op Name")
