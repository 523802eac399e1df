"""
When everything happens: the host beside an NPU, the launching thread, and FIFO streams.

The host side is a list of *dispatches* in host order (an operator that launches, a synchronising call, a pause
of the profiler), with gaps between them in which the host runs. A dispatch takes its modelled cost
(clocks ``projected`` and ``modelled``) or its measured time (clock ``wall``). Kernels start at
``max(launch, end of the previous kernel on the stream)``. Only calls that wait for the device or order
streams, and launches that wait for other ranks, cut the columns into segments; inside a segment everything is a
cumulative maximum.
"""

from __future__ import annotations

import numpy as np
from attrs import define, evolve, field, fields_dict, frozen

from drynpu.arrays import I64
from drynpu.device._dispatches import Dispatches, DispatchKind, HostCosts, Launches, LaunchMode, StreamTimes
from drynpu.options import Clock


def fifo(arrival: I64, length: I64, free: int) -> I64:
    """
    Return the start of each job of a first-in first-out server.

    ``start[i] = max(arrival[i], start[i-1] + length[i-1])`` with the server busy until *free*; shapes ``[n]``.
    """
    if not len(arrival):
        return arrival
    # With what all jobs before take subtracted from both sides, the recursion is a running maximum.
    before = np.cumsum(length) - length
    earliest = arrival - before
    earliest[0] = max(int(earliest[0]), free)
    return np.asarray(np.maximum.accumulate(earliest) + before)


@frozen(eq=False, kw_only=True)
class _HandOver:
    """
    What each dispatch takes until its kernels are launched, ns, shape ``[n]``.

    ``ahead_ns`` and ``enqueue_ns`` are of the calling thread, ``busy_ns`` of the launching one, which asks for
    a workspace in ``workspace_ns`` of it and launches in ``api_ns``.
    """

    ahead_ns: I64
    enqueue_ns: I64
    workspace_ns: I64
    api_ns: I64
    busy_ns: I64

    @classmethod
    def build(cls, dispatches: Dispatches, costs: HostCosts, mode: LaunchMode, node_total_ns: I64) -> _HandOver:
        """Split the costs of each dispatch between the threads; *node_total_ns* is what all its launches take."""
        alone = ~dispatches.in_graph
        workspace = np.where(dispatches.workspace, costs.workspace_ns, 0)
        later = workspace if mode is LaunchMode.QUEUE_WITH_WORKSPACE else np.zeros_like(workspace)
        api = costs.api_ns * alone + np.where(dispatches.compiles, costs.compile_ns, 0) + node_total_ns
        return cls(
            ahead_ns=costs.operator_ns * alone + workspace - later,
            enqueue_ns=costs.enqueue_ns * alone,
            workspace_ns=later,
            api_ns=api,
            busy_ns=np.where(dispatches.launches > 0, costs.dequeue_ns * alone + later + api, 0),
        )


@define(kw_only=True)
class QueueState:
    """
    The state that one segment passes to the next, and one stretch of a run to the next; nothing else is carried.

    ``stream_free`` is when the last kernel leaves a stream, ``reached`` when the events come that it waits for: ticks
    after the base.
    """

    shift_ns: int = 0
    dequeue_free_ns: int = 0
    stream_free: dict[int, int] = field(factory=dict)
    reached: dict[int, int] = field(factory=dict)
    events: dict[int, int] = field(factory=dict)

    def drained(self, stream: int) -> int:
        """Return when everything is over that was put on the stream."""
        return max(self.stream_free.get(stream, 0), self.reached.get(stream, 0))


