"""Self time by call stack, for flame graphs (torch_npu_profiler.md 4.14)."""

from __future__ import annotations

import polars as pl

from drynpu.analysis.operators import operator_times
from drynpu.tables import Profile

STACK_METRICS = {"self_cpu_time_total": "host_self_us", "self_npu_time_total": "device_self_us"}
"""What a stack can be weighed by: the vendor's name, and the column of the operators' times."""


def stack_times(profile: Profile, metric: str) -> pl.DataFrame:
    """
    Return one row per operator that has a stack and took time, in start order, step markers included.

    Columns: ``stack`` (String, frames outermost first, joined by ``;``) and ``duration_us`` (Float64, above 0).

    Parameters
    ----------
    metric:
        A key of :data:`STACK_METRICS`.
    """
    frames = pl.col("call_stack").str.split(";").list.eval(pl.element().str.strip_chars()).list.reverse()
    return (
        operator_times(profile)
        .filter((pl.col("call_stack") != "") & (pl.col(STACK_METRICS[metric]) > 0))
        .select(frames.list.join(";").alias("stack"), pl.col(STACK_METRICS[metric]).alias("duration_us"))
    )
