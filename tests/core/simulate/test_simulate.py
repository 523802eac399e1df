"""The timeline of a recording: what has to hold whatever the operators do, and case by case."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.device import DispatchKind, HostCosts, block_bytes, innermost
from drynpu.kernels import Placement
from drynpu.options import Clock
from drynpu.simulate import DEFAULT_STREAM, DatasetEvent, GraphRun, HostCall, Iteration, Simulation
from drynpu.simulate._event_times import event_times

COSTS = HostCosts()
CLOCKS = st.sampled_from(list(Clock))


@st.composite
def marks(draw: st.DrawFn, begin_ns: int, pid: int) -> tuple[HostCall, ...]:
    found = []
    for _ in range(draw(st.integers(0, 5))):
        time = begin_ns + draw(st.sampled_from([0, 1, 700, 15_700, 40_000, 95_701, 200_000]))
        mark = draw(st.sampled_from([mark for mark in DispatchKind if mark is not DispatchKind.LAUNCH]))
        until = time + draw(st.integers(0, 90_000)) if mark is DispatchKind.PAUSE else 0
        stream, event = draw(st.sampled_from([2, 3])), draw(st.integers(1, 2))
        found.append(HostCall(time, draw(st.sampled_from([pid, pid + 1])), mark, stream, event, until))
    return tuple(found)


def draw_simulation(tools: Any, data: st.DataObject, clock: Clock) -> tuple[Any, Simulation]:
    table = tools.operators(data.draw(tools.forests()))
    some = data.draw(marks(tools.begin_ns, tools.pid))
    switches = data.draw(st.sampled_from([(), ((tools.begin_ns + 20_000, tools.pid, 3),)]))
    return table, tools.simulate(table, clock=clock, host_calls=some, streams=switches)


@given(st.data(), CLOCKS)
def test_every_operator_contains_its_dispatch_and_its_children(tools: Any, data: st.DataObject, clock: Clock) -> None:
    table, s = draw_simulation(tools, data, clock)
    lowered, plan = s.lowered, s.schedule
    op = lowered.dispatch_op
    assert (s.op_start_ns <= s.op_end_ns).all()
    for inner, outer in (
        (plan.start_ns[s.rows], s.op_start_ns[op]),
        (plan.workspace_start_ns[s.rows], s.op_start_ns[op]),
        (plan.enqueue_start_ns[s.rows], s.op_start_ns[op]),
    ):
        assert (outer <= inner).all()
    assert (plan.enqueue_end_ns[s.rows] <= s.op_end_ns[op]).all()
    assert (plan.end_ns[s.rows] <= s.op_end_ns[op]).all()
    inner = np.flatnonzero(lowered.parent >= 0)
    outer = lowered.parent[inner]
    assert (s.op_start_ns[outer] <= s.op_start_ns[inner]).all()
    assert (s.op_end_ns[inner] <= s.op_end_ns[outer]).all()
    siblings: dict[tuple[int, int], list[int]] = {}
    for row, key in enumerate(zip(table.thread.tolist(), lowered.parent.tolist(), strict=True)):
        siblings.setdefault(key, []).append(row)
    for rows in siblings.values():
        assert (s.op_end_ns[rows[:-1]] <= s.op_start_ns[rows[1:]]).all()


@given(st.data(), CLOCKS)
def test_a_launch_crosses_no_operator_that_is_shown(tools: Any, data: st.DataObject, clock: Clock) -> None:
    """What the timeline shows of one thread nests; a launch is on the innermost operator open when it starts."""
    table, s = draw_simulation(tools, data, clock)
    shown = np.flatnonzero(~s.lowered.computing | (clock is Clock.WALL))
    put = list(
        zip(s.schedule.enqueue_start_ns[s.rows].tolist(), s.schedule.enqueue_end_ns[s.rows].tolist(), strict=True)
    )
    for (begin, end), op in zip(put, s.lowered.dispatch_op.tolist(), strict=True):
        for row in shown[table.thread[shown] == table.thread[op]].tolist():
            start, stop = int(s.op_start_ns[row]), int(s.op_end_ns[row])
            apart = end <= start or stop <= begin
            assert apart or (start <= begin and end <= stop) or (begin <= start and stop <= end)
            inner = op == int(s.lowered.parent[row])
            assert not inner or not start < begin < stop, "an operator inside would be taken for the launching one"


@pytest.mark.parametrize("clock", Clock)
def test_operators_that_took_no_time_follow_each_other(tools: Any, clock: Clock) -> None:
    """A coarse clock gives many operators the same nanosecond: the inner launches first and holds only its launch."""
    table = tools.operators([tools.Row("index", 0, 0), tools.Row("add", 0, 0)])
    s = tools.simulate(table, clock=clock)
    (outer_launch, inner_launch) = (s.rows[s.lowered.dispatch_op == row].item() for row in (0, 1))
    assert s.schedule.end_ns[inner_launch] <= s.schedule.start_ns[outer_launch]
    assert s.op_end_ns[1] == s.schedule.end_ns[inner_launch]
    assert s.op_end_ns[0] == s.schedule.end_ns[outer_launch]


def test_what_ended_launches_before_what_began_with_it(tools: Any) -> None:
    """An operator that launches as it ends comes before one inside the operator that begins in that nanosecond."""
    rows = [("index", 0, 700), ("add", 100, 700), ("#range", 700, 900), ("mm", 700, 700)]
    s = tools.simulate(tools.operators([tools.Row(*row) for row in rows]))
    assert s.lowered.dispatch_op.tolist() == [1, 0, 3]
    assert s.op_end_ns[0] <= s.op_start_ns[2] <= s.op_start_ns[3]


@given(st.data(), CLOCKS)
def test_the_host_does_one_thing_at_a_time_and_time_never_runs_back(
    tools: Any, data: st.DataObject, clock: Clock
) -> None:
    table, s = draw_simulation(tools, data, clock)
    plan, d = s.schedule, s.dispatches
    assert (plan.start_ns <= plan.end_ns).all()
    assert (plan.end_ns[:-1] <= plan.start_ns[1:]).all()
    moments = np.unique(np.concatenate([table.start_ns, table.end_ns, d.start_ns, d.end_ns, [s.begin_ns]]))
    moments = np.unique(np.concatenate([moments + shift for shift in (-1, 0, 1, 5000)]))
    mapped = s.time_map(moments)
    assert (np.diff(mapped) >= 0).all()
    # Outside of dispatches every nanosecond lasts as long as it did, unless what lies between them is modelled.
    for (a, b), (x, y) in zip(itertools.pairwise(moments.tolist()), itertools.pairwise(mapped.tolist()), strict=True):
        if clock is not Clock.MODELLED and not ((d.start_ns <= b) & (a <= d.end_ns)).any():
            assert y - x == b - a
    assert s.time_map(np.array([s.begin_ns - 7]))[0] == s.begin_ns - 7
    if clock is Clock.WALL:
        assert (mapped == moments).all()


@given(st.data(), CLOCKS)
def test_everything_lies_in_the_recording_and_kernels_in_their_stream(
    tools: Any, data: st.DataObject, clock: Clock
) -> None:
    s = draw_simulation(tools, data, clock)[1]
    start = s.schedule.kernel_start_ticks * 20 + tools.begin_ns
    end = start + s.kernel_ticks * 20
    for begin, finish in ((s.op_start_ns, s.op_end_ns), (s.schedule.dequeue_start_ns, s.schedule.dequeue_end_ns)):
        assert (begin >= s.begin_ns).all()
        assert (finish <= s.end_ns).all()
    assert (end <= s.end_ns).all()
    assert (start >= s.schedule.runtime_end_ns).all()
    for stream in np.unique(s.stream):
        rows = np.flatnonzero(s.stream == stream)
        assert (end[rows][:-1] <= start[rows][1:]).all()
    kernels = sum(len(s.lowered.plans[p].kernels) for p in s.lowered.dispatch_plan)
    assert len(s.stream) == len(start) == kernels


def test_an_operator_costs_its_dispatch_and_python_between_operators_stays(tools: Any) -> None:
    row = tools.Row
    table = tools.operators([row("add", 1000, 501_000), row("add", 502_345, 900_000), row("view", 900_100, 900_300)])
    s = tools.simulate(table)
    cost = COSTS.operator_ns + COSTS.workspace_ns + COSTS.enqueue_ns
    first, second, view = (s.op_start_ns - tools.begin_ns).tolist()
    assert (first, second, view) == (1000, 1000 + cost + 1345, 1000 + 2 * cost + 1345 + 100)
    assert (s.op_end_ns - s.op_start_ns).tolist() == [cost, cost, 200]
    wall = tools.simulate(table, clock=Clock.WALL)
    assert wall.op_start_ns.tolist() == table.start_ns.tolist()
    assert wall.op_end_ns.tolist() == table.end_ns.tolist()


def test_a_copy_asks_for_no_workspace_and_the_single_op_path_compiles(tools: Any) -> None:
    row = tools.Row
    s = tools.simulate(tools.operators([row("add", 0, 100), row("single", 1000, 1100)]))
    api = s.schedule.api_end_ns - s.schedule.api_start_ns
    assert api.tolist() == [
        COSTS.api_ns + COSTS.node_ns,
        COSTS.api_ns + COSTS.compile_ns + 3 * COSTS.node_ns,
    ]
    host = s.op_end_ns - s.op_start_ns
    assert host.tolist() == [17_100, 5_100]
    # It launches after it has compiled.
    assert s.schedule.node_start_ns[1] >= s.schedule.api_start_ns[1] + COSTS.compile_ns
    assert s.schedule.node_end_ns[3] < s.schedule.api_end_ns[1]


def graph_runs(tools: Any, *ends: int) -> tuple[GraphRun, ...]:
    """Return a graph with an iteration up to each time, the first from the beginning."""
    edges = itertools.pairwise((tools.begin_ns, *(tools.begin_ns + end for end in ends)))
    runs = tuple(Iteration(index=index, start_ns=start, end_ns=end) for index, (start, end) in enumerate(edges, 1))
    return (GraphRun(model_id=1, model_name="graph", iterations=runs),)


def test_a_graph_is_launched_as_a_whole(tools: Any) -> None:
    """The host launches the first kernel, the device takes the others one by one, a tick of 20 ns apart."""
    row = tools.Row
    s = tools.simulate(tools.operators([row("node", 1000, 2000), row("node", 2000, 3000), row("add", 3000, 3500)]))
    assert (s.op_start_ns - tools.begin_ns).tolist() == [1000, 1000, 1000]
    api = s.schedule.api_end_ns - s.schedule.api_start_ns
    first, further = COSTS.node_ns, COSTS.graph_node_ns
    assert api.tolist() == [first + further, 2 * further, COSTS.api_ns + COSTS.node_ns]
    launched = (s.schedule.node_start_ns - tools.begin_ns).tolist()
    assert launched[:4] == [1000, *(1000 + first + number * further for number in range(3))]
    inside = (
        s.schedule.runtime_start_ns - s.schedule.node_start_ns,
        s.schedule.node_end_ns - s.schedule.runtime_end_ns,
    )
    assert (np.concatenate(inside) > 0).all()
    starts, ends = s.schedule.kernel_start_ticks[:4], s.schedule.kernel_start_ticks[:4] + s.kernel_ticks[:4]
    assert (starts[1:] - ends[:-1]).tolist() == [1, 1, 1]


@pytest.mark.parametrize("clock", [Clock.MODELLED, Clock.PROJECTED])
def test_each_run_of_a_graph_is_a_launch_of_its_own(tools: Any, clock: Clock) -> None:
    """Between two runs the script prepares data for 300 ms; nodes of one run follow each other at once."""
    rows = [tools.Row("node", *times) for times in [(1000, 2000), (50_000, 60_000), (300_060_000, 300_070_000)]]
    table = tools.operators(rows)
    s = tools.simulate(table, clock=clock, graphs=graph_runs(tools, 65_000, 300_080_000))
    between = np.diff(s.op_start_ns)
    assert between[1] == pytest.approx(300_000_000, abs=60_000)
    assert between[0] == (0 if clock is Clock.MODELLED else 48_000)
    length = s.schedule.node_end_ns - s.schedule.node_start_ns + 1
    assert length.tolist() == [COSTS.node_ns, 0, 0, 0, COSTS.node_ns, 0]


def test_a_graph_waits_for_its_data(tools: Any) -> None:
    """The second node takes a batch that comes 30 ms late: the third starts when it is there."""
    times = [(1000, 2000), (9000, 9001), (30_010_000, 30_020_000)]
    table = tools.operators([tools.Row("node", *each) for each in times])
    late = DatasetEvent(time_ns=tools.begin_ns + 9000, action="deque", source="queue", duration_ns=30_000_000)
    for clock in (Clock.MODELLED, Clock.PROJECTED):
        s = tools.simulate(table, clock=clock, graphs=graph_runs(tools, 40_000_000), dataset=(late,))
        assert s.op_start_ns[2] - s.op_start_ns[1] == pytest.approx(30_000_000, abs=2_000)


def test_copies_between_runs_are_launched_one_by_one(tools: Any) -> None:
    rows = [tools.Row("copied", 1000, 2000), tools.Row("copied", 3000, 4000), tools.Row("node", 5000, 6000)]
    s = tools.simulate(tools.operators(rows))
    length = s.schedule.node_end_ns - s.schedule.node_start_ns + 1
    assert length.tolist() == [COSTS.node_ns, COSTS.node_ns, COSTS.node_ns, COSTS.graph_node_ns]


def test_operators_of_two_threads_that_overlap_each_keep_a_piece(tools: Any) -> None:
    """Thread B's operator lies within thread A's: beside an NPU both only launch, A first."""
    row = tools.Row
    rows = [row("add", 0, 100_000, tools.pid), row("add", 20_000, 80_000, tools.pid + 1)]
    s = tools.simulate(tools.operators([*rows, row("view", 100_500, 101_000, tools.pid)]))
    d = s.dispatches
    assert (d.start_ns - tools.begin_ns).tolist() == [0, 20_000, 80_000]
    assert (d.end_ns - tools.begin_ns).tolist() == [20_000, 80_000, 100_000]
    assert d.kind.tolist() == [DispatchKind.LAUNCH, DispatchKind.LAUNCH, DispatchKind.PAUSE]
    assert s.rows.tolist() == [0, 1]
    assert (s.op_start_ns - tools.begin_ns).tolist() == [0, 17_100, 34_200 + 500]
    assert (s.op_end_ns - tools.begin_ns).tolist() == [34_200, 34_200, 34_200 + 1000]


def test_an_operator_launches_after_those_it_called(tools: Any) -> None:
    row = tools.Row
    s = tools.simulate(tools.operators([row("index", 0, 100_000), row("add", 20_000, 60_000)]))
    kernels = [s.lowered.kernels[k].op_type for k in s.lowered.launch_kernel]
    assert kernels == ["Add", "Index"]
    assert (np.diff(s.schedule.kernel_start_ticks) > 0).all()
    times, threads = s.schedule.enqueue_start_ns[s.rows], np.full(2, tools.pid)
    owner = innermost(times, threads, s.op_start_ns, s.op_end_ns, threads, s.lowered.parent)
    assert owner.tolist() == [1, 0], "each enqueue lies in the operator that launches it"


def test_synchronising_waits_for_the_device(tools: Any) -> None:
    row = tools.Row
    table = tools.operators(
        [row("mm", 0, 10), *(row("mm", 10 * i, 10 * i + 5) for i in range(1, 40)), row("#after", 9000, 9001)]
    )
    calm = tools.simulate(table)
    drained = tools.begin_ns + int((calm.schedule.kernel_start_ticks + calm.kernel_ticks).max()) * 20
    mark = HostCall(tools.begin_ns + 5000, tools.pid, DispatchKind.WAIT_DEVICE)
    waited = tools.simulate(table, host_calls=(mark,))
    assert calm.op_end_ns[-1] < drained <= waited.op_start_ns[-1]
    assert waited.schedule.wait_ns.max() > 0
    assert (waited.schedule.kernel_start_ticks == calm.schedule.kernel_start_ticks).all()
    item = tools.simulate(tools.operators([row("mm", 0, 10), row("item", 20, 30), row("#after", 40, 41)]))
    assert (
        item.op_start_ns[-1] >= tools.begin_ns + int((item.schedule.kernel_start_ticks + item.kernel_ticks).max()) * 20
    )
    wall = tools.simulate(table, clock=Clock.WALL, host_calls=(mark,))
    assert wall.op_end_ns.tolist() == table.end_ns.tolist()


def test_a_pause_of_the_profiler_takes_no_time(tools: Any) -> None:
    row = tools.Row
    table = tools.operators([row("view", 0, 100), row("#step", 150, 90_300), row("view", 90_200, 90_300)])
    pause = HostCall(tools.begin_ns + 200, tools.pid, DispatchKind.PAUSE, until_ns=tools.begin_ns + 90_200)
    s = tools.simulate(table, host_calls=(pause,))
    assert (s.op_start_ns - tools.begin_ns).tolist() == [0, 150, 200]
    assert (s.op_end_ns - tools.begin_ns).tolist() == [100, 300, 300]


def test_streams_switch_by_thread(tools: Any) -> None:
    row = tools.Row
    other = tools.pid + 1
    rows = [row("add", t, t + 10, thread) for thread in (tools.pid, other) for t in (100 + thread % 2, 300, 500)]
    table = tools.operators(rows)
    begin = tools.begin_ns
    switches = ((begin + 200, tools.pid, 5), (begin + 300, other, 7), (begin + 400, tools.pid, 2))
    s = tools.simulate(table, streams=switches)
    found = {}
    for op, stream in zip(s.lowered.dispatch_op.tolist(), s.stream.tolist(), strict=True):
        found.setdefault(int(table.thread[op]), []).append(stream)
    assert found == {tools.pid: [DEFAULT_STREAM, 5, 2], other: [DEFAULT_STREAM, 7, 7]}


def test_events_order_streams(tools: Any) -> None:
    row = tools.Row
    begin, pid = tools.begin_ns, tools.pid
    table = tools.operators([*(row("long", 10 * i, 10 * i + 5) for i in range(30)), row("add", 1000, 1010)])
    switch = ((begin + 900, pid, 3),)
    free = tools.simulate(table, streams=switch)
    record = HostCall(begin + 800, pid, DispatchKind.RECORD_EVENT, 2, 1)
    wait = HostCall(begin + 950, pid, DispatchKind.WAIT_EVENT, 3, 1)
    ordered = tools.simulate(table, streams=switch, host_calls=(record, wait))
    drained = (free.schedule.kernel_start_ticks + free.kernel_ticks)[:-1].max()
    assert free.schedule.kernel_start_ticks[-1] < drained
    assert ordered.schedule.kernel_start_ticks[-1] == drained


def test_an_event_is_reached_when_its_stream_is_drained_or_when_it_is_recorded(tools: Any) -> None:
    row, begin, pid = tools.Row, tools.begin_ns, tools.pid
    table = tools.operators([row("long", 10 * i, 10 * i + 5) for i in range(30)])
    calls = [
        HostCall(begin + time_ns, pid, DispatchKind.RECORD_EVENT, stream, event)
        for time_ns, stream, event in ((1, 2, 1), (800, 2, 2), (801, 3, 3), (802, 2, 1))
    ]
    simulation = tools.simulate(table, host_calls=tuple(calls))
    drained = (simulation.schedule.kernel_start_ticks + simulation.kernel_ticks).max()
    drained_ns = simulation.base_ns + math.ceil(drained * simulation.tick_ns)
    times_ns = event_times(simulation)
    assert sorted(times_ns) == [1, 2, 3]
    assert times_ns[2] == times_ns[1] == drained_ns, "recorded again, the last record counts"
    assert begin + 800 < times_ns[3] < drained_ns, "nothing runs on its stream"


def test_the_same_seed_gives_the_same_kernels(tools: Any) -> None:
    row = tools.Row
    table = tools.operators([row("mm", 1000 * i, 1000 * i + 500) for i in range(20)])
    first, again, other = (tools.simulate(table, seed=seed) for seed in (1, 1, 2))
    assert first.kernel_ticks.tolist() == again.kernel_ticks.tolist()
    assert first.kernel_ticks.tolist() != other.kernel_ticks.tolist()
    assert len(set(first.kernel_ticks.tolist())) > 1


def test_device_memory(tools: Any) -> None:
    row = tools.Row
    host = row("host", 4000, 5000, placement=Placement.HOST)
    rows = [row("add", 0, 1000), row("view", 2000, 3000), host, row("#free", 6000, 7000)]
    memory = tools.allocations(
        [
            (100, 1, 4096),  # scratch: back before the operator ends
            (150, 2, 10_000),
            (200, 1, -4096),
            (500, 3, 3 << 20),
            (1500, 4, 5000),  # outside of operators
            (2500, 1, 7000),  # a tensor made by an operator that launches nothing
            (4500, 5, 8000),  # host memory
            (4600, 2, -10_000),  # released elsewhere
            (6500, 5, -8000),
            (6600, 9, -(1 << 20)),  # from before the recording
        ]
    )
    s = tools.simulate(tools.operators(rows), memory, live_before_bytes=50 << 20)
    m = s.memory
    blocks = [int(block_bytes(np.array([size]))[0]) for size in (10_000, 3 << 20, 7000)]
    assert m.size_bytes.tolist() == [*blocks, -blocks[0]]
    assert (m.time_ns - tools.begin_ns).tolist() == [150, 500, 2500, 4600]
    before = 50 << 20
    assert m.allocated_bytes.tolist() == (before + np.cumsum([*blocks, -blocks[0]])).tolist()
    assert m.partner.tolist() == [3, -1, -1, 0]
    assert m.reserved_before_bytes == 60 << 20
    assert m.reserved_bytes.tolist() == [62 << 20] * 4


@pytest.mark.parametrize("clock", list(Clock))
def test_nothing_was_recorded(tools: Any, clock: Clock) -> None:
    s = tools.simulate(tools.operators([]), clock=clock, end_ns=tools.begin_ns + 123)
    assert (s.begin_ns, s.end_ns) == (tools.begin_ns, tools.begin_ns + 123)
    assert len(s.stream) == len(s.memory.time_ns) == len(s.schedule.start_ns) == 0
