"""Totals by operator type and by API (cann_msprof.md 4.3)."""

from __future__ import annotations

import polars as pl

from drynpu.analysis._call_sums import sum_calls
from drynpu.analysis._kept import stated_first
from drynpu.tables import Profile

OP_STATISTIC = pl.Schema(
    {
        "device_id": pl.Int64,
        "op_type": pl.String,
        "core_type": pl.String,
        "count": pl.Int64,
        "total_us": pl.Float64,
        "min_us": pl.Float64,
        "avg_us": pl.Float64,
        "max_us": pl.Float64,
        "ratio_pct": pl.Float64,  # of the device
    }
)

API_STATISTIC = pl.Schema(
    {
        "level": pl.String,
        "name": pl.String,
        "time_us": pl.Float64,
        "count": pl.Int64,
        "avg_us": pl.Float64,
        "min_us": pl.Float64,
        "max_us": pl.Float64,
        "variance": pl.Float64,  # of the population, us^2
    }
)


@stated_first
def op_statistic(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`OP_STATISTIC`: kernels by operator and core type, per device by total time descending.

    Empty at level0, where operator types are not recorded. Communication operations are not kernels. Kernels whose
    time is not known have no share.
    """
    keys, duration = ("device_id", "op_type", "core_type"), pl.col("duration_ns")
    parts = pl.concat(
        part.filter((pl.col("op_type") != "") & (duration > 0))
        .group_by("device_id", "op_type", pl.col("task_type").alias("core_type"))
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            duration.sum().alias("total"),
            duration.min().alias("least"),
            duration.max().alias("most"),
        )
        for part in profile.table("kernels").slices("device_id", "op_type", "task_type", "duration_ns")
    )
    total = pl.col("total").sum().over("device_id")
    return (
        parts.group_by(keys)
        .agg(pl.col("count", "total").sum(), pl.col("least").min(), pl.col("most").max())
        .sort("device_id", "total", "op_type", "core_type", descending=[False, True, False, False])
        .with_columns(
            (pl.col("total") / 1000).alias("total_us"),
            (pl.col("least") / 1000).alias("min_us"),
            (pl.col("total") / pl.col("count") / 1000).alias("avg_us"),
            (pl.col("most") / 1000).alias("max_us"),
            pl.when(total > 0).then(pl.col("total") * 100 / total).otherwise(0.0).alias("ratio_pct"),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in OP_STATISTIC.items())
    )


@stated_first
def api_statistic(profile: Profile) -> pl.DataFrame:
    """Return table :data:`API_STATISTIC`: host API calls by level and name, sorted by name, then level."""
    # Summed in whole nanoseconds: the mean of squares of long calls would lose the variance of short ones.
    rows = [
        (*key, sums.total_ns, sums.count, sums.total_ns / sums.count, sums.least_ns, sums.most_ns, sums.variance)
        for key, sums in sum_calls(profile.table("api")).items()
    ]
    columns = ("level", "name", "time_us", "count", "avg_us", "min_us", "max_us", "variance")
    kinds = (*[pl.String] * 2, *[pl.Int64] * 2, pl.Float64, *[pl.Int64] * 2, pl.Float64)
    return (
        pl.DataFrame(rows, schema=dict(zip(columns, kinds, strict=True)), orient="row")
        .with_columns(*(pl.col(name) / 1000 for name in columns if name.endswith("_us")), pl.col("variance") / 1e6)
        .sort("name", "level")
    )
