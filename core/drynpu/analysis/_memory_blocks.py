"""Blocks of device memory with their lives, whatever framework took them, and the totals over time."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.analysis._host_phases import host_phases
from drynpu.analysis._kept import once_per_profile
from drynpu.analysis._memory import MEMORY_RECORD, combined_totals, memory_record, operator_memory
from drynpu.analysis._modules import modules_at
from drynpu.arrays import I64
from drynpu.tables import Profile

MEMORY_BLOCKS = pl.Schema(
    {
        "name": pl.String,  # operator that allocated it
        "size_bytes": pl.Int64,
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,  # null where the recording ended before the release
        "device_id": pl.Int64,
        "component": pl.String,  # PTA, WORKSPACE, GE, MindSpore
        "module": pl.String,  # "" unknown
        "category": pl.String,  # one of CATEGORIES, "" unknown
    }
)
"""One row per allocation, by its time."""

ACTIVATION, GRADIENT, STATE, TEMPORARY, OUTSIDE = (
    "activation",
    "gradient",
    "optimizer state",
    "temporary",
    "outside of steps",
)
CATEGORIES = (ACTIVATION, GRADIENT, STATE, TEMPORARY, OUTSIDE)
"""
What a block is for, as its life tells. Allocated in forward propagation and alive when backward begins: activation,
which includes inputs. Allocated in backward and alive after it: gradient. Allocated by the optimizer and alive after
it: optimizer state. Other blocks of steps are temporary. Parameters are allocated outside of steps.
"""

MINDSPORE = "MindSpore"
"""Component of what MindSpore's own pool holds (mindspore_profiler.md 12.4)."""
_SCOPED = r"^(Default|Gradients)/"
_NOT_SCOPE_BEFORE, _NOT_SCOPE_AFTER = r"^Gradients/", r"(/Grad_[^/]*)?/[^/]*$"
"""Parts of a name of MindSpore that are not the cell: whether it is backward, and the operator."""
_NEVER = np.iinfo(np.int64).max


@once_per_profile
def component_memory(profile: Profile) -> pl.DataFrame:
    """
    Return the totals of each component over time, schema :data:`drynpu.analysis.MEMORY_RECORD`, as recorded.

    MindSpore's pool is a component like PyTorch's (PTA); the sum with the toolkit's (GE) follows each of their rows.
    """
    record, totals = memory_record(profile), profile.frame("memory_totals")
    if totals.is_empty():
        return record
    device = profile.device_ids[0] if profile.device_ids else 0
    framework = totals.select(
        pl.lit(MINDSPORE).alias("component"),
        "time_ns",
        *(f"{name}_bytes" for name in ("allocated", "reserved", "active")),
        pl.lit(None, pl.Int64).alias("stream"),
        pl.lit(device, pl.Int64).alias("device_id"),
    )
    records = pl.concat([framework, record.filter(pl.col("component") == "GE").select(framework.columns)])
    both = combined_totals(records.sort("time_ns", maintain_order=True), MINDSPORE)
    rest = record.filter(pl.col("component") == "APP")
    return pl.concat([part.select(MEMORY_RECORD.names()) for part in (rest, records, both)])


@once_per_profile
def memory_blocks(profile: Profile) -> pl.DataFrame:
    """Return table :data:`MEMORY_BLOCKS`. A release whose allocation was not recorded has no row."""
    framework, rows = _framework_rows(profile), _operator_rows(profile)
    if framework.height:  # the allocations of MindSpore stand in both tables
        rows = pl.concat([framework, rows.filter(pl.col("component") == "GE")])
    rows = rows.filter(pl.col("start_ns").is_not_null() & (pl.col("size_bytes") > 0)).sort(
        "start_ns", maintain_order=True
    )
    start = rows["start_ns"].to_numpy()
    module = modules_at(profile, start)
    rows = rows.with_columns(module).with_columns(
        pl.when((pl.col("module") == "") & pl.col("name").str.contains(_SCOPED))
        .then(pl.col("name").str.replace(_NOT_SCOPE_BEFORE, "").str.replace(_NOT_SCOPE_AFTER, ""))
        .otherwise("module")
        .alias("module")
    )
    category = _categories(profile, start, rows["end_ns"].fill_null(_NEVER).to_numpy())
    return rows.with_columns(category).select(pl.col(name).cast(dtype) for name, dtype in MEMORY_BLOCKS.items())


