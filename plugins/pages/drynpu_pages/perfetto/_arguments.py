"""What a viewer shows of an event that is clicked: all that its table knows of it."""

from __future__ import annotations

import polars as pl

from drynpu.arrays import I64
from drynpu.tables import NO_CONTEXT, Profile

_LONG = ("tasks", "host_ops", "queue", "api")
_KERNEL_KEY = ("device_id", "stream_id", "task_id", "start_ns")
_SHOWN_ANYHOW = (
    "op_id", "node_start_ns", "node_tid", "row", "name", "start_ns", "end_ns", "duration_ns", "device_id",
    "kernel_name", "kernel_type", "pid", "level",
)  # fmt: skip
_NOTHING = (NO_CONTEXT, -1, 0)
"""Numbers that say that there is none: a viewer shows a row for each argument."""


def arguments_of(profile: Profile, source: str, rows: I64) -> pl.DataFrame:
    """Return what is known of rows of a table, null where it is not: texts, some as categories, and numbers."""
    places = pl.Series(rows.astype("int64"))
    if source in _LONG:
        table = profile.table(source).gather_compact(places)
        table = _with_kernels(profile, table) if source == "tasks" else table
    elif source == "communication_ops":
        table = profile.communication_ops[rows]
    else:
        table = profile.frame(source)[rows] if source in profile.schemas else pl.DataFrame()
    return table.select(_known(name, dtype) for name, dtype in table.schema.items() if name not in _SHOWN_ANYHOW)


def _with_kernels(profile: Profile, tasks: pl.DataFrame) -> pl.DataFrame:
    """Return tasks with the columns that the table of kernels has of them: shapes, types, counters."""
    first, last = tasks["start_ns"].min(), tasks["start_ns"].max()
    keys = profile.compact("kernels", *_KERNEL_KEY).with_row_index("kernel")
    keys = keys.filter(pl.col("start_ns").is_between(first, last)).unique(_KERNEL_KEY)
    rows = tasks.select(_KERNEL_KEY).join(keys, on=_KERNEL_KEY, how="left", maintain_order="left")["kernel"]
    kernels = profile.table("kernels").gather_compact(rows)
    return tasks.hstack(kernels.select(name for name in kernels.columns if name not in tasks.columns))


def _known(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if dtype in (pl.String, pl.Categorical):
        return pl.when(column != "").then(column)
    if dtype == pl.Boolean:
        return pl.when(column).then(pl.lit("yes")).alias(name)
    if dtype.is_numeric():
        return pl.when(pl.all_horizontal(column != number for number in _NOTHING)).then(column)
    return column
