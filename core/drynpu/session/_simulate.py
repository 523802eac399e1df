"""Launches to a timeline: the host beside an NPU, kernels on streams, device memory, all in Unix ns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from drynpu.chips import Chip
from drynpu.device import (
    Clock,
    Dispatches,
    HostCosts,
    Mark,
    MemoryTimeline,
    Schedule,
    account,
    innermost,
    schedule,
)
from drynpu.kernels import Allocations, CostTable, Operators, TaskType, jitter, occurrences, task_type_on
from drynpu.session._collectives import (
    CollectiveTimes,
    host_rows,
    merge_launches,
    prepare_collectives,
    separate,
)
from drynpu.session._inputs import Collective
from drynpu.session._lower import Lowered

__all__ = ["DEFAULT_STREAM", "HostMark", "Simulation", "simulate"]

I64 = npt.NDArray[np.int64]

DEFAULT_STREAM = 2
"""Stream of work that names none, as in real profiles."""


@frozen
class HostMark:
    """Something the host did besides operators; ``until_ns`` ends a pause, else it equals ``time_ns``."""

    time_ns: int
    thread: int
    mark: Mark
    stream: int = DEFAULT_STREAM
    event: int = 0
    until_ns: int = 0


@frozen(eq=False, kw_only=True)
class Simulation:
    """
    One recording on the simulated device.

    ``rows`` selects the dispatches that launch operators among all dispatches of ``schedule``; the launch
    columns of ``schedule``, ``kernel_ticks`` and ``factor`` have one row per launch.
    """

    begin_ns: int
    end_ns: int
    base_ns: int
    tick_ns: float
    lowered: Lowered
    costs: CostTable
    task_types: tuple[TaskType, ...]
    """Per kernel: the task type that the chip reports."""
    dispatches: Dispatches
    schedule: Schedule
    rows: I64
    factor: npt.NDArray[np.float64]
    kernel_ticks: I64
    stream: I64
    op_start_ns: I64
    op_end_ns: I64
    memory: MemoryTimeline
    collectives: CollectiveTimes
    """Beside the launch columns, which are of operators alone."""
    warp_from_ns: I64 = field(repr=False)
    warp_to_ns: I64 = field(repr=False)

    def warp(self, time_ns: I64) -> I64:
        """Map measured host times to the timeline of the recording; monotone, shape kept."""
        return _warp(time_ns, self.warp_from_ns, self.warp_to_ns)


def simulate(
    operators: Operators,
    allocations: Allocations,
    lowered: Lowered,
    *,
    chip: Chip,
    clock: Clock,
    seed: int,
    begin_ns: int,
    end_ns: int,
    base_ns: int,
    marks: tuple[HostMark, ...] = (),
    streams: tuple[tuple[int, int, int], ...] = (),
    live_before_bytes: int = 0,
    collectives: tuple[Collective, ...] = (),
) -> Simulation:
    """
    Put a recording on the device.

    Parameters
    ----------
    begin_ns, end_ns:
        When the recording began and ended on the measured host timeline (Unix ns).
    base_ns:
        Unix time of the device's tick 0 of this recording; kernels lie on the tick grid after it.
    marks:
        Synchronising calls, event records and waits, pauses of the profiler.
    streams:
        Stream switches ``(time_ns, thread, stream)`` in time order.
    live_before_bytes:
        Device memory held when the recording began.
    collectives:
        Communication operators, on streams of their groups beside those of the operators.

    Raises
    ------
    OptionError
        A collective cannot be.
    """
    costs = CostTable.build(lowered.kernels, chip)
    factor = jitter(lowered.launch_kernel, occurrences(lowered.launch_kernel), costs.duration_ns, seed, lowered.kernels)
    duration = costs.duration_ns[lowered.launch_kernel] * factor
    ticks = np.maximum(1, np.ceil(duration / chip.tick_ns)).astype(np.int64)
    ops = lowered.dispatch_op
    op_stream = _streams(operators.start_ns[ops], operators.thread[ops], streams)
    used = np.concatenate([op_stream, [DEFAULT_STREAM], [mark.stream for mark in marks]]).astype(np.int64)
    work = prepare_collectives(collectives, chip, lambda time, thread: _streams(time, thread, streams), used)
    dispatches, order = _dispatches(operators, lowered, marks, op_stream, host_rows(work))
    rows = np.flatnonzero(order < len(ops))
    launches, own = merge_launches(lowered, op_stream[lowered.launch_dispatch], ticks, work, dispatches, order)
    whole = schedule(dispatches, launches, costs=HostCosts(), clock=clock, tick_ns=chip.tick_ns, base_ns=base_ns)
    plan, times = separate(whole, own, work, np.flatnonzero((dispatches.launches > 0) & (order >= len(ops))))
    warp_from = np.stack([dispatches.start_ns, dispatches.end_ns], 1).ravel()
    warp_to = np.stack([plan.start_ns, plan.end_ns], 1).ravel()
    warp_from, warp_to = _anchor(warp_from, warp_to, begin_ns)
    last_tick = max(int((plan.kernel_start_ticks + ticks).max(initial=0)), times.end_ticks)
    kernel_end = int(last_tick * chip.tick_ns) + base_ns + 1
    host_end = max(
        int(_warp(np.array([end_ns]), warp_from, warp_to)[0]),
        int(plan.dequeue_end_ns.max(initial=0)),
    )
    return Simulation(
        begin_ns=begin_ns,
        end_ns=max(host_end, kernel_end),
        base_ns=base_ns,
        tick_ns=chip.tick_ns,
        lowered=lowered,
        costs=costs,
        task_types=tuple(task_type_on(kernel.task_type, chip) for kernel in lowered.kernels),
        dispatches=dispatches,
        schedule=plan,
        rows=rows,
        factor=factor,
        kernel_ticks=ticks,
        stream=op_stream[lowered.launch_dispatch],
        op_start_ns=_warp(operators.start_ns, warp_from, warp_to),
        op_end_ns=_warp(operators.end_ns, warp_from, warp_to),
        memory=_memory(operators, allocations, lowered, live_before_bytes),
        collectives=times,
        warp_from_ns=warp_from,
        warp_to_ns=warp_to,
    )


def _streams(times: I64, threads: I64, switches: tuple[tuple[int, int, int], ...]) -> I64:
    """Return the current stream of each thread at each time: that of its last switch before."""
    stream = np.full(len(times), DEFAULT_STREAM, np.int64)
    for thread in {switch[1] for switch in switches}:
        own = np.array([(time, to) for time, of, to in switches if of == thread], np.int64)
        rows = np.flatnonzero(threads == thread)
        position = np.searchsorted(own[:, 0], times[rows], side="right") - 1
        stream[rows] = np.where(position >= 0, own[np.maximum(position, 0), 1], DEFAULT_STREAM)
    return stream


def _dispatches(
    operators: Operators, lowered: Lowered, marks: tuple[HostMark, ...], op_stream: I64, further: dict[str, I64]
) -> tuple[Dispatches, I64]:
    """
    Merge operators that launch, host marks and *further* rows into one host order; intervals are made disjoint.

    The second result tells for each row of the order which row it was: operators first, then marks, then the rest.
    """
    op = lowered.dispatch_op
    waits = np.array([p.synchronizes for p in lowered.plans] or [False])[lowered.dispatch_plan]
    aclnn = np.array([p.api.startswith("aclnn") for p in lowered.plans] or [False])[lowered.dispatch_plan]
    count = np.bincount(lowered.launch_dispatch, minlength=len(op))
    until = np.array([max(m.until_ns, m.time_ns) for m in marks], np.int64)
    start = np.concatenate([operators.start_ns[op], np.array([m.time_ns for m in marks], np.int64), further["start"]])
    end = np.concatenate([operators.end_ns[op], until, further["end"]])
    none = np.zeros(len(op), np.int64)
    rest = len(marks) + len(further["start"])
    columns = {
        "mark": np.concatenate(
            [np.where(waits, int(Mark.WAIT_STREAM), 0), [int(m.mark) for m in marks], further["mark"]]
        ),
        "launches": np.concatenate([count, np.zeros(len(marks), np.int64), further["launches"]]),
        "workspace": np.concatenate([aclnn, np.zeros(rest, bool)]),
        "stream": np.concatenate([op_stream, [m.stream for m in marks], further["stream"]]),
        "event": np.concatenate([none, [m.event for m in marks], further["event"]]),
        "thread": np.concatenate([operators.thread[op], [m.thread for m in marks], further["thread"]]),
    }
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    # Operators of several threads can overlap: each keeps what no earlier one has covered, at least 1 ns.
    covered = np.maximum.accumulate(np.concatenate(([np.iinfo(np.int64).min], end[:-1]))) if len(end) else end
    start = np.maximum(start, covered)
    end = np.maximum(end, start)
    merged = {name: values[order] for name, values in columns.items()}
    return (
        Dispatches(
            start_ns=start,
            end_ns=end,
            mark=merged["mark"].astype(np.int64),
            launches=merged["launches"].astype(np.int64),
            workspace=merged["workspace"].astype(bool),
            stream=merged["stream"].astype(np.int64),
            event=merged["event"].astype(np.int64),
            thread=merged["thread"].astype(np.int64),
        ),
        order,
    )


def _anchor(warp_from: I64, warp_to: I64, begin_ns: int) -> tuple[I64, I64]:
    """Fix the begin, and keep the slope 1 before the first and after the last dispatch."""
    first = min(begin_ns, int(warp_from[0])) if len(warp_from) else begin_ns
    return np.concatenate(([first], warp_from)), np.concatenate(([first], warp_to))


def _warp(time_ns: I64, warp_from: I64, warp_to: I64) -> I64:
    """Piecewise linear map in exact offsets; slope 1 outside the breakpoints."""
    base = int(warp_from[0])
    at = np.clip(np.searchsorted(warp_from, time_ns, side="right") - 1, 0, len(warp_from) - 1)
    following = np.minimum(at + 1, len(warp_from) - 1)
    width_from = warp_from[following] - warp_from[at]
    width_to = warp_to[following] - warp_to[at]
    into = time_ns - warp_from[at]
    inside = (at < len(warp_from) - 1) & (time_ns >= base)
    slope = width_to / np.maximum(width_from, 1)
    scaled = np.where(width_from == width_to, into, np.floor(into * slope).astype(np.int64))
    return np.asarray(warp_to[at] + np.where(inside, np.minimum(scaled, np.maximum(width_to, 0)), into), np.int64)


def _memory(operators: Operators, allocations: Allocations, lowered: Lowered, live_before_bytes: int) -> MemoryTimeline:
    """Keep what lives on the device: neither host tensors nor the CPU implementation's scratch."""
    owner = innermost(
        allocations.time_ns,
        allocations.thread,
        operators.start_ns,
        operators.end_ns,
        operators.thread,
        lowered.parent,
    )
    allocated = (allocations.size_bytes > 0) & (owner >= 0)
    allocated[allocated] = lowered.device_memory[owner[allocated]]
    everything = account(allocations.time_ns, allocations.thread, allocations.address, allocations.size_bytes)
    dispatch = _dispatch_of(owner, lowered)
    partner = everything.partner
    scratch = (partner >= 0) & (dispatch >= 0) & (dispatch == dispatch[partner])
    kept = allocated & ~scratch
    released = (partner >= 0) & (allocations.size_bytes < 0)
    keep = kept | (released & kept[partner])
    return account(
        allocations.time_ns[keep],
        allocations.thread[keep],
        allocations.address[keep],
        allocations.size_bytes[keep],
        live_before_bytes=live_before_bytes,
    )


def _dispatch_of(row: I64, lowered: Lowered) -> I64:
    """Return the dispatching operator that encloses each operator row, -1 if none."""
    if not len(lowered.parent):
        return np.full(len(row), -1, np.int64)
    dispatching = np.zeros(len(lowered.parent), bool)
    dispatching[lowered.dispatch_op] = True
    found = row.copy()
    while True:
        climb = np.flatnonzero((found >= 0) & ~dispatching[found])
        if not len(climb):
            return found
        found[climb] = lowered.parent[found[climb]]