@define(kw_only=True)
class _Scheduler:
    """
    Schedules one segment of dispatches after the other; ``out`` holds the columns of `StreamTimes`.

    ``offsets`` (``[n + 1]``) is the first launch of each dispatch. ``node_before_ns`` is what the launches before each
    one take in its dispatch. ``hand_over`` says what each dispatch takes on which thread.
    """

    dispatches: Dispatches
    launches: Launches
    costs: HostCosts
    clock: Clock
    mode: LaunchMode
    tick_ns: float
    base_ns: int
    offsets: I64
    node_ns: I64
    node_before_ns: I64
    hand_over: _HandOver
    base_start_ns: I64
    cost_ns: I64
    out: dict[str, I64]
    state: QueueState = field(factory=QueueState)

    def segment(self, first: int, last: int) -> None:
        """Schedule dispatches ``first..last`` (inclusive); only *last* may wait, order streams or meet other ranks."""
        rows = slice(first, last + 1)
        start = self.base_start_ns[rows] + self.state.shift_ns
        self.out["start_ns"][rows] = start
        self.out["end_ns"][rows] = start + self.cost_ns[rows]
        self._queue(first, last, start)
        self._launch(first, last)
        self._order_streams(last)

    def _queue(self, first: int, last: int, start: I64) -> None:
        """Pass the dispatches through the task queue: the calling thread puts them in, the launching one takes them."""
        rows = slice(first, last + 1)
        d, c, work = self.dispatches, self.costs, self.hand_over
        alone = ~d.in_graph[rows]
        ahead, enqueue, workspace, api, busy = (
            column[rows] for column in (work.ahead_ns, work.enqueue_ns, work.workspace_ns, work.api_ns, work.busy_ns)
        )
        # On the clock ``wall`` a dispatch may be shorter than its modelled parts, which then shrink alike.
        whole = np.maximum(ahead + enqueue, 1)
        there = np.minimum(ahead + enqueue, self.cost_ns[rows])
        enqueue_start = start + ahead * there // whole
        handed_over = start + there
        launching = np.flatnonzero(d.launches[rows] > 0)
        dequeue = handed_over.copy()
        dequeue[launching] = fifo(handed_over[launching], busy[launching], self.state.dequeue_free_ns)
        if len(launching):
            self.state.dequeue_free_ns = int(dequeue[launching[-1]] + busy[launching[-1]])
        # The ACL call lies in the middle of the dequeue, what asks for its workspace before it.
        inside = dequeue + c.dequeue_ns // 2 * alone
        api_start = inside + workspace
        before = start + c.operator_ns * alone * there // whole
        with_workspace = self.mode is LaunchMode.QUEUE_WITH_WORKSPACE
        for name, value in (
            ("workspace_start_ns", inside if with_workspace else before),
            ("workspace_end_ns", api_start if with_workspace else enqueue_start),
            ("enqueue_start_ns", enqueue_start),
            # The vendor's analysis finds the operator of an entry only if the operator ends after it.
            ("enqueue_end_ns", np.maximum(handed_over - alone, enqueue_start)),
            ("dequeue_start_ns", dequeue),
            # A nanosecond before the next one: of two that touch, the vendor's analysis loses one.
            ("dequeue_end_ns", dequeue + busy - alone * (busy > 0) * self.mode.queued),
            ("api_start_ns", api_start),
            ("api_end_ns", api_start + api),
        ):
            self.out[name][rows] = value

    def _launch(self, first: int, last: int) -> None:
        """Put the launches of the segment on their streams."""
        rows = slice(int(self.offsets[first]), int(self.offsets[last + 1]))
        if rows.start == rows.stop:
            return
        c = self.costs
        owner = np.repeat(np.arange(first, last + 1), self.dispatches.launches[first : last + 1])
        length = self.node_ns[rows]
        compiled = np.where(self.dispatches.compiles[owner], c.compile_ns, 0)
        called = np.where(self.dispatches.in_graph[owner], 0, c.api_ns // 2)
        node = self.out["api_start_ns"][owner] + compiled + called + self.node_before_ns[rows]
        # The runtime call lies in the middle of a usual node launch; a longer launch lengthens both, a shorter shrinks.
        usual = np.minimum(length, c.node_ns)
        runtime = node + usual * (c.node_ns - c.runtime_ns) // (2 * c.node_ns)
        launched = runtime + usual * c.runtime_ns // c.node_ns + length - usual
        self.out["node_start_ns"][rows] = node
        # A nanosecond before the next one, so that calls that follow each other do not touch.
        self.out["node_end_ns"][rows] = node + length - 1
        self.out["runtime_start_ns"][rows] = runtime
        self.out["runtime_end_ns"][rows] = launched
        # No kernel starts before its launch, so it arrives on the tick after.
        arrival = np.ceil((launched - self.base_ns) / self.tick_ns).astype(np.int64)
        streams, ticks = self.launches.stream[rows], self.launches.duration_ticks[rows]
        gaps, tails = (
            np.zeros_like(ticks) if column is None else column[rows]
            for column in (self.launches.gap_ticks, self.launches.tail_ticks)
        )
        for stream in np.unique(streams).tolist():
            on = np.flatnonzero(streams == stream)
            # The gap before a kernel is a part of its turn, and may pass before the kernel is launched.
            # After an event the next kernel starts at once.
            gap = gaps[on]
            busy: I64 = ticks[on] + tails[on]
            ready: I64 = np.maximum(arrival[on], self.state.reached.get(stream, 0)) - gap
            begin = gap + fifo(ready, gap + busy, self.state.stream_free.get(stream, 0))
            self.out["kernel_start_ticks"][rows.start + on] = begin
            self.state.stream_free[stream] = int(begin[-1] + busy[-1])
        self._meet(rows.stop - 1)

    def _meet(self, launch: int) -> None:
        """Lengthen the last launch of a segment by its wait for other ranks, if it is the launch of a collective."""
        meets, rendezvous = self.launches.meets, self.launches.rendezvous
        if rendezvous is not None and meets is not None and meets[launch]:
            wait = rendezvous(launch, int(self.out["kernel_start_ticks"][launch]))
            self.out["rendezvous_ticks"][launch] = wait
            self.state.stream_free[int(self.launches.stream[launch])] += wait

    def _order_streams(self, last: int) -> None:
        """Apply the last dispatch of a segment to events, streams and the host: record, wait or synchronise."""
        if self.mode is LaunchMode.CALLER_WAITS and self.dispatches.launches[last]:
            launched = slice(int(self.offsets[last]), int(self.offsets[last + 1]))
            self._wait(last, max(self.state.stream_free[stream] for stream in self.launches.stream[launched].tolist()))
        kind = int(self.dispatches.kind[last])
        stream, event = int(self.dispatches.stream[last]), int(self.dispatches.event[last])
        state, drained = self.state, self.state.drained(stream)
        if kind == DispatchKind.RECORD_EVENT:
            state.events[event] = drained
            # The record goes through the queue behind all that was put in before it, when its call has put it in.
            arrival = max(int(self.out["end_ns"][last]), state.dequeue_free_ns)
            self.out["event_ns"][last] = max(arrival, self.base_ns + int(np.ceil(drained * self.tick_ns)))
        elif kind == DispatchKind.WAIT_EVENT:
            state.reached[stream] = max(drained, state.events.get(event, 0))
        elif kind == DispatchKind.WAIT_DEVICE:
            self._wait(last, max((*state.stream_free.values(), *state.reached.values()), default=0))
        elif kind == DispatchKind.WAIT_STREAM:
            self._wait(last, drained)
        elif kind == DispatchKind.SYNCHRONIZE_EVENT:
            self._wait(last, state.events.get(event, 0))
        elif kind == DispatchKind.DRAIN_QUEUE:
            self._hold(last, state.dequeue_free_ns)

    def _wait(self, row: int, until_ticks: int) -> None:
        """Let the host wait until the device reached a tick."""
        self.out["wait_ns"][row] = self._hold(row, self.base_ns + int(np.ceil(until_ticks * self.tick_ns)))

    def _hold(self, row: int, until_ns: int) -> int:
        """Keep the host in a dispatch until a time and return how long; on ``wall`` its times are those measured."""
        end = int(self.out["end_ns"][row])
        wait = 0 if self.clock is Clock.WALL else max(0, until_ns - end)
        self.out["end_ns"][row] = end + wait
        self.state.shift_ns += wait
        return wait


_LAUNCH_COLUMNS = (
    *("node_start_ns", "node_end_ns", "runtime_start_ns", "runtime_end_ns"),
    *("kernel_start_ticks", "rendezvous_ticks"),
)
_DISPATCH_COLUMNS = tuple(name for name in fields_dict(StreamTimes) if name not in _LAUNCH_COLUMNS)


def schedule_streams(
    dispatches: Dispatches,
    launches: Launches,
    *,
    costs: HostCosts,
    clock: Clock,
    tick_ns: float,
    base_ns: int,
    gaps: tuple[int, I64] | None = None,
    mode: LaunchMode = LaunchMode.QUEUE,
    state: QueueState | None = None,
) -> StreamTimes:
    """
    Lay dispatches on the host and kernels on the device.

    Parameters
    ----------
    dispatches, launches:
        Columns as described at their classes; ``sum(dispatches.launches) == len(launches.stream)``.
    tick_ns, base_ns:
        Length of a device tick and the Unix time of tick 0. Kernel times lie on the tick grid.
    gaps:
        Begin of the host timeline, and the gap before each dispatch (ns, ``[n]``); None: as measured.
    mode:
        Which thread launches; with a queue on the clock ``wall``, where a measured call has no room for its launch.
    state:
        Where the stretch before left the queues, of the same *base_ns*; it is changed to where this one leaves them.
    """
    measured = dispatches.end_ns - dispatches.start_ns
    offsets = np.concatenate(([0], np.cumsum(dispatches.launches)))
    node = np.full(len(launches.stream), costs.node_ns) if launches.node_ns is None else launches.node_ns
    through = np.concatenate(([0], np.cumsum(node)))
    if not mode.queued:
        costs = evolve(costs, enqueue_ns=0, dequeue_ns=0)
    hand_over = _HandOver.build(dispatches, costs, mode, through[offsets[1:]] - through[offsets[:-1]])
    cost = measured if clock is Clock.WALL else _cost(dispatches, costs, hand_over, mode)
    scheduler = _Scheduler(
        dispatches=dispatches,
        launches=launches,
        costs=costs,
        clock=clock,
        mode=mode,
        tick_ns=tick_ns,
        base_ns=base_ns,
        offsets=offsets,
        node_ns=node,
        node_before_ns=through[:-1] - np.repeat(through[offsets[:-1]], dispatches.launches),
        hand_over=hand_over,
        # What the dispatches before took is replaced by what they cost.
        base_start_ns=_run(dispatches, measured, gaps) + (np.cumsum(cost) - cost),
        cost_ns=cost,
        out={name: np.zeros(len(cost), np.int64) for name in _DISPATCH_COLUMNS}
        | {name: np.zeros(len(launches.stream), np.int64) for name in _LAUNCH_COLUMNS},
        state=QueueState() if state is None else state,
    )
    scheduler.state.shift_ns = 0
    first = 0
    for last in (*_cuts(dispatches, launches, mode), len(cost) - 1):
        if last >= first:
            scheduler.segment(first, last)
            first = last + 1
    return StreamTimes(**scheduler.out)


def _run(dispatches: Dispatches, measured: I64, gaps: tuple[int, I64] | None) -> I64:
    """Return the start of each dispatch if none of them took time."""
    if gaps is None:
        return dispatches.start_ns - (np.cumsum(measured) - measured)
    begin_ns, gap_ns = gaps
    return np.asarray(begin_ns + np.cumsum(gap_ns), np.int64)


def _cuts(dispatches: Dispatches, launches: Launches, mode: LaunchMode) -> list[int]:
    """Return the dispatches that end a segment: those that wait, order streams or meet other ranks."""
    cut = (dispatches.kind != DispatchKind.LAUNCH) & (dispatches.kind != DispatchKind.PAUSE)
    if mode is LaunchMode.CALLER_WAITS:
        cut |= dispatches.launches > 0
    if launches.meets is not None:
        # A dispatch that launches one that meets other ranks launches nothing else.
        cut[np.repeat(np.arange(len(cut)), dispatches.launches)[launches.meets]] = True
    return [int(row) for row in np.flatnonzero(cut)]


def _cost(dispatches: Dispatches, costs: HostCosts, hand_over: _HandOver, mode: LaunchMode) -> I64:
    """Return what each dispatch costs the calling thread on the projected clock, ns, shape ``[n]``."""
    before = hand_over.ahead_ns + hand_over.enqueue_ns
    cost = np.where((dispatches.launches > 0) & ~dispatches.in_graph, before, 0)
    if not mode.queued:
        cost = cost + hand_over.busy_ns
    waiting = np.isin(
        dispatches.kind, [DispatchKind.WAIT_DEVICE, DispatchKind.WAIT_STREAM, DispatchKind.SYNCHRONIZE_EVENT]
    )
    return np.asarray(cost + np.where(waiting, costs.synchronize_ns, 0), np.int64)
