"""Device memory by operator and over time (torch_npu_profiler.md 4.8, 4.9, 5.5)."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.analysis._kept import stated_first
from drynpu.analysis.links import Links, first_rows, link_operators, open_at
from drynpu.arrays import I64, Bools
from drynpu.layouts.framework_torch import BLOCK_FREE, FREE, MALLOC
from drynpu.layouts.operator_memory import NPU_DEVICE_TYPE
from drynpu.tables import Profile

# Component of an allocator event (torch_npu_profiler.md 3.7): the pool of workspaces, whose rows are apart.
_WORKSPACE = 1
# The vendor's analysis looks for the operator around these, since each of them only allocates.
_IGNORED = ["empty_tensor", "malloc_workspace"]
# An allocation is named by the innermost operator of a library, not by the script's annotations around it.
_FRAMEWORK_NAME = r"^(aten|npu|atb)::"

OPERATOR_MEMORY = pl.Schema(
    {
        "name": pl.String,
        "size_bytes": pl.Int64,
        "allocation_ns": pl.Int64,
        "release_ns": pl.Int64,
        "active_release_ns": pl.Int64,
        "duration_ns": pl.Int64,
        "active_duration_ns": pl.Int64,
        "allocation_total_allocated_bytes": pl.Int64,
        "allocation_total_reserved_bytes": pl.Int64,
        "allocation_total_active_bytes": pl.Int64,
        "release_total_allocated_bytes": pl.Int64,
        "release_total_reserved_bytes": pl.Int64,
        "release_total_active_bytes": pl.Int64,
        "stream": pl.Int64,
        "device_id": pl.Int64,
        "component": pl.String,  # PTA, WORKSPACE or GE
    }
)
"""One row per allocation; null where the recording ended before the release."""

MEMORY_RECORD = pl.Schema(
    {
        "component": pl.String,  # APP, PTA, GE, PTA+GE, WORKSPACE
        "time_ns": pl.Int64,
        "allocated_bytes": pl.Int64,
        "reserved_bytes": pl.Int64,
        "active_bytes": pl.Int64,
        "stream": pl.Int64,
        "device_id": pl.Int64,
    }
)
"""Totals after every allocator event and sample; null where a component does not know a total."""

_TOTALS = ("allocated", "reserved", "active")


@stated_first
def operator_memory(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`OPERATOR_MEMORY`: framework rows by allocation time, then the toolkit's (``cann::<op>``).

    The events of a pointer in time order form groups of one malloc and at most one free and one block free after
    it; a release whose malloc was not recorded has no row. A row is named after the innermost operator open on the
    allocating thread, or, on the thread that empties the task queue, after the framework operator that enqueued
    the work.
    """
    if profile.allocations.is_empty() and profile.frame("cann_allocations").is_empty():
        return pl.DataFrame(schema=OPERATOR_MEMORY)
    grouped = _groups(profile.allocations.filter(pl.col("device_type") == NPU_DEVICE_TYPE))
    named = grouped.with_columns(_names(profile, grouped))
    framework = named.with_columns(
        (pl.col("release_ns") - pl.col("allocation_ns")).alias("duration_ns"),
        (pl.col("active_release_ns") - pl.col("allocation_ns")).alias("active_duration_ns"),
    ).sort("allocation_ns", maintain_order=True)
    toolkit = _toolkit_rows(profile.frame("cann_allocations"))
    columns = [pl.col(name).cast(dtype) for name, dtype in OPERATOR_MEMORY.items()]
    return pl.concat([framework.select(columns), toolkit.select(columns)])


