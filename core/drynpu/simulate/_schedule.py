"""
Stage 4, schedule: when everything happens, on the host and on the streams of the device.

Kernels last what their cost on the chip says, times a jitter that follows from the seed. The device then finds all
times at once; operators are stretched around their dispatches, and a time map carries any other measured time along.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import evolve, frozen

from drynpu.arrays import F64, I64, Bools
from drynpu.device import (
    Dispatches,
    HostCosts,
    Launches,
    LaunchMode,
    QueueState,
    StreamTimes,
    closing_order,
    schedule_streams,
)
from drynpu.kernels import CORE_TASKS, CostTable, TaskType, draw_quantiles, jitter, occurrences, task_type_on
from drynpu.options import Clock
from drynpu.platforms import Chip
from drynpu.simulate._graph_nodes import launched_by_device
from drynpu.simulate._host_gaps import model_gaps
from drynpu.simulate._inputs import Rendezvous
from drynpu.simulate._launch_state import gap_ticks, warm_shares
from drynpu.simulate._lower import LoweredLaunches
from drynpu.simulate._meet import CollectiveCalls, PlannedWork
from drynpu.simulate._recording import Recording
from drynpu.simulate._reuse import split_by_reuse
from drynpu.simulate._time_map import TimeMap
from drynpu.simulate.loads import GraphLoads, LoadedNodes, find_nodes, place_loads


@frozen(eq=False, kw_only=True)
class CollectiveTimes:
    """
    When collectives were issued and run, shape ``[c]``; ns of Unix time, ``start_ticks`` after the recording's base.

    Within ``[runtime_start_ns, runtime_end_ns]`` the launching thread hands over the tasks.
    """

    calls: CollectiveCalls
    enqueue_start_ns: I64
    enqueue_end_ns: I64
    dequeue_start_ns: I64
    dequeue_end_ns: I64
    api_start_ns: I64
    api_end_ns: I64
    node_start_ns: I64
    node_end_ns: I64
    runtime_start_ns: I64
    runtime_end_ns: I64
    start_ticks: I64

    @property
    def end_ticks(self) -> int:
        """When the last one ended, 0 if there was none."""
        return int((self.start_ticks + self.calls.ticks).max(initial=0))


@frozen(eq=False, kw_only=True)
class ScheduledWork:
    """
    One recording on the simulated device.

    ``rows`` selects the dispatches that launch operators among all dispatches of ``schedule``; the launch
    columns of ``schedule``, ``kernel_ticks``, ``factor`` and ``stream`` have one row per launch of an operator.
    """

    begin_ns: int
    end_ns: int
    """After everything that happened on host and device."""
    base_ns: int
    tick_ns: float
    lowered: LoweredLaunches
    costs: CostTable
    task_types: tuple[TaskType, ...]
    """Per kernel: the task type that the chip reports."""
    dispatches: Dispatches
    schedule: StreamTimes
    rows: I64
    factor: F64
    """What the cost of its kernel is multiplied by for each launch: jitter, and less behind an equal kernel."""
    kernel_ticks: I64
    stream: I64
    op_start_ns: I64
    op_end_ns: I64
    collectives: CollectiveTimes
    """Beside the launch columns, which are of operators alone."""
    time_map: TimeMap
    """Maps measured host times to the timeline of the recording."""
    loads: GraphLoads
    """The nodes of loaded graphs, which the host launched while it loaded them."""
    launch_mode: LaunchMode
    """Which thread launched."""


def schedule(
    work: PlannedWork,
    *,
    chip: Chip,
    clock: Clock,
    seed: int,
    base_ns: int,
    l2_counters: bool = False,
    state: QueueState | None = None,
) -> ScheduledWork:
    """
    Lay dispatches on the host and launches on streams; *base_ns* is the Unix time of the device's tick 0.

    On the clocks ``projected`` and ``modelled`` what an operator took on this CPU is replaced by the cost of its
    dispatch; on the latter what lies between dispatches is replaced as well.
    """
    occurrence = occurrences(work.ordered.lowered.launch_kernel)
    ordered = evolve(work.ordered, lowered=split_by_reuse(work.ordered.lowered, chip))
    work = evolve(work, ordered=ordered)
    lowered, dispatches = ordered.lowered, work.dispatches
    recording, rows = lowered.recording, ordered.operator_rows
    costs = CostTable.build(lowered.kernels, chip)
    stream = ordered.operator_stream[lowered.launch_dispatch]
    factor = jitter(lowered.launch_kernel, occurrence, costs.duration_ns, seed, lowered.kernels)
    factor *= warm_shares(lowered, stream, costs)
    # A kernel ends on the tick after its work is done. One of unknown work ends as it starts: no number is invented.
    ticks = np.ceil(costs.duration_ns[lowered.launch_kernel] * factor / chip.tick_ns).astype(np.int64)
    issued = np.flatnonzero((ordered.collective >= 0) & (dispatches.launches > 0))
    tail = _tail_ticks(lowered, occurrence, chip, seed) if l2_counters else np.zeros_like(ticks)
    nodes = find_nodes(lowered, stream, work.collectives.collectives, work.collectives.stream)
    gap = gap_ticks(lowered, stream, chip)
    launches, by_operator = _merge_launches(work, nodes, stream, ticks, gap, tail, issued)
    if recording.rendezvous is not None:
        ask = _ask_ranks(recording.rendezvous, work.collectives, by_operator, tick_ns=chip.tick_ns, base_ns=base_ns)
        launches = evolve(launches, meets=~by_operator, rendezvous=ask)
    # A call that lasts as long as measured has no room for its launch.
    mode = LaunchMode.QUEUE if clock is Clock.WALL else recording.launch_mode
    host = HostCosts()
    gaps: I64 | None = None
    if clock is Clock.MODELLED and len(dispatches.start_ns):
        host = evolve(host, operator_ns=host.modelled_operator_ns)
        gaps = model_gaps(work, host)
    every = schedule_streams(
        dispatches,
        launches,
        costs=host,
        clock=clock,
        tick_ns=chip.tick_ns,
        base_ns=base_ns,
        gaps=None if gaps is None else (recording.begin_ns, gaps[:-1]),
        mode=mode,
        state=state,
    )
    times, collectives = _separate(every, by_operator, work.collectives, issued)
    time_map = _map_times(recording, dispatches, times, gaps)
    op_start, op_end = _operator_times(lowered, time_map, times.start_ns[rows], times.end_ns[rows])
    last_tick = int((times.kernel_start_ticks + ticks).max(initial=collectives.end_ticks))
    ends = (
        int(time_map(np.array([recording.end_ns]))[0]),
        int(op_end.max(initial=recording.begin_ns)),
        int(times.dequeue_end_ns.max(initial=recording.begin_ns)),
        base_ns + int(np.ceil(last_tick * chip.tick_ns)),
    )
    return ScheduledWork(
        begin_ns=recording.begin_ns,
        end_ns=max(ends),
        base_ns=base_ns,
        tick_ns=chip.tick_ns,
        lowered=lowered,
        costs=costs,
        task_types=tuple(task_type_on(kernel.task_type, chip) for kernel in lowered.kernels),
        dispatches=dispatches,
        schedule=times,
        rows=rows,
        factor=factor,
        kernel_ticks=ticks,
        stream=stream,
        op_start_ns=op_start,
        op_end_ns=op_end,
        collectives=collectives,
        time_map=time_map,
        loads=place_loads(
            nodes,
            recording.graphs,
            launched_ns=times.api_start_ns[rows][lowered.launch_dispatch],
            collective_ns=work.collectives.node_ns,
            begin_ns=recording.begin_ns,
            time_map=time_map,
        ),
        launch_mode=mode,
    )


def _map_times(recording: Recording, dispatches: Dispatches, times: StreamTimes, gaps: I64 | None) -> TimeMap:
    """Return the map from measured host times to the schedule's times; *gaps* are the host's, if modelled."""
    start, end, to_start, to_end = dispatches.start_ns, dispatches.end_ns, times.start_ns, times.end_ns
    if gaps is not None:
        first, last = recording.begin_ns, recording.end_ns
        until = int(to_end[-1]) + int(gaps[-1])
        start, to_start = np.concatenate(([first], start, [last])), np.concatenate(([first], to_start, [until]))
        end, to_end = np.concatenate(([first], end, [last])), np.concatenate(([first], to_end, [until]))
    return TimeMap.from_stretches(start, end, to_start, to_end)


def _tail_ticks(lowered: LoweredLaunches, occurrence: I64, chip: Chip, seed: int) -> I64:
    """Return how long the stream rests behind each launch until its L2 counters are read."""
    if not chip.platform.memory.l2_read_us:
        return np.zeros(len(occurrence), np.int64)
    read = np.array([kernel.task_type in CORE_TASKS for kernel in lowered.kernels] or [False])[lowered.launch_kernel]
    rest_us = draw_quantiles(chip.platform.memory.l2_read_us, lowered.launch_kernel, occurrence, seed, lowered.kernels)
    return np.where(read, np.ceil(rest_us * 1000 / chip.tick_ns), 0).astype(np.int64)


def _merge_launches(
    work: PlannedWork, nodes: LoadedNodes, stream: I64, ticks: I64, gap: I64, tail: I64, issued: I64
) -> tuple[Launches, Bools]:
    """
    Return kernels and collectives in host order, and which of them are kernels of operators.

    *issued* are the dispatches that launch the collectives; *gap* and *tail* are how long a stream rests before and
    after each kernel.
    """
    host, ordered, collectives = HostCosts(), work.ordered, work.collectives
    owner = np.concatenate([ordered.operator_rows[ordered.lowered.launch_dispatch], issued])
    by_host = np.argsort(owner, kind="stable")
    # A node that was loaded leaves no records where it runs, so that it needs no room.
    further, shared = (np.where(each.node < 0, host.graph_node_ns, 0) for each in (nodes.kernels, nodes.collectives))
    costs = np.where(launched_by_device(work), further, host.node_ns)
    in_graph = np.array([each.in_graph for each in collectives.collectives], bool)
    launches = Launches(
        stream=np.concatenate([stream, collectives.stream])[by_host],
        duration_ticks=np.concatenate([ticks, collectives.ticks])[by_host],
        node_ns=np.concatenate([costs, np.where(in_graph, shared, collectives.node_ns)])[by_host],
        gap_ticks=np.concatenate([gap, np.zeros(len(collectives), np.int64)])[by_host],
        tail_ticks=np.concatenate([tail, np.zeros(len(collectives), np.int64)])[by_host],
    )
    return launches, by_host < len(ticks)


def _ask_ranks(
    rendezvous: Rendezvous, work: CollectiveCalls, by_operator: Bools, *, tick_ns: float, base_ns: int
) -> Callable[[int, int], int]:
    """Return a function that asks the other ranks how many ticks a launch waits for the slowest of them."""
    number = np.cumsum(~by_operator) - 1

    def wait_ticks(launch: int, start_ticks: int) -> int:
        index = int(number[launch])
        # Every collective is announced, also one that waits for nobody: the others count them.
        arrived_ns = rendezvous(index, base_ns + round(start_ticks * tick_ns))
        waited = int(np.ceil((arrived_ns - base_ns) / tick_ns)) - start_ticks
        return max(0, waited) if work.waits[index] else 0

    return wait_ticks


def _separate(
    every: StreamTimes, by_operator: Bools, work: CollectiveCalls, issued: I64
) -> tuple[StreamTimes, CollectiveTimes]:
    """Take the launches of collectives out of the schedule; *issued* are their dispatches."""
    launched = ("node_start_ns", "node_end_ns", "runtime_start_ns", "runtime_end_ns")
    queued = ("enqueue_start_ns", "enqueue_end_ns", "dequeue_start_ns", "dequeue_end_ns", "api_start_ns", "api_end_ns")
    waited = every.rendezvous_ticks[~by_operator]
    times = CollectiveTimes(
        calls=evolve(work, wait_ticks=work.wait_ticks + waited, ticks=work.ticks + waited),
        start_ticks=every.kernel_start_ticks[~by_operator],
        **{name: getattr(every, name)[~by_operator] for name in launched},
        **{name: getattr(every, name)[issued] for name in queued},
    )
    kept = {name: getattr(every, name)[by_operator] for name in (*launched, "kernel_start_ticks", "rendezvous_ticks")}
    return evolve(every, **kept), times


def _operator_times(
    lowered: LoweredLaunches, time_map: TimeMap, dispatch_start: I64, dispatch_end: I64
) -> tuple[I64, I64]:
    """
    Return start and end of every operator on the timeline of the recording, shape ``[n]`` each.

    A launching operator holds its own dispatch, *dispatch_start* to *dispatch_end*, and whatever encloses it does so
    still. The map alone sees to that, except where an operator took no time at all or launches as it ends: there the
    dispatch is a jump.
    """
    operators = lowered.recording.operators
    start, end = time_map(operators.start_ns), time_map.ends(operators.end_ns)
    op = lowered.dispatch_op
    momentary = end < start
    if momentary.any():
        start = np.where(momentary, _momentary_times(lowered, np.flatnonzero(momentary), end, dispatch_end), start)
        end = np.maximum(start, end)
        launching = momentary[op]
        start[op[launching]], end[op[launching]] = dispatch_start[launching], dispatch_end[launching]
    wide_start, wide_end = start.copy(), end.copy()
    wide_start[op] = np.minimum(wide_start[op], dispatch_start)
    wide_end[op] = np.maximum(wide_end[op], dispatch_end)
    if momentary.any() or (wide_start < start).any() or (wide_end > end).any():
        for level in range(int(lowered.depth.max(initial=0)), 0, -1):
            inner = np.flatnonzero((lowered.depth == level) & (lowered.parent >= 0))
            np.minimum.at(wide_start, lowered.parent[inner], wide_start[inner])
            np.maximum.at(wide_end, lowered.parent[inner], wide_end[inner])
    return wide_start, wide_end


def _momentary_times(lowered: LoweredLaunches, rows: I64, end_ns: I64, dispatch_end: I64) -> I64:
    """
    Return when operators took place that lasted no time while something was launched; *rows* are theirs.

    That is after the launches of their thread that came before them in that moment, if there were any, else before the
    moment: *end_ns*, shape ``[n]``, like the result.
    """
    operators, op = lowered.recording.operators, lowered.dispatch_op
    closing = closing_order(lowered.depth, operators.thread)
    thread = np.concatenate((operators.thread[op], operators.thread[rows]))
    moment = np.concatenate((lowered.dispatch_begin_ns, operators.start_ns[rows]))
    asks = np.arange(len(thread)) >= len(op)
    order = np.lexsort((asks, np.concatenate((closing[op], closing[rows])), moment, thread))
    last = np.maximum.accumulate(np.where(asks[order], -1, np.arange(len(order))))
    launch = np.empty(len(order), np.int64)
    launch[order] = np.where(last >= 0, order[np.maximum(last, 0)], -1)
    before = launch[len(op) :]
    same = (before >= 0) & (thread[before] == thread[len(op) :]) & (moment[before] == moment[len(op) :])
    times = end_ns.copy()
    times[rows] = np.where(same, np.append(dispatch_end, 0)[np.where(same, before, -1)], end_ns[rows])
    return times
