"""The schedule against a machine that takes one event at a time."""

from __future__ import annotations

import math

import numpy as np
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from drynpu.device import Dispatches, DispatchKind, HostCosts, Launches, LaunchMode, StreamTimes, fifo, schedule_streams
from drynpu.options import Clock

COSTS = HostCosts()
TICK_NS = 20.0


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 200)), max_size=30),
    st.integers(0, 500),
)
def test_fifo_is_a_queue(jobs: list[tuple[int, int]], free: int) -> None:
    arrival = np.sort(np.array([a for a, _ in jobs], np.int64))
    length = np.array([n for _, n in jobs], np.int64)
    expected, busy = [], free
    for a, n in zip(arrival.tolist(), length.tolist(), strict=True):
        expected.append(max(a, busy))
        busy = expected[-1] + n
    assert fifo(arrival, length, free).tolist() == expected


@st.composite
def work(draw: st.DrawFn) -> tuple[Dispatches, Launches]:
    rows, launches, clock = [], [], draw(st.integers(0, 50))
    for _ in range(draw(st.integers(0, 14))):
        clock += draw(st.integers(0, 60_000))
        length = draw(st.integers(0, 50_000))
        mark = draw(st.sampled_from([DispatchKind.LAUNCH, DispatchKind.LAUNCH, *DispatchKind]))
        count = draw(st.integers(1, 3)) if mark in (DispatchKind.LAUNCH, DispatchKind.WAIT_STREAM) else 0
        stream = draw(st.sampled_from([2, 3]))
        rows.append((clock, clock + length, int(mark), count, draw(st.booleans()), stream, draw(st.integers(1, 2))))
        few = st.sampled_from([0, 0, 6, 4400])
        launches += [(stream, draw(st.integers(1, 5000)), draw(few), draw(few)) for _ in range(count)]
        clock += length
    table = np.array(rows, np.int64).reshape(-1, 7)
    kernels = np.array(launches, np.int64).reshape(-1, 4)
    return (
        Dispatches(
            start_ns=table[:, 0],
            end_ns=table[:, 1],
            kind=table[:, 2],
            launches=table[:, 3],
            workspace=table[:, 4].astype(bool),
            stream=table[:, 5],
            event=table[:, 6],
            thread=np.ones(len(table), np.int64),
        ),
        Launches(stream=kernels[:, 0], duration_ticks=kernels[:, 1], gap_ticks=kernels[:, 2], tail_ticks=kernels[:, 3]),
    )


def run(case: tuple[Dispatches, Launches], clock: Clock, mode: LaunchMode = LaunchMode.QUEUE) -> StreamTimes:
    return schedule_streams(*case, costs=COSTS, clock=clock, tick_ns=TICK_NS, base_ns=0, mode=mode)


