"""Which launch of MindSpore put which work on the device, and the steps of its schedule (mindspore_profiler.md 12)."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import polars as pl
from attrs import evolve

from drynpu.analysis._kept import once_per_profile
from drynpu.analysis.overlaps import OVERLAP_KINDS
from drynpu.arrays import I64
from drynpu.tables import Profile

MINDSPORE_LAUNCHES = pl.Schema(
    {
        "is_communication": pl.Boolean,
        "device_id": pl.Int64,
        "stream_id": pl.Int64,  # -1 for communication
        "connection_id": pl.Int64,
        "name": pl.String,  # of the work as the timeline shows it
        "start_ns": pl.Int64,
        "duration_ns": pl.Int64,
        "launch": pl.String,  # the event of the framework
        "launch_tid": pl.Int64,
        "launch_start_ns": pl.Int64,
    }
)
"""Work on the device whose launch is known, in order of device and start."""

MINDSPORE_STEPS = pl.Schema({"step": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64})
"""The steps of the schedule on the host, in order of start."""

MINDSPORE_STEP_TRACE = pl.Schema(
    {
        "step": pl.String,
        **dict.fromkeys(
            (
                "computing_ns",
                "communication_not_overlapped_ns",
                "overlapped_ns",
                "communication_ns",
                "free_ns",
                "stage_ns",
                "bubble_ns",
                "comm_exclude_receive_ns",
                "preparing_ns",
            ),
            pl.Int64,
        ),
        "has_communication": pl.Boolean,
    }
)

LAUNCH_NAMES = r"KernelLaunch|LaunchTask"
"""Events by which MindSpore launches kernels: one by one, or as a graph."""
# Calls that launch no kernel and have a task all the same: the event on its stream.
EVENT_APIS = ("aclrtRecordEvent", "aclrtStreamWaitEvent")
_CHOSEN = "chosen_iterations"
"""The table of a profile that holds only some iterations."""
_POINT_TO_POINT = r"^(hcom_\w+SendRecv__\d+|hcom_send__\d+|hcom_receive__\d+|Receive-op|Send-op)"


@once_per_profile
def mindspore_launches(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`MINDSPORE_LAUNCHES`.

    The call that launched the work lies in a launch of the framework on the same thread: the first, in order of
    start, that has not ended before the call; work of other calls has no row.
    """
    calls = profile.api.select("connection_id", "tid", pl.col("start_ns").alias("call_ns"), pl.col("name").alias("api"))
    ran = ["device_id", "connection_id", "start_ns", "duration_ns"]
    own_name = pl.when(pl.col("kernel_name") == "").then("kernel_type").otherwise("kernel_name")
    tasks = profile.tasks.select(
        pl.lit(False).alias("is_communication"),
        "stream_id",
        own_name.alias("name"),
        ((pl.col("kernel_name") != "") | pl.col("copy_bytes").is_not_null()).alias("launched"),
        *ran,
    )
    collectives = profile.communication_ops.select(
        pl.lit(True).alias("is_communication"),
        pl.lit(-1, pl.Int64).alias("stream_id"),
        "name",
        pl.lit(True).alias("launched"),
        *ran,
    )
    work = (
        pl.concat([tasks, collectives])
        .join(calls, on="connection_id", how="inner", maintain_order="left")
        .filter(pl.col("launched") | pl.col("api").is_in(EVENT_APIS))
    )
    events = profile.frame("framework_events")
    launches = events.filter(pl.col("name").str.contains(LAUNCH_NAMES) & (pl.col("start_ns") < pl.col("end_ns")))
    launch = _launch_at(launches, work["tid"].to_numpy(), work["call_ns"].to_numpy())
    known = launch >= 0
    chosen = launches[launch[known]]
    return (
        work.filter(pl.Series(known))
        .with_columns(
            chosen["name"].alias("launch"),
            chosen["tid"].alias("launch_tid"),
            chosen["start_ns"].alias("launch_start_ns"),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in MINDSPORE_LAUNCHES.items())
        .sort("device_id", "start_ns", maintain_order=True)
    )


