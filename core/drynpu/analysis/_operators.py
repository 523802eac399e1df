"""Host and device time of every framework operator (torch_npu_profiler.md 4.3, 5.4)."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.analysis._kept import stated_first
from drynpu.analysis._links import link_operators, sum_up
from drynpu.analysis._steps import STEP_NAME
from drynpu.arrays import I64
from drynpu.tables import Profile

OPERATOR_DETAILS = pl.Schema(
    {
        "op_id": pl.Int64,
        "name": pl.String,
        "input_shapes": pl.String,
        "call_stack": pl.String,
        "host_self_us": pl.Float64,
        "host_total_us": pl.Float64,
        "device_self_us": pl.Float64,
        "device_total_us": pl.Float64,
        "device_self_aicore_us": pl.Float64,
        "device_total_aicore_us": pl.Float64,
    }
)


@stated_first
def operator_details(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`OPERATOR_DETAILS`: one row per operator in start order, step markers left out.

    Host total is the operator's own duration, host self that less its direct children. Device self adds up the
    device work launched by the operator itself, device total also that of all operators below it; ``aicore`` counts
    only work whose task type is exactly ``AI_CORE``.
    """
    return operator_times(profile).filter(~pl.col("name").str.contains(STEP_NAME))


def operator_times(profile: Profile) -> pl.DataFrame:
    """Return what :func:`operator_details` gives, with the step markers."""
    links = link_operators(profile)
    ops, parent = profile.host_ops, links.op_parent
    duration = (ops["end_ns"] - ops["start_ns"]).to_numpy()
    children = np.zeros(len(duration), np.int64)
    np.add.at(children, parent[parent >= 0], duration[parent >= 0])
    device = _self_time(links.kernel_op, len(duration))
    aicore = _self_time(links.kernel_op.filter(pl.col("task_type") == "AI_CORE"), len(duration))
    times = {
        "host_self_us": duration - children,
        "host_total_us": duration,
        "device_self_us": device,
        "device_total_us": sum_up(links, device),
        "device_self_aicore_us": aicore,
        "device_total_aicore_us": sum_up(links, aicore),
    }
    return ops.select("op_id", "name", "input_shapes", "call_stack").with_columns(
        pl.Series(name, values / 1000.0, dtype=pl.Float64) for name, values in times.items()
    )


def _self_time(kernel_op: pl.DataFrame, count: int) -> I64:
    total = np.zeros(count, np.int64)
    np.add.at(total, kernel_op["op_id"].to_numpy(), kernel_op["duration_ns"].to_numpy())
    return total