def _groups(events: pl.DataFrame) -> pl.DataFrame:
    """Return one row per malloc with what its free and block free recorded."""
    ordered = events.sort("time_ns", maintain_order=True)
    keys = [ordered[name].fill_null(-1).to_numpy() for name in ("pointer", "component", "device_id")]
    action = ordered["action"].to_numpy()
    by_pointer = np.lexsort(keys)
    # In the order of pointers a malloc begins a group, which ends before the next one or with the pointer.
    begins = action[by_pointer] == MALLOC
    malloc = by_pointer[begins]
    group = np.cumsum(begins) - 1
    same = np.logical_and.reduce([key[by_pointer] == key[malloc[group]] for key in keys]) if len(malloc) else begins
    same &= group >= 0

    def first(kind: int) -> I64:
        """Return for each malloc the first row of another action in its group, -1 if there is none."""
        rows = np.flatnonzero(same & (action[by_pointer] == kind))
        row = np.full(len(malloc), -1)
        groups, place = np.unique(group[rows], return_index=True)
        row[groups] = by_pointer[rows[place]]
        return row

    by_time = np.argsort(malloc)
    malloc, free, block_free = malloc[by_time], first(FREE)[by_time], first(BLOCK_FREE)[by_time]

    def value(rows: I64, column: str) -> pl.Series:
        known = pl.Series(rows).replace(-1, None)
        return ordered[column].gather(known)

    totals = [f"total_{name}_bytes" for name in _TOTALS]
    return pl.DataFrame(
        [
            value(malloc, "device_id"),
            value(malloc, "component"),
            value(malloc, "size_bytes"),
            value(malloc, "time_ns").alias("allocation_ns"),
            value(free, "time_ns").alias("release_ns"),
            value(block_free, "time_ns").alias("active_release_ns"),
            value(malloc, "stream"),
            value(malloc, "tid"),
            *(value(malloc, name).alias(f"allocation_{name}") for name in totals),
            *(value(free, name).alias(f"release_{name}") for name in totals),
        ]
    ).with_columns(
        *(pl.coalesce(f"release_{name}", value(block_free, name)).alias(f"release_{name}") for name in totals),
        pl.when(pl.col("component") == _WORKSPACE)
        .then(pl.lit("WORKSPACE"))
        .otherwise(pl.lit("PTA"))
        .alias("component"),
    )


def _names(profile: Profile, rows: pl.DataFrame) -> pl.Series:
    time, tid = rows["allocation_ns"].to_numpy(), rows["tid"].to_numpy()
    ops = profile.host_ops
    allocating = ops.filter(~pl.col("name").is_in(_IGNORED))
    names = _pick(allocating["name"], open_at(allocating, time, tid))
    queue = profile.compact("queue", "correlation_id", "side", "start_ns", "end_ns", "tid")
    dequeued = queue.filter(pl.col("side") == "dequeue")
    entry = open_at(dequeued, time, tid)
    queued = np.flatnonzero(entry >= 0)
    put = queue.filter(pl.col("side") == "enqueue")
    row = first_rows(put["correlation_id"].to_numpy(), dequeued["correlation_id"].to_numpy()[entry[queued]])
    start, thread = (np.append(put[name].to_numpy(), -1)[row] for name in ("start_ns", "tid"))
    behind = open_at(ops, start, thread)
    is_framework = ops["name"].str.contains(_FRAMEWORK_NAME).to_numpy()
    named = _pick(ops["name"], _climb(behind, link_operators(profile), is_framework))
    return names.scatter(queued, named).alias("name") if len(queued) else names.alias("name")


def _climb(rows: I64, links: Links, wanted: Bools) -> I64:
    """Return for each operator the nearest one at or above it that is *wanted*, -1 if there is none."""
    nearest = rows.copy()
    while True:
        above = np.flatnonzero((nearest >= 0) & ~wanted[nearest]) if len(wanted) else np.empty(0, np.int64)
        if not len(above):
            return nearest
        nearest[above] = links.op_parent[nearest[above]]


def _pick(names: pl.Series, rows: I64) -> pl.Series:
    return pl.concat([pl.Series([""], dtype=pl.String), names]).gather(rows + 1)


