"""Where each step of the schedule lies on the host and on the device (torch_npu_profiler.md 5.2)."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.analysis._kept import once_per_profile, stated_first
from drynpu.analysis._links import link_operators
from drynpu.tables import Profile, intervals

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

_EVER_NS = 2**63 - 1

STEP_RANGES = pl.Schema([*HOST_STEPS.items(), ("device_start_ns", pl.Int64), ("device_end_ns", pl.Int64)])


def host_steps(profile: Profile) -> pl.DataFrame:
    """Return table :data:`HOST_STEPS`, one row per ``ProfilerStep#k`` at a root of the operator tree, in host order."""
    ops = profile.compact("host_ops", "op_id", "name", "start_ns", "end_ns", "tid")
    root = intervals.roots(ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy())
    return (
        ops.filter(pl.Series(root == np.arange(len(root)), dtype=pl.Boolean))
        .with_columns(pl.col("name").cast(pl.String))
        .filter(pl.col("name").str.contains(STEP_NAME))
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

    On the device a step begins with the first start of its lowest correlation id and ends with the last end of its
    highest one, but not before the host's end.
    """
    steps, links = host_steps(profile), link_operators(profile)
    root = links.op_root[links.kernel_op["op_id"].to_numpy()]
    is_step = np.zeros(len(links.op_root), bool)
    is_step[steps["op_id"].to_numpy()] = True
    correlation = pl.col("correlation_id")
    # Only what steps launched is sorted into groups: without steps every operator would be a group of its own.
    launches = (
        links.kernel_op.select(
            correlation,
            pl.col("start_ns").alias("first"),
            (pl.col("start_ns") + pl.col("duration_ns")).alias("last"),
            pl.Series("root", root, dtype=pl.Int64),
        )
        .filter(pl.Series(is_step[root], dtype=pl.Boolean))
        .group_by("root")
        .agg(
            pl.col("first").filter(correlation == correlation.min()).min().alias("device_start_ns"),
            pl.col("last").filter(correlation == correlation.max()).max(),
        )
    )
    return (
        steps.join(launches, left_on="op_id", right_on="root", how="inner", maintain_order="left")
        .with_columns(pl.max_horizontal("last", "host_end_ns").alias("device_end_ns"))
        .select(pl.col(name).cast(dtype) for name, dtype in STEP_RANGES.items())
    )


def launched_ranges(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`STEP_RANGES` by the rule of the vendor's databases (torch_npu_profiler.md 5.2).

    A step of the schedule reaches over all tasks of the node calls that lie within it on the host, but not less far
    than the host; one without tasks has the host's times. Without a schedule there is one range, from the first task
    of a node call on, whose step is null.
    """
    steps = host_steps(profile)
    nodes = profile.compact("api", "connection_id", "level", "start_ns", "end_ns").filter(
        pl.col("level").cast(pl.String) == "node"
    )
    tasks = profile.compact("tasks", "connection_id", "start_ns", "duration_ns")
    ends = (pl.col("start_ns") + pl.col("duration_ns")).alias("last")
    tasks = tasks.select("connection_id", pl.col("start_ns").alias("first"), ends)
    if not steps.height:
        first = tasks.join(nodes, on="connection_id", how="semi")["first"].min()
        whole = {"device_start_ns": 0 if first is None else first, "device_end_ns": _EVER_NS}
        return pl.DataFrame([{"step_id": None, "host_start_ns": None, **whole}], schema=STEP_RANGES)
    within = nodes.sort("start_ns").join_asof(
        steps.sort("host_start_ns"), left_on="start_ns", right_on="host_start_ns", strategy="backward"
    )
    reached = (
        within.filter(pl.col("end_ns") <= pl.col("host_end_ns"))
        .join(tasks, on="connection_id", how="inner")
        .group_by("op_id")
        .agg(pl.col("first").min(), pl.col("last").max())
    )
    return (
        steps.join(reached, on="op_id", how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("first", "host_start_ns").alias("device_start_ns"),
            pl.max_horizontal("last", "host_end_ns").alias("device_end_ns"),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in STEP_RANGES.items())
    )


def steps_at(start_ns: pl.Series, ranges: pl.DataFrame, *, with_end: bool = False) -> pl.Series:
    """
    Return the step id of device times: the first step whose device range holds it; else null.

    Parameters
    ----------
    start_ns:
        Int64, in any order.
    ranges:
        Table of :func:`step_ranges`.
    with_end:
        Whether the end belongs to the range. For kernels it does not: the vendor compares texts, and that of a start
        is longer by a TAB. For communication it does.
    """
    times = start_ns.to_numpy()
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    found = np.full(len(times), -1, np.int64)
    # Ranges may overlap on several streams; the earlier step is written last and so wins.
    for step in reversed(ranges.rows(named=True)):
        low = np.searchsorted(ordered, step["device_start_ns"], side="left")
        high = np.searchsorted(ordered, step["device_end_ns"], side="right" if with_end else "left")
        found[order[low:high]] = step["step_id"]
    step_id: pl.Series = pl.Series("step_id", found, dtype=pl.Int64).replace({-1: None})
    return step_id