def _operator_rows(profile: Profile) -> pl.DataFrame:
    return operator_memory(profile).select(
        "name",
        "size_bytes",
        pl.col("allocation_ns").alias("start_ns"),
        pl.coalesce("release_ns", "active_release_ns").alias("end_ns"),
        "device_id",
        "component",
    )


def _framework_rows(profile: Profile) -> pl.DataFrame:
    return framework_lives(profile.frame("framework_memory")).select(
        "name",
        "size_bytes",
        pl.col("time_ns").alias("start_ns"),
        pl.col("time_ns_released").alias("end_ns"),
        "device_id",
        pl.lit(MINDSPORE).alias("component"),
    )


def framework_lives(events: pl.DataFrame) -> pl.DataFrame:
    """
    Return a row for each allocation of MindSpore, by time, with what the release after it says (``*_released``).

    Parameters
    ----------
    events:
        Table ``framework_memory``: one row per event of the allocator, sizes null where it releases.
    """
    key = ["address"]
    is_allocation = pl.col("size_bytes").is_not_null()
    numbered = events.with_columns(is_allocation.cum_sum().over(key).alias("group")).filter(pl.col("group") > 0)

    def first_value(chosen: pl.Expr, column: str) -> pl.Expr:
        return pl.col(column).filter(chosen).first()

    names = ("time_ns", "used_bytes", "reserved_bytes")
    return (
        numbered.group_by(*key, "group", maintain_order=True)
        .agg(
            *(first_value(is_allocation, name) for name in ("name", "size_bytes", "stream_ptr", "device_id", *names)),
            *(first_value(~is_allocation, name).alias(f"{name}_released") for name in names),
        )
        .sort("time_ns", maintain_order=True)
    )


def _categories(profile: Profile, start: I64, end: I64) -> pl.Series:
    """Return for each block one of `CATEGORIES`; ``""`` where no step with its phases is known."""
    phases = host_phases(profile)
    names = np.array(("", *CATEGORIES))
    code = np.zeros(len(start), np.int64)
    if phases["backward_start_ns"].null_count() < phases.height:
        step_start, step_end = phases["start_ns"].to_numpy(), phases["end_ns"].to_numpy()
        step = np.searchsorted(step_start, start, side="right") - 1
        inside = (step >= 0) & (start <= step_end[step])

        def limit(column: str, unknown: int) -> I64:
            limits: I64 = phases[column].fill_null(unknown).to_numpy()[step]
            return limits

        first, last = limit("backward_start_ns", _NEVER), limit("backward_end_ns", _NEVER)
        update, updated = limit("optimizer_start_ns", _NEVER), limit("optimizer_end_ns", -1)
        rules = (
            (~inside, OUTSIDE),
            ((start >= update) & (start <= updated) & (end > updated), STATE),
            ((start >= first) & (start <= last) & (end > last), GRADIENT),
            ((start < first) & (end >= first) & (first < _NEVER), ACTIVATION),
        )
        code[:] = CATEGORIES.index(TEMPORARY) + 1
        for holds, name in reversed(rules):
            code[holds] = CATEGORIES.index(name) + 1
    return pl.Series("category", names[code].tolist(), dtype=pl.String)


def live_blocks(blocks: pl.DataFrame, time_ns: int) -> pl.DataFrame:
    """Return the rows of :data:`MEMORY_BLOCKS` that are alive at a time: from their allocation until their release."""
    return blocks.filter((pl.col("start_ns") <= time_ns) & (pl.col("end_ns").is_null() | (pl.col("end_ns") > time_ns)))
