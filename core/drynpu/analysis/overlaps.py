"""Computing, communication and idle time of each device, and their sums per step (torch_npu_profiler.md 5.1)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from drynpu.analysis._kept import once_per_profile, stated_first
from drynpu.analysis._overlap_parts import (
    gaps_between,
    merged_blocks,
    pairs_of,
    subtracted_blocks,
    union_blocks,
)
from drynpu.arrays import I64
from drynpu.tables import Profile, intervals
from drynpu.tables.stored import Gathered, Stored, stored

COMPUTING, COMMUNICATION = "Computing", "Communication"
EXPOSED, FREE = "Communication(Not Overlapped)", "Free"

OVERLAP_KINDS = (COMPUTING, COMMUNICATION, EXPOSED, FREE)
"""Event names in the order of their threads in the timeline."""

OVERLAP = pl.Schema({"device_id": pl.Int64, "kind": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64})

STEP_TRACE = pl.Schema(
    {
        "device_id": pl.Int64,
        "step": pl.String,  # "" without a schedule
        "computing_us": pl.Float64,
        "communication_not_overlapped_us": pl.Float64,
        "overlapped_us": pl.Float64,
        "communication_us": pl.Float64,
        "free_us": pl.Float64,
        "stage_us": pl.Float64,
        "bubble_us": pl.Float64,
        "comm_exclude_receive_us": pl.Float64,
        "preparing_us": pl.Float64,
    }
)

STEP_PARTS = ("computing_us", "communication_not_overlapped_us", "free_us")
"""Columns of :data:`STEP_TRACE` that together are a step."""

# Tasks that do not stretch the range by themselves (cann_msprof.md 4.5): compute sections do it for them.
_NOT_EXTENDING = (
    "AI_CORE",
    "AI_VECTOR_CORE",
    "MIX_AIC",
    "MIX_AIV",
    "KERNEL_AICORE",
    "KERNEL_AIVEC",
    "KERNEL_MIX_AIC",
    "KERNEL_MIX_AIV",
    "FFTS_PLUS",
    "PROFILING_ENABLE",
    "PROFILING_DISABLE",
)


_COMMUNICATION_KERNELS = ("AicpuKernel", "AivKernel")
_TIMES = ("device_id", "start_ns", "duration_ns")
# Steps are counted from 0, so -1 is free for what lies in none.
_NO_STEP = -1
_LENGTH = pl.col("end_ns") - pl.col("start_ns")


def overlap(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`OVERLAP`: merged intervals per device and kind, none empty, by device, kind, start.

    Computing is the union of compute kernels (communication kernels ``...AicpuKernel`` and ``...AivKernel``
    excepted), Communication the time of communication operations; Free is what neither covers between the first
    and the last event of the device. Copies are neither, so they lie in Free, as in the vendor's analysis.
    """
    return overlap_table(profile).frame()


def overlap_times(profile: Profile, kind: str) -> I64:
    """Return when any device did what *kind* says, ns, ``[n, 2]`` in canonical form."""
    rows = overlap(profile).filter(pl.col("kind") == kind)
    return intervals.union(rows.select("start_ns", "end_ns").to_numpy())


@once_per_profile
def overlap_table(profile: Profile) -> Stored:
    """Return what `overlap` gives as it is kept, for who reads it part by part."""
    stated = profile.results or {}
    if "overlap" in stated:
        return stored(stated["overlap"])
    pieces = Gathered(OVERLAP)
    for device in profile.device_ids:
        for kind, pairs in _device_overlap(profile, device):
            if not len(pairs):
                continue
            columns = {"device_id": device, "kind": kind, "start_ns": pairs[:, 0], "end_ns": pairs[:, 1]}
            pieces.append(pl.DataFrame(columns, schema=OVERLAP))
    return pieces.table()


def _device_overlap(profile: Profile, device: int) -> Iterator[tuple[str, I64]]:
    """Yield the intervals of a device in parts, kind by kind."""
    computing = union_blocks(_computing(profile, device))
    communication = intervals.union(pairs_of(profile.communication_ops.filter(pl.col("device_id") == device)))
    busy = [*computing, communication] if len(communication) else computing
    bounds = [(block[0, 0], block[-1, 1]) for block in busy]
    bounds += [(pairs[:, 0].min(), pairs[:, 1].max()) for pairs in _others(profile, device)]
    if not bounds:
        return
    begin, end = int(min(first for first, _ in bounds)), int(max(last for _, last in bounds))
    for block in computing:
        yield COMPUTING, block
    yield COMMUNICATION, communication
    for block in subtracted_blocks(communication, computing):
        yield EXPOSED, block
    for block in gaps_between(merged_blocks(computing, communication), begin, end):
        yield FREE, block


def _computing(profile: Profile, device: int) -> Iterator[I64]:
    name = pl.col("name")
    communicates = pl.any_horizontal(name.str.ends_with(suffix) for suffix in _COMMUNICATION_KERNELS)
    for part in profile.table("kernels").slices("name", *_TIMES):
        yield pairs_of(part.filter((pl.col("device_id") == device) & ~communicates))