def _toolkit_rows(events: pl.DataFrame) -> pl.DataFrame:
    key = ["device_id", "address"]
    is_malloc = pl.col("size_bytes") > 0
    numbered = events.with_columns(is_malloc.cum_sum().over(key).alias("group")).filter(pl.col("group") > 0)

    def value(malloc: bool, column: str) -> pl.Expr:
        return pl.col(column).filter(is_malloc if malloc else ~is_malloc).first()

    totals = ["total_allocated_bytes", "total_reserved_bytes"]
    unknown = [f"{side}_total_active_bytes" for side in ("allocation", "release")]
    return (
        numbered.group_by(*key, "group", maintain_order=True)
        .agg(
            (pl.lit("cann::") + value(True, "name")).alias("name"),
            value(True, "size_bytes").alias("size_bytes"),
            value(True, "time_ns").alias("allocation_ns"),
            value(False, "time_ns").alias("release_ns"),
            *(value(True, name).alias(f"allocation_{name}") for name in totals),
            *(value(False, name).alias(f"release_{name}") for name in totals),
        )
        .with_columns(
            (pl.col("release_ns") - pl.col("allocation_ns")).alias("duration_ns"),
            pl.lit("GE").alias("component"),
            *(pl.lit(None, pl.Int64).alias(n) for n in ("active_release_ns", "active_duration_ns", "stream", *unknown)),
        )
        .sort("allocation_ns", maintain_order=True)
    )


@stated_first
def memory_record(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`MEMORY_RECORD`: APP samples first, then allocator events in time order.

    Every PTA or GE row is followed by a ``PTA+GE`` row of the same time: this record plus the last one of the
    other component on the device. WORKSPACE rows have no such sum.
    """
    samples = profile.frame("npu_mem")
    if profile.allocations.is_empty() and profile.frame("cann_allocations").is_empty() and samples.is_empty():
        return pl.DataFrame(schema=MEMORY_RECORD)
    app = samples.filter(pl.col("event") == 0).select(
        pl.lit("APP").alias("component"),
        "time_ns",
        pl.lit(None, pl.Int64).alias("allocated_bytes"),
        (pl.col("ddr_bytes") + pl.col("hbm_bytes")).alias("reserved_bytes"),
        pl.lit(None, pl.Int64).alias("active_bytes"),
        pl.lit(None, pl.Int64).alias("stream"),
        "device_id",
    )
    records = _allocator_records(profile)
    both = combined_totals(records.filter(pl.col("component") != "WORKSPACE"), "PTA")
    merged = pl.concat([records.with_columns(pl.lit(0).alias("after")), both.with_columns(pl.lit(1).alias("after"))])
    rows = merged.sort("time_ns", "row", "after").select(MEMORY_RECORD.names())
    return pl.concat([part.select(pl.col(n).cast(t) for n, t in MEMORY_RECORD.items()) for part in (app, rows)])


def _allocator_records(profile: Profile) -> pl.DataFrame:
    pta = profile.allocations.filter(pl.col("device_type") == NPU_DEVICE_TYPE).select(
        pl.when(pl.col("component") == _WORKSPACE)
        .then(pl.lit("WORKSPACE"))
        .otherwise(pl.lit("PTA"))
        .alias("component"),
        "time_ns",
        *(pl.col(f"total_{name}_bytes").alias(f"{name}_bytes") for name in _TOTALS),
        "stream",
        "device_id",
    )
    ge = profile.frame("cann_allocations").select(
        pl.lit("GE").alias("component"),
        "time_ns",
        pl.col("total_allocated_bytes").alias("allocated_bytes"),
        pl.col("total_reserved_bytes").alias("reserved_bytes"),
        *(pl.lit(None, pl.Int64).alias(name) for name in ("active_bytes", "stream")),
        "device_id",
    )
    return pl.concat([pta, ge]).sort("time_ns", maintain_order=True).with_row_index("row")


def combined_totals(records: pl.DataFrame, framework: str) -> pl.DataFrame:
    """
    Add to each record the last totals of the other component of its device, 0 before its first.

    Parameters
    ----------
    framework:
        Component of the framework's pool; the other is the toolkit's (GE).
    """
    names = [f"{name}_bytes" for name in _TOTALS]

    def last_of(component: str, column: str) -> pl.Expr:
        last = pl.when(pl.col("component") == component).then(pl.col(column).fill_null(0))
        return last.otherwise(None).forward_fill().over("device_id").fill_null(0)

    return records.with_columns(
        *((last_of(framework, name) + last_of("GE", name)).alias(name) for name in names),
        pl.col("stream").forward_fill().over("device_id").alias("stream"),
        pl.lit(f"{framework}+GE").alias("component"),
    )
