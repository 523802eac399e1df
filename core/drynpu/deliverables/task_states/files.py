"""task_time of the 310 (cann_msprof.md 4.3): one row for each task, with shares, and the time in each state."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from drynpu.layouts.schedulers import TsTaskType
from drynpu.tables import Profile
from drynpu.writers.number_text import UNKNOWN, Writer, statistic_text

READ_TABLES = ("task_states",)
_TYPES: Mapping[int, str] = {
    TsTaskType.AI_CORE: "kernel AI core task",
    TsTaskType.AI_CPU: "kernel AI cpu task",
    TsTaskType.EVENT_RECORD: "event record task",
    TsTaskType.STREAM_WAIT_EVENT: "stream wait event task",
    TsTaskType.MEMCPY_ASYNC: "memory copy task",
    TsTaskType.NOTIFY_WAIT: "notify wait task",
    TsTaskType.NOTIFY_RECORD: "notify record task",
    6: "maintenance task",
    7: "create stream task",
    9: "event notify task",
    12: "model maintaince task",
    13: "model execute task",
    18: "stream switch task",
    19: "stream active task",
    23: "profiler trace task",
    24: "event reset task",
}
"""What the toolkit calls types of tasks (Ascend/msprof common_func/ms_constant/str_constant.py); others are unknown."""

_KEY = ("device_id", "task_type", "task_id", "stream_id")


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return task_time, by share."""
    waiting, pending, running, complete = (
        pl.col(f"{state}_ns") for state in ("waiting", "pending", "running", "complete")
    )
    ran = complete - pl.coalesce(running, pending, complete)
    began = pl.when(running >= waiting).then(running).otherwise(complete)
    states, names = profile.frame("task_states"), _kernel_names(profile)
    tasks = (
        states.group_by(*_KEY)
        .agg(
            (complete - running).sum().alias("running"),
            (began - waiting).sum().alias("waiting"),
            (complete - pending).sum().alias("pending"),
            pl.len().alias("count"),
            *(each.alias(name) for name, each in (("avg", ran.mean()), ("min", ran.min()), ("max", ran.max()))),
        )
        .join(names, on=["device_id", "task_id", "stream_id"], how="left")
        .sort(*_KEY)
        .with_columns((100 * pl.col("running") / pl.col("running").sum().over("device_id")).round(6).alias("share"))
        .sort("device_id", "share", descending=[False, True], maintain_order=True)
    )
    kind = pl.col("task_type")
    columns = {"Time(us)": "running", "Avg(us)": "avg", "Min(us)": "min", "Max(us)": "max"}
    columns |= {"Waiting(us)": "waiting", "Running(us)": "running", "Pending(us)": "pending"}
    cells = {title: statistic_text(pl.col(name) / 1000, writer) for title, name in columns.items()}
    table = tasks.select(
        pl.col("device_id").cast(pl.String).alias("Device_id"),
        statistic_text(pl.col("share").fill_nan(0.0), writer).alias("Time(%)"),
        cells.pop("Time(us)").alias("Time(us)"),
        pl.col("count").cast(pl.String).alias("Count"),
        *(text.alias(title) for title, text in cells.items()),
        kind.replace_strict(_TYPES, default=pl.format("unknown {}", kind), return_dtype=pl.String).alias("Type"),
        pl.lit("").alias("API"),
        pl.col("task_id").cast(pl.String).alias("Task ID"),
        pl.col("kernel_name").fill_null(UNKNOWN).alias("Op Name"),
        pl.col("stream_id").cast(pl.String).alias("Stream ID"),
    )
    return {"task_time": table}


def _kernel_names(profile: Profile) -> pl.DataFrame:
    tasks = profile.compact("tasks", "device_id", "task_id", "stream_id", "kernel_name")
    return tasks.filter(pl.col("kernel_name") != "").unique(["device_id", "task_id", "stream_id"], keep="first")