def one_by_one(
    case: tuple[Dispatches, Launches], clock: Clock, mode: LaunchMode = LaunchMode.QUEUE
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return host starts, host ends, kernel start ticks and times of events, by a loop that follows the design."""
    d, launches = case
    none = np.zeros(len(launches.stream), np.int64)
    gaps, tails = (none if each is None else each for each in (launches.gap_ticks, launches.tail_ticks))
    free: dict[int, int] = {}
    kernel_free: dict[int, int] = {}
    events: dict[int, int] = {}
    starts, ends, kernels, reached = [], [], [], []
    host, measured_end, queue_free, at = None, 0, 0, 0
    for i in range(len(d.start_ns)):
        a, b = int(d.start_ns[i]), int(d.end_ns[i])
        start = a if host is None or clock is Clock.WALL else host + (a - measured_end)
        waits = d.kind[i] in (DispatchKind.WAIT_DEVICE, DispatchKind.WAIT_STREAM, DispatchKind.SYNCHRONIZE_EVENT)
        workspace = COSTS.workspace_ns if d.workspace[i] else 0
        later = workspace if mode is LaunchMode.QUEUE_WITH_WORKSPACE else 0
        enqueue, dequeue_ns = (COSTS.enqueue_ns, COSTS.dequeue_ns) if mode.queued else (0, 0)
        ahead = COSTS.operator_ns + workspace - later + enqueue
        busy = dequeue_ns + later + COSTS.api_ns + int(d.launches[i]) * COSTS.node_ns
        cost = (ahead if mode.queued else ahead + busy) if d.launches[i] else 0
        cost += COSTS.synchronize_ns if waits else 0
        end = start + (b - a if clock is Clock.WALL else cost)
        stream, count = int(d.stream[i]), int(d.launches[i])
        if count:
            dequeue = max(start + min(ahead, end - start), queue_free)
            queue_free = dequeue + busy
            for k in range(count):
                node = dequeue + dequeue_ns // 2 + later + COSTS.api_ns // 2 + k * COSTS.node_ns
                launched = node + (COSTS.node_ns - COSTS.runtime_ns) // 2 + COSTS.runtime_ns
                # The pause before it follows a kernel, not an event.
                behind = kernel_free.get(stream, 0) + int(gaps[at])
                begin = max(math.ceil(launched / TICK_NS), free.get(stream, 0), behind)
                kernels.append(begin)
                free[stream] = kernel_free[stream] = begin + int(launches.duration_ticks[at] + tails[at])
                at += 1
            if mode is LaunchMode.CALLER_WAITS:
                end = max(end, math.ceil(free[stream] * TICK_NS))
        mark, event = d.kind[i], int(d.event[i])
        if mark == DispatchKind.RECORD_EVENT:
            events[event] = free.get(stream, 0)
        # The device is at the record when its stream is drained, and not before the launching thread has come to it.
        on_device = max(end, queue_free, math.ceil(free.get(stream, 0) * TICK_NS))
        reached.append(on_device if mark == DispatchKind.RECORD_EVENT else 0)
        if mark == DispatchKind.WAIT_EVENT:
            free[stream] = max(free.get(stream, 0), events.get(event, 0))
        if waits and clock is not Clock.WALL:
            until = {
                DispatchKind.WAIT_DEVICE: max(free.values(), default=0),
                DispatchKind.WAIT_STREAM: free.get(stream, 0),
                DispatchKind.SYNCHRONIZE_EVENT: events.get(event, 0),
            }[DispatchKind(int(mark))]
            end = max(end, math.ceil(until * TICK_NS))
        if mark == DispatchKind.DRAIN_QUEUE and clock is not Clock.WALL:
            end = max(end, queue_free)
        starts.append(start)
        ends.append(end)
        host, measured_end = end, b
    return starts, ends, kernels, reached


@st.composite
def ways(draw: st.DrawFn) -> tuple[Clock, LaunchMode]:
    """Return a clock and who launches; on the clock ``wall`` there is always a queue."""
    clock = draw(st.sampled_from(list(Clock)))
    return clock, LaunchMode.QUEUE if clock is Clock.WALL else draw(st.sampled_from(list(LaunchMode)))


LONG_RECORD = (
    Dispatches(
        start_ns=np.array([0]),
        end_ns=np.array([5101]),
        kind=np.array([int(DispatchKind.RECORD_EVENT)]),
        launches=np.array([0]),
        workspace=np.array([False]),
        stream=np.array([2]),
        event=np.array([1]),
        thread=np.array([1]),
    ),
    Launches(stream=np.zeros(0, np.int64), duration_ticks=np.zeros(0, np.int64)),
)
"""A call that lasts a nanosecond longer than it is modelled, on the clock ``wall``."""


@given(work(), ways())
@example(LONG_RECORD, (Clock.WALL, LaunchMode.QUEUE))
def test_columns_equal_one_event_at_a_time(case: tuple[Dispatches, Launches], way: tuple[Clock, LaunchMode]) -> None:
    result = run(case, *way)
    starts, ends, kernels, reached = one_by_one(case, *way)
    assert result.start_ns.tolist() == starts
    assert result.end_ns.tolist() == ends
    assert result.kernel_start_ticks.tolist() == kernels
    assert result.event_ns.tolist() == reached


@given(work(), ways())
def test_no_kernel_starts_before_its_launch_or_overlaps_on_its_stream(
    case: tuple[Dispatches, Launches], way: tuple[Clock, LaunchMode]
) -> None:
    result, launches = run(case, *way), case[1]
    assert (result.kernel_start_ticks * TICK_NS >= result.runtime_end_ns).all()
    for stream in np.unique(launches.stream):
        rows = np.flatnonzero(launches.stream == stream)
        end = result.kernel_start_ticks[rows] + launches.duration_ticks[rows]
        assert launches.gap_ticks is not None
        assert launches.tail_ticks is not None
        pause = launches.gap_ticks[rows][1:] + launches.tail_ticks[rows][:-1]
        assert (result.kernel_start_ticks[rows][1:] >= end[:-1] + pause).all()


@given(work(), ways())
def test_queue_and_api_times_nest_and_follow_each_other(
    case: tuple[Dispatches, Launches], way: tuple[Clock, LaunchMode]
) -> None:
    (r, d), mode = (run(case, *way), case[0]), way[1]
    rows = np.flatnonzero(d.launches > 0)
    workspace = ((r.workspace_end_ns, r.enqueue_start_ns), (r.start_ns, r.workspace_start_ns))
    if mode is LaunchMode.QUEUE_WITH_WORKSPACE:
        workspace = ((r.dequeue_start_ns, r.workspace_start_ns), (r.workspace_end_ns, r.api_start_ns))
    if not mode.queued:
        workspace = (*workspace, (r.api_end_ns, r.end_ns))
    for earlier, later in (
        *workspace,
        (r.workspace_start_ns, r.workspace_end_ns),
        (r.enqueue_start_ns, r.enqueue_end_ns),
        (r.enqueue_end_ns, r.end_ns),
        (r.enqueue_end_ns, r.dequeue_start_ns),
        (r.dequeue_start_ns, r.api_start_ns),
        (r.api_end_ns, r.dequeue_end_ns),
    ):
        assert (earlier[rows] <= later[rows]).all(), (earlier[rows], later[rows], way)
    assert (r.dequeue_start_ns[rows][1:] >= r.dequeue_end_ns[rows][:-1]).all()
    owner = np.repeat(np.arange(len(d.launches)), d.launches)
    assert (r.api_start_ns[owner] <= r.node_start_ns).all()
    assert (r.node_start_ns <= r.runtime_start_ns).all()
    assert (r.runtime_end_ns <= r.node_end_ns).all()
    assert (r.node_end_ns <= r.api_end_ns[owner]).all()


@given(work())
def test_a_thread_that_waits_goes_on_when_its_kernels_have_ended(case: tuple[Dispatches, Launches]) -> None:
    r, (d, launches) = run(case, Clock.PROJECTED, LaunchMode.CALLER_WAITS), case
    ends_ns = (r.kernel_start_ticks + launches.duration_ticks) * TICK_NS
    owner = np.repeat(np.arange(len(d.launches)), d.launches)
    assert (ends_ns <= r.end_ns[owner]).all()
    later = np.flatnonzero(owner < len(d.launches) - 1)
    assert (ends_ns[later] <= r.start_ns[owner[later] + 1]).all()


def test_a_pause_of_the_profiler_takes_no_projected_time() -> None:
    zeros = np.zeros(2, np.int64)
    pause = Dispatches(
        start_ns=np.array([100, 5000]),
        end_ns=np.array([4100, 5000]),
        kind=np.array([int(DispatchKind.PAUSE), int(DispatchKind.LAUNCH)]),
        launches=zeros,
        workspace=zeros.astype(bool),
        stream=zeros,
        event=zeros,
        thread=zeros,
    )
    nothing = Launches(stream=np.empty(0, np.int64), duration_ticks=np.empty(0, np.int64))
    assert run((pause, nothing), Clock.PROJECTED).start_ns.tolist() == [100, 1000]
    assert run((pause, nothing), Clock.WALL).start_ns.tolist() == [100, 5000]


@given(work(), st.lists(st.integers(0, 40_000), min_size=60, max_size=60))
def test_launches_that_cost_more_delay_what_follows(case: tuple[Dispatches, Launches], more: list[int]) -> None:
    """Given costs of one kernel each, nothing changes; dearer launches lie one after another and start later."""
    dispatches, launches = case
    count = len(launches.stream)
    plain = run(case, Clock.PROJECTED)
    same = run((dispatches, evolve(launches, node_ns=np.full(count, COSTS.node_ns))), Clock.PROJECTED)
    assert same.kernel_start_ticks.tolist() == plain.kernel_start_ticks.tolist()
    dear = COSTS.node_ns + np.array(more[:count], np.int64)
    slow = run((dispatches, evolve(launches, node_ns=dear)), Clock.PROJECTED)
    assert (slow.node_end_ns - slow.node_start_ns + 1).tolist() == dear.tolist()
    assert (slow.node_start_ns[1:] > slow.node_end_ns[:-1]).all()
    assert (slow.runtime_end_ns < slow.node_end_ns).all()
    assert (slow.kernel_start_ticks * TICK_NS >= slow.runtime_end_ns).all()
    assert (slow.kernel_start_ticks >= plain.kernel_start_ticks).all()