def _others(profile: Profile, device: int) -> Iterator[I64]:
    """Yield tasks that stretch the range by themselves, none of the parts empty."""
    for part in profile.table("tasks").slices("kernel_type", *_TIMES):
        pairs = pairs_of(part.filter((pl.col("device_id") == device) & ~pl.col("kernel_type").is_in(_NOT_EXTENDING)))
        if len(pairs):
            yield pairs


@stated_first
def step_trace(profile: Profile, ranges: pl.DataFrame, overlaps: Stored | pl.DataFrame) -> pl.DataFrame:
    """
    Return table :data:`STEP_TRACE`, by device and step; one row with step ``""`` where *ranges* is empty.

    An event belongs wholly to the step whose device range contains its start (end excluded); what starts in no
    step is dropped. So Computing + Communication(Not Overlapped) + Free is not the device range itself but that
    range moved to the bounds of events: from the start of the first event in it to the end of the last, which may
    lie after it. It equals Stage + Bubble, unless a communication operation straddles the end of the step.

    Parameters
    ----------
    ranges:
        Table of ``step_ranges``.
    overlaps:
        Table of :func:`overlap`, or of :func:`overlap_table`.
    """
    sums = _step_sums(stored(overlaps), ranges)
    if not sums.height:
        return pl.DataFrame(schema=STEP_TRACE)
    received = profile.communication_ops.filter(pl.col("name").str.to_lowercase().str.starts_with("hcom_receive"))
    bubbles = _assign(received.with_columns((pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns")), ranges)
    bubble = bubbles.group_by("device_id", "step_id").agg(_LENGTH.sum().alias("bubble"))
    sums = sums.join(bubble, on=["device_id", "step_id"], how="left")
    no_step = pl.col("step_id") == _NO_STEP
    columns = {
        "computing_us": pl.col("computing"),
        "communication_not_overlapped_us": pl.col("exposed"),
        "overlapped_us": pl.col("communication") - pl.col("exposed"),
        "communication_us": pl.col("communication"),
        "free_us": pl.col("free"),
        "stage_us": pl.col("last") - pl.col("first") - pl.col("bubble"),
        "bubble_us": pl.col("bubble"),
        "comm_exclude_receive_us": pl.max_horizontal(pl.col("exposed") - pl.col("bubble"), 0),
        "preparing_us": (pl.col("first_busy") - _host_origin(profile)).fill_null(0),
    }
    return (
        sums.with_columns(pl.col("bubble").fill_null(0))
        .sort("device_id", "step_id")
        .select(
            "device_id",
            pl.when(no_step).then(pl.lit("")).otherwise(pl.col("step_id").cast(pl.String)).alias("step"),
            # Rounded to what there is (whole ns): the division by itself may be off in the last bit.
            *((value / 1000).round(3).alias(name) for name, value in columns.items()),
        )
    )


def _step_sums(overlaps: Stored, ranges: pl.DataFrame) -> pl.DataFrame:
    """Return per device and step the time of each kind (ns) and the bounds of its pieces, summed part by part."""
    names = dict(zip(("computing", "communication", "exposed", "free"), OVERLAP_KINDS, strict=True))
    busy = pl.col("kind").is_in([COMPUTING, COMMUNICATION])
    keys = ("device_id", "step_id", "host_start_ns")
    parts = pl.concat(
        _assign(part, ranges)
        .group_by(keys)
        .agg(
            *(_LENGTH.filter(pl.col("kind") == kind).sum().alias(name) for name, kind in names.items()),
            pl.col("start_ns").min().alias("first"),
            pl.col("end_ns").max().alias("last"),
            pl.col("start_ns").filter(busy).min().alias("first_busy"),
        )
        for part in overlaps.slices()
    )
    return parts.group_by(keys).agg(pl.col(*names).sum(), pl.col("first", "first_busy").min(), pl.col("last").max())


def _host_origin(profile: Profile) -> pl.Expr:
    """Return where preparing begins: the step's host start, without steps the first operator; null if neither."""
    return pl.coalesce("host_start_ns", pl.lit(profile.compact("host_ops", "start_ns")["start_ns"].min(), pl.Int64))


def _assign(events: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    """Return the events that start in a step, with its id and host start; without steps all, as of no step."""
    wanted = events.select("device_id", "start_ns", "end_ns", *(["kind"] if "kind" in events.columns else []))
    if not ranges.height:
        return wanted.with_columns(
            pl.lit(_NO_STEP, pl.Int64).alias("step_id"), pl.lit(None, pl.Int64).alias("host_start_ns")
        )
    wanted = wanted.sort("start_ns")
    starts = wanted["start_ns"].to_numpy()
    assigned = np.zeros(len(starts), bool)
    parts: list[I64] = []
    low = np.searchsorted(starts, ranges["device_start_ns"].to_numpy(), side="left")
    high = np.searchsorted(starts, ranges["device_end_ns"].to_numpy(), side="left")
    for begin, end in zip(low.tolist(), high.tolist(), strict=True):
        parts.append(begin + np.flatnonzero(~assigned[begin:end]))
        assigned[begin:end] = True
    step = np.repeat(np.arange(ranges.height), [len(rows) for rows in parts])
    return wanted[np.concatenate(parts)].with_columns(
        ranges["step_id"].cast(pl.Int64)[step], ranges["host_start_ns"].cast(pl.Int64)[step]
    )