def _launch_at(launches: pl.DataFrame, tid: I64, time_ns: I64) -> I64:
    """Return the row of the launch that holds each time, -1 if none does; launches are in order of start."""
    start, end, thread = (launches[name].to_numpy() for name in ("start_ns", "end_ns", "tid"))
    launch = np.full(len(tid), -1, np.int64)
    for each in np.intersect1d(thread, tid).tolist():
        rows, places = np.flatnonzero(thread == each), np.flatnonzero(tid == each)
        first = np.searchsorted(np.maximum.accumulate(end[rows]), time_ns[places], side="left")
        row = rows[np.minimum(first, len(rows) - 1)]
        holds = (first < len(rows)) & (start[row] <= time_ns[places])
        launch[places] = np.where(holds, row, -1)
    return launch


@once_per_profile
def mindspore_steps(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`MINDSPORE_STEPS`; empty where no step was recorded.

    Of iterations that `select_mindspore_steps` chose these are the steps, on the device.
    """
    if _CHOSEN in profile.group_tables:
        return profile.group_tables[_CHOSEN]
    events = profile.frame("framework_events").filter(pl.col("name").str.contains("ProfilerStep", literal=True))
    return (
        events.filter(pl.col("start_ns") < pl.col("end_ns"))
        .with_columns(pl.col("name").str.split("#").list.last().alias("step"))
        .unique("step", keep="last", maintain_order=True)
        .sort("start_ns", maintain_order=True)
        .select(pl.col(name).cast(dtype) for name, dtype in MINDSPORE_STEPS.items())
    )


def select_mindspore_steps(profile: Profile, places: Collection[int]) -> Profile:
    """
    Return the profile with what some of its steps did: ``places`` count them from 1.

    Events of the framework belong to the step that they were recorded in, calls and work of the device to the step
    whose range on the host holds their start. Where a script has no schedule, its steps are the iterations of its
    graphs. Where there are none of these either, everything stays.
    """
    steps = mindspore_steps(profile).with_row_index("place", offset=1)
    if steps.is_empty():
        return _select_iterations(profile, places)
    chosen = steps.filter(pl.col("place").is_in(list(places)))
    numbers = chosen["step"].cast(pl.Int64, strict=False).implode()
    spans = [
        pl.col("start_ns").is_between(start, end) for start, end in chosen.select("start_ns", "end_ns").iter_rows()
    ]
    inside = pl.any_horizontal(spans) if spans else pl.lit(False)
    events = profile.frame("framework_events").filter(pl.col("step").is_in(numbers) & inside)
    return evolve(
        profile,
        api=profile.api.filter(inside),
        tasks=profile.tasks.filter(inside),
        kernels=profile.kernels.filter(inside),
        communication_ops=profile.communication_ops.filter(inside),
        group_tables={**profile.group_tables, "framework_events": events},
    )


def _select_iterations(profile: Profile, places: Collection[int]) -> Profile:
    """Return the profile with the work of some iterations, and the calls that launched it."""
    iterations = profile.frame("iterations").sort("start_ns").with_row_index("place", offset=1)
    if iterations.is_empty():
        return profile
    chosen = iterations.filter(pl.col("place").is_in(list(places)))
    inside = pl.any_horizontal(
        pl.lit(False),
        *(
            (pl.col("device_id") == device) & pl.col("start_ns").is_between(start, end)
            for device, start, end in chosen.select("device_id", "start_ns", "end_ns").iter_rows()
        ),
    )
    kernels, tasks = profile.kernels.filter(inside), profile.tasks.filter(inside)
    communication = profile.communication_ops.filter(inside)
    launched = pl.concat([each["connection_id"] for each in (kernels, tasks, communication)])
    steps = chosen.select(pl.col("place").cast(pl.String).alias("step"), "start_ns", "end_ns")
    return evolve(
        profile,
        api=profile.api.filter(pl.col("connection_id").is_in(launched.unique().implode())),
        tasks=tasks,
        kernels=kernels,
        communication_ops=communication,
        group_tables={**profile.group_tables, "iterations": chosen.drop("place"), _CHOSEN: steps},
    )


def mindspore_step_at(time_ns: pl.Series, steps: pl.DataFrame, *, otherwise_last: bool = True) -> pl.Series:
    """
    Return the step of each time: the first whose range holds it, both ends included.

    A time outside all of them has the last step, or none (null).
    """
    times = time_ns.to_numpy()
    places = np.full(len(times), steps.height - 1 if otherwise_last else -1, np.int64)
    # Ranges of one thread follow each other; the earlier one wins where they touch.
    for place, (start, end) in reversed(list(enumerate(steps.select("start_ns", "end_ns").iter_rows()))):
        places[(times >= start) & (times <= end)] = place
    names = pl.concat([pl.Series([None], dtype=pl.String), steps["step"]])
    return names.gather(pl.Series(places + 1, dtype=pl.UInt32)).alias("step")


def mindspore_step_trace(
    profile: Profile, steps: pl.DataFrame, overlaps: pl.DataFrame, *, with_host: bool
) -> pl.DataFrame:
    """
    Return table :data:`MINDSPORE_STEP_TRACE`: a row per step, or one of step ``0`` for everything.

    What a device did counts to the step whose range on the host holds its start, both ends included; Free counts by
    only the part inside the range. Stage is the time between the first and the last communication, without the
    Bubble, which is what sending and receiving took; both are 0 without communication.

    Parameters
    ----------
    steps, overlaps:
        Tables of :func:`mindspore_steps` and ``overlap``.
    with_host:
        Whether the host was recorded; without it nothing is known of preparing.
    """
    whole = pl.DataFrame({"step": ["0"], "start_ns": [0], "end_ns": [2**63 - 1]}, schema=MINDSPORE_STEPS)
    collectives = profile.communication_ops.sort("start_ns", maintain_order=True)
    by_kind = {kind: overlaps.filter(pl.col("kind") == kind).sort("start_ns") for kind in OVERLAP_KINDS}
    events = profile.frame("framework_events").filter(pl.col("start_ns") < pl.col("end_ns"))["start_ns"].min()
    first_event = events if isinstance(events, int) else None
    rows = []
    for step, start, end in (steps if steps.height else whole).iter_rows():
        origin = start if steps.height else first_event
        row = _sums(by_kind, collectives, start, end)
        row["preparing_ns"] = _preparing(by_kind, start, origin) if with_host else 0
        rows.append({"step": step, **row, "has_communication": bool(collectives.height)})
    return pl.DataFrame(rows, schema=MINDSPORE_STEP_TRACE)


def _sums(by_kind: dict[str, pl.DataFrame], collectives: pl.DataFrame, start: int, end: int) -> dict[str, int]:
    computing, communication, exposed, free = OVERLAP_KINDS
    inside = pl.col("start_ns").is_between(start, end)
    length = pl.col("end_ns") - pl.col("start_ns")
    took = {
        kind: int(by_kind[kind].filter(inside).select(length.sum()).item())
        for kind in (computing, communication, exposed)
    }
    idle = by_kind[free].select((pl.col("end_ns").clip(upper_bound=end) - pl.col("start_ns").clip(start)).clip(0).sum())
    part = collectives.filter(inside)
    sending = int(part.filter(pl.col("name").str.contains(_POINT_TO_POINT))["duration_ns"].sum())
    stage = int(part["start_ns"][-1] + part["duration_ns"][-1] - part["start_ns"][0]) - sending if part.height else 0
    return {
        "computing_ns": took[computing],
        "communication_not_overlapped_ns": took[exposed],
        "overlapped_ns": took[communication] - took[exposed],
        "communication_ns": took[communication],
        "free_ns": int(idle.item()),
        "stage_ns": stage,
        "bubble_ns": sending,
        "comm_exclude_receive_ns": took[exposed] - sending,
    }


def _preparing(by_kind: dict[str, pl.DataFrame], start: int, origin: int | None) -> int:
    """Return the time from *origin* to the first work at or after *start*, even if a later step has it."""
    firsts = [by_kind[kind].filter(pl.col("start_ns") >= start)["start_ns"].min() for kind in OVERLAP_KINDS[:2]]
    known = [first for first in firsts if isinstance(first, int)]
    return min(known) - origin if known and origin is not None else 0
