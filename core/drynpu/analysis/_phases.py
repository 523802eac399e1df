"""The three phases of a step: interval, forward and backward, tail (mindinsight_dashboard.md 4)."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.analysis._graph import iteration_trace
from drynpu.analysis._host_phases import is_backward
from drynpu.analysis._kept import once_per_profile
from drynpu.analysis._steps import step_ranges
from drynpu.analysis.links import link_operators
from drynpu.tables import Profile

STEP_PHASES = pl.Schema(
    {
        "device_id": pl.Int64,
        "step": pl.String,
        "start_ns": pl.Int64,
        "forward_ns": pl.Int64,  # where forward propagation begins
        "backward_ns": pl.Int64,  # where backward propagation ends; null where there is none
        "end_ns": pl.Int64,
    }
)
"""One row per step; interval = forward - start, forward and backward = backward - forward, tail = end - backward."""


@once_per_profile
def step_phases(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`STEP_PHASES`, by device and start; empty where nothing marks the steps.

    Compiled graphs record the two points. Of PyTorch, forward propagation begins with the first kernel of the step,
    and backward propagation ends with the last kernel that an operator of autograd launched. A step begins where the
    one before it ended on the device, the first with its first kernel. Without autograd ``backward_ns`` is null, as in
    inference.
    """
    recorded = iteration_trace(profile)
    if recorded.height:
        return recorded.select(
            "device_id",
            pl.col("iter_id").cast(pl.String).alias("step"),
            "start_ns",
            pl.coalesce("forward_ns", "start_ns").alias("forward_ns"),
            "backward_ns",
            "end_ns",
        )
    return _from_operators(profile)


def _from_operators(profile: Profile) -> pl.DataFrame:
    ranges = step_ranges(profile)
    work = link_operators(profile).kernel_op if ranges.height else pl.DataFrame()
    if work.is_empty():
        return pl.DataFrame(schema=STEP_PHASES)
    backward = _below_autograd(profile)[work["op_id"].to_numpy()]
    placed = (
        work.select("device_id", "start_ns", (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns"))
        .with_columns(pl.Series("is_backward", backward, dtype=pl.Boolean))
        .sort("start_ns")
        .join_asof(
            ranges.select("step_id", "device_start_ns", "device_end_ns").sort("device_start_ns"),
            left_on="start_ns",
            right_on="device_start_ns",
            check_sortedness=False,
        )
        .filter(pl.col("start_ns") <= pl.col("device_end_ns"))
    )
    steps = placed.group_by("device_id", "step_id").agg(
        pl.col("start_ns").min().alias("forward_ns"),
        pl.col("end_ns").filter("is_backward").max().alias("backward_ns"),
        pl.col("end_ns").max().alias("end_ns"),
    )
    before = pl.col("end_ns").shift(1).over("device_id", order_by="forward_ns")
    return (
        steps.with_columns(pl.min_horizontal(before, "forward_ns").fill_null(pl.col("forward_ns")).alias("start_ns"))
        .sort("device_id", "start_ns")
        .select(pl.col("step_id").cast(pl.String).alias("step"), *(n for n in STEP_PHASES if n != "step"))
        .select(STEP_PHASES.names())
    )


def _below_autograd(profile: Profile) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return for every operator whether it is, or was called by, an operator of backward propagation."""
    links = link_operators(profile)
    marked = profile.host_ops.select(is_backward().alias("is_backward"))["is_backward"]
    below: np.ndarray[tuple[int], np.dtype[np.bool_]] = marked.to_numpy().copy()
    for level in links.ancestry[1:]:
        below[level] |= below[links.op_parent[level]]
    return below
