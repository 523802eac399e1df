"""TASK_PMU_INFO of the database: the counters of kernels, one row for each (cann_msprof.md 4.6)."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.deliverables.db_columns import Rows
from drynpu.deliverables.tasks._task_ids import TASK_ID, kernel_task_ids
from drynpu.deliverables.units import GB
from drynpu.kernels import absent_columns
from drynpu.tables import Profile

_CORE_TIMES = {"aicore_time(us)": "total_time", "aiv_time(us)": "aiv_total_time"}
_NS_PER_US = 1000.0
_FROM_DURATION = ("cube_utilization(%)", "memory_bound")
"""Columns of op_summary that are worked out from the task's duration, which the database does not keep."""


def db_rows(profile: Profile) -> Rows:
    """
    Yield the values of each counter column of op_summary, not rounded; kernels that do not have it give no row.

    Units that a kind of core lacks are there as 0, unlike in op_summary.

    Times are ns; names are the same as in the toolkit's own tables (Ascend/msprof, unified_pmu_processor.cpp).
    """
    columns = [name for name in profile.pmu_columns if name not in _FROM_DURATION]
    if not columns or profile.level == "level0" or not profile.platform.tasks.stars:
        return
    for column in columns:
        name, scale = counter_name(column, split="aiv_time(us)" in profile.pmu_columns)
        for rows in _counted(profile, column, pl.col(column).cast(pl.Float64).fill_nan(None)):
            yield _named(rows, name, pl.col("value") * scale)
    known = profile.aic_metrics in profile.platform.counter_groups
    for column in absent_columns(profile.aic_metrics, profile.platform) if known else ():
        for rows in _counted(profile, columns[0], pl.col(columns[0])):
            yield _named(rows, counter_name(column, split=True)[0], pl.lit(0.0).alias("value"))


def _counted(profile: Profile, column: str, value: pl.Expr) -> Iterator[pl.DataFrame]:
    """Yield part by part the kernels that have a value of a counter, by the numbers of their tasks."""
    ids, offset = kernel_task_ids(profile), 0
    for part in profile.table("kernels").slices(column):
        numbers = ids.slice(offset, part.height).cast(pl.Int64).alias(TASK_ID)
        yield part.select(numbers, value.alias("value")).drop_nulls()
        offset += part.height


def _named(rows: pl.DataFrame, name: str, value: pl.Expr) -> tuple[str, pl.DataFrame]:
    return "TASK_PMU_INFO", rows.select(TASK_ID, pl.lit(name, pl.String).alias("name"), value)


def counter_name(column: str, *, split: bool) -> tuple[str, float]:
    """
    Return the name of a counter in the database and the factor to its unit.

    Bandwidths are bytes/s where one kind of core does everything; the path of the toolkit that computes bandwidths of
    *split* cores leaves them in GB/s.
    """
    if column in _CORE_TIMES:
        name = _CORE_TIMES[column]
        return (f"aic_{name}" if split and name == "total_time" else name), _NS_PER_US
    for unit, scale in (("(us)", _NS_PER_US), ("(GB/s)", 1.0 if split else GB), ("(KB)", 1.0)):
        if column.endswith(unit):
            return column.removesuffix(unit), scale
    return column, 1.0
