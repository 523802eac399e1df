"""Host and device time of every framework operator (torch_npu_profiler.md 4.3, 5.4)."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.analysis._kept import stated_first
from drynpu.analysis._steps import STEP_NAME
from drynpu.analysis.links import link_operators, sum_up
from drynpu.arrays import I64
from drynpu.tables import Profile
from drynpu.tables.stored import Stored

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

_AI_CORE = "AI_CORE"


@stated_first
def operator_details(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`OPERATOR_DETAILS`: one row per operator in start order, step markers left out.

    Host total is the operator's own duration, host self that less its direct children. Device self adds up the
    device work launched by the operator itself, device total includes all operators below it; ``aicore`` counts
    only work whose task type is exactly ``AI_CORE``.
    """
    return operator_times(profile).filter(~pl.col("name").str.contains(STEP_NAME))


def operator_times(profile: Profile) -> pl.DataFrame:
    """Return what :func:`operator_details` gives, with the step markers."""
    return in_us(operator_table(profile).frame())


def operator_table(profile: Profile) -> Stored:
    """Return the operators with the times of :func:`operator_details` in whole ns (``host_self_ns`` and so on)."""
    links, operators = link_operators(profile), profile.table("host_ops")
    duration = operators.column("end_ns").to_numpy() - operators.column("start_ns").to_numpy()

    def self_time() -> pl.Series:
        children, parent = np.zeros(len(duration), np.int64), links.op_parent
        np.add.at(children, parent[parent >= 0], duration[parent >= 0])
        return pl.Series(duration - children)

    def device(core: str | None, *, total: bool) -> pl.Series:
        self_ns = _self_time(links.table, len(duration), core)
        return pl.Series(sum_up(links, self_ns) if total else self_ns)

    return operators.with_made(
        {
            "host_self_ns": self_time,
            "host_total_ns": lambda: pl.Series(duration),
            "device_self_ns": lambda: device(None, total=False),
            "device_total_ns": lambda: device(None, total=True),
            "device_self_aicore_ns": lambda: device(_AI_CORE, total=False),
            "device_total_aicore_ns": lambda: device(_AI_CORE, total=True),
        }
    )


def detailed_operators(profile: Profile) -> tuple[Stored, pl.Series]:
    """Return `operator_table`, and the rows of it that are no step markers."""
    table = operator_table(profile)
    kept = pl.concat(part.select(~pl.col("name").str.contains(STEP_NAME)).to_series() for part in table.slices("name"))
    return table, kept.arg_true()


def in_us(operators: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `operator_table` as table :data:`OPERATOR_DETAILS`."""
    columns = []
    for name in OPERATOR_DETAILS:
        if name.endswith("_us"):
            # By numpy: polars divides by a constant through its reciprocal, which shows in the last digit.
            ns = operators[f"{name.removesuffix('_us')}_ns"].to_numpy()
            columns.append(pl.Series(name, ns / 1000.0, dtype=pl.Float64))
        else:
            columns.append(operators[name])
    return pl.DataFrame(columns)


def _self_time(work: Stored, count: int, core: str | None) -> I64:
    """Return the device time that each operator launched itself; of work of one type only with *core*."""
    total = np.zeros(count, np.int64)
    for part in work.slices("op_id", "duration_ns", "task_type"):
        counted = part if core is None else part.filter(pl.col("task_type") == core)
        np.add.at(total, counted["op_id"].to_numpy(), counted["duration_ns"].to_numpy())
    return total


STACK_METRICS = {"self_cpu_time_total": "host_self_us", "self_npu_time_total": "device_self_us"}
"""What a stack can be weighed by: the vendor's name, and the column of the operators' times."""


def stack_times(profile: Profile, metric: str) -> pl.DataFrame:
    """
    Return self time by call stack, for flame graphs (torch_npu_profiler.md 4.14).

    One row per operator that has a stack and took time, in start order, step markers included.

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
