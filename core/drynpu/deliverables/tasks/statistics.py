"""op_statistic, api_statistic, task_time and the memory samples of the toolkit (cann_msprof.md 4.3)."""

from __future__ import annotations

import polars as pl

from drynpu.tables import Profile
from drynpu.tables.stored import Stored, stored
from drynpu.writers.number_text import Writer, duration_text, statistic_text, us_text, whole_text
from drynpu.writers.text_table import TextTable

_PLAIN = ("Device_id", "stream_id", "task_id", "task_time(us)", "task_start(us)", "task_stop(us)")
"""Columns of task_time whose cells are numbers."""


def op_statistic_table(statistic: pl.DataFrame, writer: Writer) -> pl.DataFrame:
    """
    Return op_statistic as text, by total descending.

    The native writer's average is whole nanoseconds rounded down, as genuine files show (a total of 2839.08 over 56
    calls is shown as 50.697); the Python writer rounds to three decimals.
    """
    average = pl.col("avg_us")
    if writer is Writer.NATIVE:
        total_ns = (pl.col("total_us") * 1000).round(0).cast(pl.Int64)
        average = (total_ns // pl.col("count")).cast(pl.Float64) / 1000
    return statistic.sort("total_us", descending=True, maintain_order=True).select(
        pl.col("device_id").cast(pl.String).alias("Device_id"),
        pl.col("op_type").alias("OP Type"),
        pl.col("core_type").alias("Core Type"),
        pl.col("count").cast(pl.String).alias("Count"),
        statistic_text(pl.col("total_us"), writer).alias("Total Time(us)"),
        statistic_text(pl.col("min_us"), writer).alias("Min Time(us)"),
        statistic_text(average, writer).alias("Avg Time(us)"),
        statistic_text(pl.col("max_us"), writer).alias("Max Time(us)"),
        statistic_text(pl.col("ratio_pct"), writer).alias("Ratio(%)"),
    )


def host_device(writer: Writer, device_ids: tuple[int, ...]) -> str:
    """Return the ``Device_id`` of rows of the host: the Python writer gives them to the first device."""
    return "host" if writer is Writer.NATIVE or not device_ids else str(device_ids[0])


def api_statistic_table(statistic: pl.DataFrame, writer: Writer, profile: Profile) -> pl.DataFrame:
    """
    Return api_statistic as text, by name then level; ``Device_id`` is ``host``, or a number (Python writer).

    Where a run is exported graph by graph, calls of models are pairs of events, which it leaves out.
    """
    device = host_device(writer, profile.device_ids)
    pairs = writer is Writer.PYTHON and not profile.platform.tasks.unique_ids
    calls = statistic.filter(pl.col("level") != "model") if pairs else statistic
    return calls.sort("name", "level", maintain_order=True).select(
        pl.lit(device).alias("Device_id"),
        pl.col("level").alias("Level"),
        pl.col("name").alias("API Name"),
        statistic_text(pl.col("time_us"), writer).alias("Time(us)"),
        pl.col("count").cast(pl.String).alias("Count"),
        statistic_text(pl.col("avg_us"), writer).alias("Avg(us)"),
        statistic_text(pl.col("min_us"), writer).alias("Min(us)"),
        statistic_text(pl.col("max_us"), writer).alias("Max(us)"),
        statistic_text(pl.col("variance"), writer).alias("Variance"),
    )


def task_time_table(tasks: Stored | pl.DataFrame, writer: Writer) -> TextTable:
    """Return task_time as text, by start."""
    start, kept = pl.col("start_ns"), stored(tasks)
    order = kept.order("start_ns", "device_id", "stream_id", "task_id")
    cells = [
        whole_text(pl.col("device_id")).alias("Device_id"),
        pl.col("kernel_name").replace("", "N/A"),
        pl.col("kernel_type").replace("", "N/A"),
        whole_text(pl.col("stream_id")),
        whole_text(pl.col("task_id")),
        duration_text(pl.col("duration_ns"), writer).alias("task_time(us)"),
        us_text(start, "\t").alias("task_start(us)"),
        us_text(start + pl.col("duration_ns"), "\t").alias("task_stop(us)"),
    ]

    def make(offset: int, count: int) -> pl.DataFrame:
        return kept.gather_of(order, offset, count).select(cells)

    return TextTable(tuple(make(0, 0).columns), kept.height, make, frozenset(_PLAIN))
