"""aicpu, dp and aicpu_mi (cann_msprof.md 4.4)."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from drynpu.deliverables._task_rates import device_column
from drynpu.deliverables.aicpu.facts import UNKNOWN_SIZE
from drynpu.layouts.result_files import DATA_PREPROCESS_FILE
from drynpu.tables import Profile
from drynpu.writers.number_text import UNKNOWN, Writer, decimal_text, floats_text, us_text

READ_TABLES = ("aicpu_kernels", "data_queue", "queue_waits")

_TIMES = {
    "compute_ns": "Compute_time(us)",
    "copy_ns": "Memcpy_time(us)",
    "run_ns": "Task_time(us)",
    "dispatch_ns": "Dispatch_time(us)",
    "total_ns": "Total_time(us)",
}


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return aicpu, dp and aicpu_mi; the Python writer makes them on every chip."""
    del writer
    return {"aicpu": _kernels(profile), "dp": _queue(profile), "aicpu_mi": _waits(profile)}


def torch_csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return what torch_npu.profiler copies: ``aicpu`` under another name (torch_npu_profiler.md 4.11)."""
    del writer
    return {DATA_PREPROCESS_FILE: _kernels(profile)}


def _kernels(profile: Profile) -> pl.DataFrame:
    return profile.frame("aicpu_kernels").select(
        device_column(),
        us_text(pl.col("start_ns"), "\t").alias("Timestamp(us)"),
        pl.col("name").replace("", UNKNOWN).alias("Node"),
        *(decimal_text(pl.col(name)).alias(title) for name, title in _TIMES.items()),
        pl.col("stream_id").cast(pl.String).alias("Stream ID"),
        pl.col("task_id").cast(pl.String).alias("Task ID"),
    )


def _queue(profile: Profile) -> pl.DataFrame:
    events = profile.frame("data_queue")
    # The writer turns the text of the time into a float, which keeps a quarter of a microsecond of it.
    time = floats_text(events.select(us_text(pl.col("time_ns")).cast(pl.Float64)).to_series())
    return events.select(
        device_column(),
        time.alias("Timestamp(us)"),
        pl.col("action").alias("Action"),
        pl.col("source").alias("Source"),
        pl.col("buffered").cast(pl.String).fill_null(UNKNOWN).alias("Cached Buffer Size"),
    )


def _waits(profile: Profile) -> pl.DataFrame:
    return profile.frame("queue_waits").select(
        device_column(),
        pl.col("name").alias("Node Name"),
        decimal_text(pl.col("start_us") * 1000).alias("Start Time(us)"),
        decimal_text(pl.col("end_us") * 1000).alias("End Time(us)"),
        # A size that nobody counted is shown as it is recorded.
        pl.col("queue_size").fill_null(UNKNOWN_SIZE).cast(pl.String).alias("Queue Size"),
    )
