"""Where each step of the schedule lies on the host and on the device (torch_npu_profiler.md 5.2)."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.analysis._kept import once_per_profile, stated_first
from drynpu.analysis.links import Links, link_operators
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

_EVER_NS, _NEVER_NS = 2**63 - 1, -(2**63)

STEP_RANGES = pl.Schema([*HOST_STEPS.items(), ("device_start_ns", pl.Int64), ("device_end_ns", pl.Int64)])


def host_steps(profile: Profile) -> pl.DataFrame:
    """Return table :data:`HOST_STEPS`, one row per ``ProfilerStep#k`` at a root of the operator tree, in host order."""
    marked, reached_ns = [], _NEVER_NS
    for ops in profile.table("host_ops").slices("op_id", "name", "start_ns", "end_ns", "tid"):
        # A root starts after all earlier ends (`intervals.roots`).
        reached = np.maximum.accumulate(np.append(reached_ns, ops["end_ns"].to_numpy()))
        is_root = ops["start_ns"].to_numpy() > reached[:-1]
        marked.append(ops.filter(pl.Series(is_root, dtype=pl.Boolean) & ops["name"].str.contains(STEP_NAME)))
        reached_ns = int(reached[-1])
    return (
        pl.concat(marked)
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
    steps = host_steps(profile)
    if steps.is_empty():
        return pl.DataFrame(schema=STEP_RANGES)
    launches = _step_launches(link_operators(profile), steps["op_id"])
    return (
        steps.join(launches, left_on="op_id", right_on="root", how="inner", maintain_order="left")
        .with_columns(pl.max_horizontal("last", "host_end_ns").alias("device_end_ns"))
        .select(pl.col(name).cast(dtype) for name, dtype in STEP_RANGES.items())
    )


def _step_launches(links: Links, steps: pl.Series) -> pl.DataFrame:
    """
    Return for each step that launched something (``root``) when its first work began and its last one ended.

    First is what has the lowest correlation id, last what has the highest.
    """
    root, bounds = links.op_root, []
    for part in links.table.slices("op_id", "correlation_id", "start_ns", "duration_ns"):
        work = part.select(
            pl.Series("root", root[part["op_id"].to_numpy()]),
            pl.col("correlation_id").alias("low"),
            pl.col("correlation_id").alias("high"),
            pl.col("start_ns").alias("device_start_ns"),
            (pl.col("start_ns") + pl.col("duration_ns")).alias("last"),
        )
        bounds.append(_bounds(work.filter(pl.col("root").is_in(steps.implode()))))
    return _bounds(pl.concat(bounds))


def _bounds(work: pl.DataFrame) -> pl.DataFrame:
    low, high = pl.col("low"), pl.col("high")
    return work.group_by("root").agg(
        low.min(),
        high.max(),
        pl.col("device_start_ns").filter(low == low.min()).min(),
        pl.col("last").filter(high == high.max()).max(),
    )


def launched_ranges(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`STEP_RANGES` by the rule of the vendor's databases (torch_npu_profiler.md 5.2).

    A step of the schedule reaches over all tasks of the node calls that lie within it on the host, but not less far
    than the host; one without tasks has the host's times. Without a schedule there is one range, from the first task
    of a node call on, whose step is null.
    """
    steps = host_steps(profile)
    api, tasks = profile.table("api"), profile.table("tasks")
    node = pl.col("level") == "node"
    times = ("connection_id", "start_ns", "duration_ns")
    if not steps.height:
        nodes = pl.concat(part.filter(node)["connection_id"] for part in api.slices("level", "connection_id"))
        nodes = nodes.sort()
        first = pl.concat(part.filter(_have(nodes, part))["start_ns"] for part in tasks.slices(*times)).min()
        whole = {"device_start_ns": 0 if first is None else first, "device_end_ns": _EVER_NS}
        return pl.DataFrame([{"step_id": None, "host_start_ns": None, **whole}], schema=STEP_RANGES)
    ordered = steps.sort("host_start_ns")
    within = pl.concat(
        part.filter(node)
        .sort("start_ns")
        .join_asof(ordered, left_on="start_ns", right_on="host_start_ns", strategy="backward")
        .filter(pl.col("end_ns") <= pl.col("host_end_ns"))
        .select("connection_id", "op_id")
        for part in api.slices("connection_id", "level", "start_ns", "end_ns")
    )
    ends = (pl.col("start_ns") + pl.col("duration_ns")).alias("last")
    reached = pl.concat(
        part.select("connection_id", pl.col("start_ns").alias("first"), ends)
        .join(within, on="connection_id", how="inner")
        .group_by("op_id")
        .agg(pl.col("first").min(), pl.col("last").max())
        for part in tasks.slices(*times)
    )
    reached = reached.group_by("op_id").agg(pl.col("first").min(), pl.col("last").max())
    return (
        steps.join(reached, on="op_id", how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("first", "host_start_ns").alias("device_start_ns"),
            pl.max_horizontal("last", "host_end_ns").alias("device_end_ns"),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in STEP_RANGES.items())
    )


def _have(ordered: pl.Series, tasks: pl.DataFrame) -> pl.Series:
    """Return which tasks have one of these connection ids, which are in order."""
    ids, wanted = ordered.to_numpy(), tasks["connection_id"].to_numpy()
    if not len(ids):
        return pl.Series(np.zeros(len(wanted), bool))
    return pl.Series(ids[np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)] == wanted)


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
        Whether the end belongs to the range. For kernels it does not: the vendor compares texts, and the text of a
        start is longer by a TAB. For communication it does.
    """
    times = start_ns.to_numpy()
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    step_ids = np.full(len(times), -1, np.int64)
    # Ranges may overlap on several streams; the earlier step is written last and so wins.
    for step in reversed(ranges.rows(named=True)):
        low = np.searchsorted(ordered, step["device_start_ns"], side="left")
        high = np.searchsorted(ordered, step["device_end_ns"], side="right" if with_end else "left")
        step_ids[order[low:high]] = step["step_id"]
    step_id: pl.Series = pl.Series("step_id", step_ids, dtype=pl.Int64).replace({-1: None})
    return step_id
