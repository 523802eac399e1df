"""How busy the threads of the host were."""

from __future__ import annotations

import polars as pl

from drynpu.analysis import once_per_profile
from drynpu.tables import STEP_PREFIX, Profile

THREAD_LOAD = pl.Schema(
    {
        "tid": pl.Int64,
        "operators": pl.Int64,
        "operator_ns": pl.Int64,  # in which at least one operator was running
        "calls": pl.Int64,
        "call_ns": pl.Int64,  # in which at least one call of the toolkit was running
        "span_ns": pl.Int64,  # of the recording on the host, the same for all threads
    }
)
"""One row per thread that ran an operator of a framework or called the toolkit, the busiest first."""

_USER_SCOPE = 7
"""Scope of ranges that a script or a library only marks (RecordScope::USER_SCOPE of PyTorch)."""


@once_per_profile
def thread_load(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`THREAD_LOAD`.

    Times of what runs inside each other count once. Ranges that only mark something, such as steps, do not count.
    """
    ops = profile.host_ops.select("name", "scope", "tid", "start_ns", "end_ns")
    marks = pl.col("name").str.starts_with(STEP_PREFIX) | (pl.col("scope") == _USER_SCOPE).fill_null(value=False)
    calls = profile.compact("api", "tid", "start_ns", "end_ns")
    whole = pl.concat([ops.select("start_ns", "end_ns"), calls.select("start_ns", "end_ns")])
    if whole.is_empty():
        return pl.DataFrame(schema=THREAD_LOAD)
    span = int(whole["end_ns"].max()) - int(whole["start_ns"].min())  # type: ignore[arg-type]
    busy = _busy(ops.filter(~marks), "operators", "operator_ns")
    called = _busy(calls, "calls", "call_ns")
    return (
        busy.join(called, on="tid", how="full", coalesce=True)
        .with_columns(pl.exclude("tid").fill_null(0), pl.lit(span).alias("span_ns"))
        .sort(pl.max_horizontal("operator_ns", "call_ns"), "tid", descending=[True, False])
        .select(pl.col(name).cast(dtype) for name, dtype in THREAD_LOAD.items())
    )


def _busy(rows: pl.DataFrame, count: str, time: str) -> pl.DataFrame:
    """Return by thread how many rows there are, and the time that at least one of them covers."""
    reached = pl.col("end_ns").cum_max().shift(1).over("tid")
    alone = pl.col("end_ns") - pl.max_horizontal("start_ns", reached)
    return (
        rows.sort("tid", "start_ns")
        .select("tid", alone.clip(lower_bound=0).alias("alone_ns"))
        .group_by("tid")
        .agg(pl.len().cast(pl.Int64).alias(count), pl.col("alone_ns").sum().alias(time))
    )
