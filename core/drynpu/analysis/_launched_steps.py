"""Step times by the rule of torch's databases: from what starts in a step (torch_npu_profiler.md 5.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from attrs import frozen

from drynpu.analysis._overlap_parts import pairs_of
from drynpu.analysis._steps import launched_ranges
from drynpu.analysis.overlaps import STEP_TRACE
from drynpu.arrays import I64, Bools
from drynpu.layouts.framework_torch import MARK_OPERATOR
from drynpu.layouts.tasks import SCHEDULING_SUFFIX
from drynpu.tables import Profile, intervals

_RECEIVE = "hcom_receive"


@frozen(eq=False)
class _Work:
    """What one device computed and communicated: intervals of shape ``[n, 2]`` in order of their starts."""

    computing: I64
    communication: I64
    receives: Bools
    """Shape ``[communication]``: which of them receive from another rank."""


def launched_step_trace(profile: Profile) -> pl.DataFrame:
    """
    Return table ``STEP_TRACE`` of every device and every step that the host ran, also of one without work.

    An operator belongs to every step whose range (:func:`launched_ranges`) holds its start, end excluded. Free lies
    between the operators of a step and Stage reaches from the first to the last, so that neither knows the step's
    edges. Preparing is 0 in a step that computed nothing. What a profile read from results states comes first.
    """
    stated = profile.results or {}
    if "step_trace" in stated:
        return stated["step_trace"]
    ranges, work = launched_ranges(profile), _work(profile)
    operators = profile.table("host_ops").slices("name", "start_ns")
    first = pl.concat(
        part.filter(~pl.col("name").str.starts_with(MARK_OPERATOR)).select(pl.col("start_ns").min())
        for part in operators
    )["start_ns"].min()
    rows = [
        {"device_id": device, "step": "" if step["step_id"] is None else str(step["step_id"])}
        | {name: value / 1000 for name, value in _times(done, step, first)}
        for device, done in work.items()
        for step in ranges.rows(named=True)
    ]
    return pl.DataFrame(rows, schema=STEP_TRACE)


def _work(profile: Profile) -> dict[int, _Work]:
    computes = ~pl.col("name").str.ends_with(SCHEDULING_SUFFIX)
    computing = pl.concat(
        part.filter(computes).drop("name")
        for part in profile.table("kernels").slices("name", "device_id", "start_ns", "duration_ns")
    ).sort("start_ns")
    communication = profile.communication_ops.sort("start_ns", maintain_order=True)
    by_device = {}
    for device in sorted({*computing["device_id"].unique(), *communication["device_id"].unique()}):
        on_device = pl.col("device_id") == device
        operators = communication.filter(on_device)
        receives = operators["name"].cast(pl.String).str.starts_with(_RECEIVE).to_numpy()
        by_device[device] = _Work(pairs_of(computing.filter(on_device)), pairs_of(operators), receives)
    return by_device


def _times(work: _Work, step: Mapping[str, Any], first_operator: Any) -> Iterator[tuple[str, int]]:
    """Give the times of a step, ns."""
    computing = intervals.union(work.computing[_starting(work.computing, step)])
    inside = _starting(work.communication, step)
    communication = intervals.union(work.communication[inside])
    busy = intervals.union(computing, communication)
    exposed = intervals.total(intervals.subtract(communication, computing))
    bubble = _bubble(work.communication[inside], work.receives[inside])
    stage = int(busy[-1, 1] - busy[0, 0]) if len(busy) else 0
    origin = first_operator if step["step_id"] is None else step["host_start_ns"]
    yield "computing_us", intervals.total(computing)
    yield "communication_not_overlapped_us", exposed
    yield "overlapped_us", intervals.total(communication) - exposed
    yield "communication_us", intervals.total(communication)
    yield "free_us", stage - intervals.total(busy)
    yield "stage_us", stage - bubble
    yield "bubble_us", bubble
    yield "comm_exclude_receive_us", max(exposed - bubble, 0)
    yield "preparing_us", int(busy[0, 0]) - origin if len(computing) and origin is not None else 0


def _starting(pairs: I64, step: Mapping[str, Any]) -> slice:
    low, high = (int(np.searchsorted(pairs[:, 0], step[f"device_{edge}_ns"])) for edge in ("start", "end"))
    return slice(low, high)


def _bubble(pairs: I64, receives: Bools) -> int:
    """
    Return the sum of the times of *receives*, ns.

    The vendor joins what touches in place: a receive at the beginning of a run of operators counts the whole run.
    """
    if not receives.any():
        return 0
    reached = np.maximum.accumulate(pairs[:, 1])
    first = np.append(True, pairs[1:, 0] > reached[:-1])
    last = np.append(np.flatnonzero(first)[1:], len(pairs)) - 1
    ends = pairs[:, 1].copy()
    ends[first] = reached[last]
    return int((ends - pairs[:, 0])[receives].sum())
