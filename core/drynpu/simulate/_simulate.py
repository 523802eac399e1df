"""Launches to a timeline: the host beside an NPU, kernels on streams, device memory, all in Unix ns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu.device import CACHING_POOL, Dispatches, HostCosts, MemoryPool, MemoryTimeline, Schedule, schedule
from drynpu.kernels import CostTable, Operators, TaskType, jitter, occurrences, task_type_on
from drynpu.options import Clock
from drynpu.platforms import Chip
from drynpu.simulate._collectives import (
    CollectiveTimes,
    Waits,
    host_rows,
    merge_launches,
    prepare_collectives,
    separate,
)
from drynpu.simulate._host_order import DEFAULT_STREAM, host_order
from drynpu.simulate._lower import Lowered
from drynpu.simulate._memory import device_memory
from drynpu.simulate._recording import Recording
from drynpu.simulate._warp import Warp

__all__ = ["Simulation", "simulate"]

I64 = npt.NDArray[np.int64]


@frozen(eq=False, kw_only=True)
class Simulation:
    """
    One recording on the simulated device.

    ``rows`` selects the dispatches that launch operators among all dispatches of ``schedule``; the launch
    columns of ``schedule``, ``kernel_ticks`` and ``factor`` have one row per launch.
    """

    begin_ns: int
    end_ns: int
    """After everything that happened on host and device."""
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
    """Stream of every launch."""
    op_start_ns: I64
    op_end_ns: I64
    collectives: CollectiveTimes
    """Beside the launch columns, which are of operators alone."""
    memory: MemoryTimeline
    """Device memory; its times are measured ones, to be mapped by ``warp``."""
    warp: Warp
    """Maps measured host times to the timeline of the recording."""


def simulate(
    recording: Recording,
    lowered: Lowered,
    *,
    chip: Chip,
    clock: Clock,
    seed: int,
    base_ns: int,
    pool: MemoryPool = CACHING_POOL,
) -> Simulation:
    """
    Put a recording on the device.

    Parameters
    ----------
    base_ns:
        Unix time of the device's tick 0 of this recording; kernels lie on the tick grid after it.
    pool:
        How the framework's allocator grows.

    Raises
    ------
    OptionError
        A collective cannot be.
    """
    operators, marks, streams, meeting = recording.operators, recording.marks, recording.streams, recording.meeting
    begin_ns = recording.begin_ns
    costs = CostTable.build(lowered.kernels, chip)
    factor = jitter(lowered.launch_kernel, occurrences(lowered.launch_kernel), costs.duration_ns, seed, lowered.kernels)
    duration = costs.duration_ns[lowered.launch_kernel] * factor
    ticks = np.maximum(1, np.ceil(duration / chip.tick_ns)).astype(np.int64)
    op = lowered.dispatch_op
    op_stream = _streams(operators.start_ns[op], operators.thread[op], streams)
    used = np.concatenate([op_stream, [DEFAULT_STREAM], [mark.stream for mark in marks]]).astype(np.int64)
    work = prepare_collectives(
        recording.collectives, chip, lambda time, thread: _streams(time, thread, streams), used, told=meeting is None
    )
    dispatches, rows = host_order(
        operators, lowered, marks, op_stream, computing=clock is Clock.WALL, further=host_rows(work)
    )
    issued = np.setdiff1d(np.flatnonzero(dispatches.launches), rows)
    stream = op_stream[lowered.launch_dispatch]
    waits = Waits.of(work, meeting, tick_ns=chip.tick_ns, base_ns=base_ns)
    launches, own = merge_launches(lowered, stream, ticks, work, rows, issued, waits)
    whole = schedule(dispatches, launches, costs=HostCosts(), clock=clock, tick_ns=chip.tick_ns, base_ns=base_ns)
    plan, times = separate(whole, own, waits.added(work), issued)
    warp = Warp.of_stretches(dispatches.start_ns, dispatches.end_ns, plan.start_ns, plan.end_ns)
    op_start, op_end = _operator_times(operators, lowered, warp, plan.start_ns[rows], plan.end_ns[rows])
    last_tick = int((plan.kernel_start_ticks + ticks).max(initial=times.end_ticks))
    ends = (
        int(warp(np.array([recording.end_ns]))[0]),
        int(op_end.max(initial=begin_ns)),
        int(plan.dequeue_end_ns.max(initial=begin_ns)),
        base_ns + int(np.ceil(last_tick * chip.tick_ns)),
    )
    return Simulation(
        begin_ns=begin_ns,
        end_ns=max(ends),
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
        stream=stream,
        op_start_ns=op_start,
        op_end_ns=op_end,
        collectives=times,
        memory=device_memory(operators, recording.allocations, lowered, recording.live_before_bytes, pool),
        warp=warp,
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


def _operator_times(
    operators: Operators, lowered: Lowered, warp: Warp, own_start: I64, own_end: I64
) -> tuple[I64, I64]:
    """
    Return start and end of every operator on the timeline of the recording, shape ``[n]`` each.

    A launching operator holds its own dispatch, *own_start* to *own_end*, and whatever encloses it does so still.
    The map alone sees to that, except where an operator took no time at all or launches as it ends: there the
    dispatch is a jump.
    """
    start, end = warp(operators.start_ns), warp.ends(operators.end_ns)
    wide_start, wide_end = start.copy(), np.maximum(start, end)
    op = lowered.dispatch_op
    wide_start[op] = np.minimum(wide_start[op], own_start)
    wide_end[op] = np.maximum(wide_end[op], own_end)
    if (wide_start < start).any() or (wide_end > end).any():
        for level in range(int(lowered.depth.max(initial=0)), 0, -1):
            inner = np.flatnonzero((lowered.depth == level) & (lowered.parent >= 0))
            np.minimum.at(wide_start, lowered.parent[inner], wide_start[inner])
            np.maximum.at(wide_end, lowered.parent[inner], wide_end[inner])
    return wide_start, wide_end
