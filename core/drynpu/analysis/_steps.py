"""Where each step of the schedule lies on the host and on the device (torch_npu_profiler.md 5.2)."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.analysis._kept import once_per_profile, stated_first
from drynpu.analysis._links import Links, link_operators
from drynpu.arrays import I64
from drynpu.tables import Profile

STEP_NAME = r"^ProfilerStep#(\d+)$"

HOST_STEPS = pl.Schema(
    {
        "step_id": pl.Int64,
        "op_id": pl.Int64,
        "host_start_ns": pl.Int64,
        "host_end_ns": pl.Int64,
        "tid": pl.Int64,
    }
)
"""Every step of the schedule, whether it launched something or not."""

STEP_RANGES = pl.Schema([*HOST_STEPS.items(), ("device_start_ns", pl.Int64), ("device_end_ns", pl.Int64)])


def host_steps(profile: Profile) -> pl.DataFrame:
    """Return table :data:`HOST_STEPS`, one row per ``ProfilerStep#k`` at a root of the operator tree, in host order."""
    links = link_operators(profile)
    return (
        profile.host_ops.filter(
            pl.Series(links.op_parent < 0, dtype=pl.Boolean) & pl.col("name").str.contains(STEP_NAME)
        )
        .with_columns(
            pl.col("name").str.extract(STEP_NAME).alias("step_id"),
            pl.col("start_ns").alias("host_start_ns"),
            pl.col("end_ns").alias("host_end_ns"),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in HOST_STEPS.items())
    )


@stated_first
@once_per_profile
def step_ranges(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`STEP_RANGES`, one row per ``ProfilerStep#k`` that launched device work, in host order.

    On the device a step begins with the first start of its first correlation id (in order of launch) and ends with
    the last end of its last one, but not before the host's end.
    """
    steps, links = host_steps(profile), link_operators(profile)
    launches = (
        links.kernel_op.with_columns(
            pl.Series("root", _roots(links)[links.kernel_op["op_id"].to_numpy()], dtype=pl.Int64)
        )
        .group_by("root", "correlation_id")
        .agg(pl.col("start_ns").min().alias("first"), (pl.col("start_ns") + pl.col("duration_ns")).max().alias("last"))
        .join(_order(profile), on="correlation_id", how="left")
        .with_columns(pl.col("position").fill_null(pl.col("correlation_id")))
        .sort("root", "position")
        .group_by("root", maintain_order=True)
        .agg(pl.col("first").first().alias("device_start_ns"), pl.col("last").last())
    )
    return (
        steps.join(launches, left_on="op_id", right_on="root", how="inner", maintain_order="left")
        .with_columns(pl.max_horizontal("last", "host_end_ns").alias("device_end_ns"))
        .select(pl.col(name).cast(dtype) for name, dtype in STEP_RANGES.items())
    )


def _order(profile: Profile) -> pl.DataFrame:
    """Return when each correlation id was enqueued; empty without a task queue, where the id is the time itself."""
    put = profile.queue.filter(pl.col("side") == "enqueue")
    return put.select("correlation_id", pl.col("start_ns").alias("position")).unique("correlation_id", keep="first")


def _roots(links: Links) -> I64:
    root = np.arange(len(links.op_parent), dtype=np.int64)
    for level in links.ancestry[1:]:
        root[level] = root[links.op_parent[level]]
    return root


def steps_at(start_ns: pl.Series, ranges: pl.DataFrame) -> pl.Series:
    """
    Return the step id of device times: the first step whose device range holds it, both ends included; else null.

    Parameters
    ----------
    start_ns:
        Int64, in any order.
    ranges:
        Table of :func:`step_ranges`.
    """
    times = start_ns.to_numpy()
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    found = np.full(len(times), -1, np.int64)
    # Ranges may overlap on several streams; the earlier step is written last and so wins.
    for step in reversed(ranges.rows(named=True)):
        low = np.searchsorted(ordered, step["device_start_ns"], side="left")
        high = np.searchsorted(ordered, step["device_end_ns"], side="right")
        found[order[low:high]] = step["step_id"]
    step_id: pl.Series = pl.Series("step_id", found, dtype=pl.Int64).replace({-1: None})
    return step_id
