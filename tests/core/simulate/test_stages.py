"""The stages of a simulation one by one, on small recordings whose results are worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from drynpu import OptionError
from drynpu.device import Dispatches, DispatchKind, HostCosts, Launches, StreamTimes, schedule_streams
from drynpu.options import Clock
from drynpu.platforms import load_chip
from drynpu.raw import MAX_PLAIN_STREAM_ID
from drynpu.simulate import Collective, HostCall
from drynpu.simulate._lower import LoweredLaunches
from drynpu.simulate._meet import PlannedWork, meet
from drynpu.simulate._order import GROUP_STREAM, order

LAUNCH, PAUSE, WAIT_DEVICE = DispatchKind.LAUNCH, DispatchKind.PAUSE, DispatchKind.WAIT_DEVICE
RECORD, WAIT = DispatchKind.RECORD_EVENT, DispatchKind.WAIT_EVENT


def collective(start_ns: int, group: str = "a", ranks: Sequence[int] = (0, 1), **more: Any) -> Collective:
    values = {"kind": "allReduce", "thread": 1, "size_bytes": 4096, "dtype": "FLOAT", "count": 1024, "rank": 0, **more}
    return Collective(start_ns=start_ns, group=group, ranks=tuple(ranks), **values)


@pytest.fixture
def lowered(tools: Any) -> Any:
    """Return a function that lowers rows, with further fields of a recording."""

    def make(rows: Sequence[Any], **recording: Any) -> LoweredLaunches:
        return tools.lower(tools.operators(rows, 0), **recording)

    return make


def test_of_operators_that_launch_at_one_time_the_inner_one_comes_first(tools: Any, lowered: Any) -> None:
    """Both leave what they call to launch and so launch when the view has ended, at 60."""
    row = tools.Row
    found = lowered([row("index", 0, 100), row("index", 10, 60), row("view", 20, 60)])
    assert found.depth.tolist() == [0, 1, 2]
    assert found.dispatch_begin_ns.tolist() == [60, 60]
    assert found.dispatch_op.tolist() == [1, 0]


def test_until_when_nothing_else_is_shown_inside_a_launching_operator(tools: Any, lowered: Any) -> None:
    """Up to the first operator called by one that stands for them; to its end where they launch for themselves."""
    row = tools.Row
    rows = [row("add", 0, 100), row("view", 30, 40), row("view", 50, 60), row("index", 200, 300), row("view", 210, 220)]
    found = lowered(rows)
    assert found.dispatch_op.tolist() == [0, 3]
    assert found.dispatch_begin_ns.tolist() == [0, 220]
    assert found.dispatch_until_ns.tolist() == [30, 300]


def test_launches_of_a_plan_are_numbered_from_its_first_kernel(tools: Any, lowered: Any) -> None:
    row = tools.Row
    found = lowered([row("two", 0, 10), row("add", 20, 30), row("two", 40, 50)])
    names = [found.kernels[kernel].op_type for kernel in found.launch_kernel]
    assert names == ["Cast", "Two", "Add", "Cast", "Two"]
    assert found.launch_dispatch.tolist() == [0, 0, 1, 2, 2]


def test_a_call_of_the_host_comes_before_an_operator_of_the_same_time(tools: Any, lowered: Any) -> None:
    call = HostCall(100, tools.pid, RECORD, stream=5, event=9)
    found = order(lowered([tools.Row("add", 100, 130)], host_calls=(call,)), computing=False).dispatches
    assert found.kind.tolist() == [RECORD, LAUNCH]
    assert (found.stream.tolist(), found.event.tolist(), found.launches.tolist()) == ([5, 2], [9, 0], [0, 1])
    assert (found.start_ns.tolist(), found.end_ns.tolist()) == ([100, 100], [100, 130])


def test_the_timeline_with_computing_operators_ends_a_dispatch_where_the_first_of_them_begins(
    tools: Any, lowered: Any
) -> None:
    rows = lowered([tools.Row("add", 0, 100), tools.Row("view", 30, 40)])
    assert order(rows, computing=False).dispatches.end_ns.tolist() == [100]
    assert order(rows, computing=True).dispatches.end_ns.tolist() == [30]


def test_operators_of_two_threads_are_cut_into_pieces_and_a_pause(tools: Any, lowered: Any) -> None:
    """[0, 100] and [40, 60] at once: the first keeps up to 40, the second its own; the rest of the first is a pause."""
    row = tools.Row
    found = order(lowered([row("add", 0, 100, 1), row("two", 40, 60, 2)]), computing=False)
    assert found.dispatches.start_ns.tolist() == [0, 40, 60]
    assert found.dispatches.end_ns.tolist() == [40, 60, 100]
    assert found.dispatches.kind.tolist() == [LAUNCH, LAUNCH, PAUSE]
    assert found.dispatches.launches.tolist() == [1, 2, 0]
    assert found.operator_rows.tolist() == [0, 1]


def test_a_collective_is_ordered_by_events_on_both_sides(lowered: Any) -> None:
    """The first blocks its stream and ends at 30; the second blocks nothing, and has an event of the script's."""
    two = (collective(50, stream=4, blocking=False, event=7, thread=3), collective(20, end_ns=30))
    found = order(lowered([], collectives=two, streams=((0, 1, 6),)), computing=False)
    d, group = found.dispatches, GROUP_STREAM
    assert [each.start_ns for each in found.collectives] == [20, 50]
    assert found.issuing_stream.tolist() == [6, 4]
    assert d.kind.tolist() == [RECORD, WAIT, LAUNCH, RECORD, WAIT, RECORD, WAIT, LAUNCH, RECORD, RECORD, RECORD]
    assert d.stream.tolist() == [6, group, group, group, 6, 4, group, group, group, group, group]
    assert d.launches.tolist() == [0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0]
    assert d.start_ns.tolist() == [20, 20, 20, 30, 30, 50, 50, 50, 50, 50, 50]
    assert d.end_ns.tolist() == [20, 20, 30, 30, 30, 50, 50, 50, 50, 50, 50]
    assert d.thread.tolist() == [1] * 5 + [3] * 6
    assert found.collective.tolist() == [0] * 5 + [1] * 6
    ready, done, wait_ready, wait_done = d.event[0], d.event[3], d.event[1], d.event[4]
    assert (ready, done) == (wait_ready, wait_done)
    assert d.event[10] == 7
    assert len({ready, done, d.event[5], d.event[8], 7}) == 5, "no two collectives share an event"


def planned(lowered: Any, collectives: Sequence[Collective], **recording: Any) -> PlannedWork:
    return meet(order(lowered([], collectives=tuple(collectives), **recording), computing=False), load_chip("910B2"))


def test_groups_have_streams_of_their_own_above_all_in_use(lowered: Any) -> None:
    """Eight ranks of a board talk on 7 planes, two on 1; the host knows streams up to 9."""
    work = [collective(10, "wide", range(8)), collective(20, "narrow"), collective(30, "wide", (0, 1))]
    found = planned(lowered, work, host_calls=(HostCall(0, 1, WAIT_DEVICE, stream=9),))
    assert [found.collectives.plans[plan].planes for plan in found.collectives.plan] == [7, 1, 1]
    assert found.collectives.stream.tolist() == [10, 17, 10]
    assert found.collectives.plan.tolist() == [0, 1, 1], "equal requests have one plan"
    launching = found.dispatches.launches > 0
    assert found.dispatches.stream[launching].tolist() == [10, 17, 10]
    assert (found.dispatches.stream >= 0).all()


def test_more_groups_than_streams_are_refused(lowered: Any) -> None:
    call = HostCall(0, 1, WAIT_DEVICE, stream=MAX_PLAIN_STREAM_ID - 1)
    planned(lowered, [collective(10)], host_calls=(call,))
    with pytest.raises(OptionError, match=f"2 groups need streams up to {MAX_PLAIN_STREAM_ID + 1}"):
        planned(lowered, [collective(10), collective(20, "b")], host_calls=(call,))


def test_a_collective_waits_whole_ticks_for_other_ranks_and_alone_for_none(lowered: Any) -> None:
    """A tick of this chip is 20 ns: 30 ns are two."""
    work = [collective(10, wait_ns=30), collective(20, "alone", (0,), wait_ns=30), collective(30, wait_ns=-5)]
    found = planned(lowered, work).collectives
    assert found.wait_ticks.tolist() == [2, 0, 0]
    assert found.waits.tolist() == [True, False, True]
    assert (found.ticks - found.wait_ticks).tolist() == [found.plans[plan].ticks for plan in found.plan]
    asked = planned(lowered, work, rendezvous=lambda index, start_ns: start_ns).collectives
    assert asked.wait_ticks.tolist() == [0, 0, 0], "where ranks answer, what was measured has no effect"


def test_launching_a_collective_costs_the_host_more_the_more_tasks_it_has(lowered: Any) -> None:
    """A node launch of 6.8 us, the 25 us of a whole operator, and 0.1 us for each task."""
    found = planned(lowered, [collective(10, "wide", range(8)), collective(20, "alone", (0,))]).collectives
    tasks = [len(found.plans[plan]) for plan in found.plan]
    assert tasks[0] > tasks[1] > 0
    assert found.node_ns.tolist() == [6_800 + 25_000 + 100 * count for count in tasks]


def test_a_kernel_ends_on_the_tick_after_its_work(tools: Any) -> None:
    """Kernels take no less than their cost, and less than a tick more."""
    names = [name for name in tools.names if name != "item"]
    table = tools.operators([tools.Row(name, 1000 * at, 1000 * at + 500) for at, name in enumerate(names * 4)])
    found = tools.simulate(table, seed=3)
    cost = found.costs.duration_ns[found.lowered.launch_kernel] * found.factor
    took = found.kernel_ticks * found.tick_ns
    assert found.tick_ns == 20
    assert (took >= cost).all()
    assert (took - cost < found.tick_ns).all()
    assert (took - cost > found.tick_ns / 2).any()
    assert (took - cost < found.tick_ns / 2).any()


def test_all_that_encloses_an_operator_is_stretched_with_what_it_launches_as_it_ends(tools: Any) -> None:
    """The third leaves what it calls to launch, so that its dispatch, 2 us or more, begins as all four end."""
    row = tools.Row
    found = tools.simulate(
        tools.operators(
            [row("composite", 0, 100), row("composite", 20, 100), row("index", 40, 100), row("view", 50, 100)]
        ),
        clock=Clock.PROJECTED,
    )
    assert found.lowered.depth.tolist() == [0, 1, 2, 3]
    starts, ends = found.op_start_ns, found.op_end_ns
    assert (np.diff(starts) >= 0).all()
    assert ends[2] - starts[3] >= 2000
    assert ends[0] == ends[1] == ends[2] >= ends[3]


def test_all_that_begins_with_a_dispatch_of_no_measured_time_holds_it(tools: Any) -> None:
    """Four operators begin at 40, the innermost takes no time on the CPU; what begins there comes after the jump."""
    row = tools.Row
    rows = [row("composite", 40, 100), row("composite", 40, 90), row("composite", 40, 80), row("add", 40, 40)]
    found = tools.simulate(tools.operators(rows))
    assert found.lowered.depth.tolist() == [0, 1, 2, 3]
    assert (found.op_start_ns - tools.begin_ns).tolist() == [40] * 4
    assert found.op_end_ns[3] - found.op_start_ns[3] >= 2000
    assert (np.diff(found.op_end_ns) < 0).all()


def test_the_slowest_rank_delays_a_collective_and_what_its_stream_waits_for(tools: Any) -> None:
    """It arrives 30 ns after this one, which is two ticks; one that was there first delays nothing."""
    table, begin = tools.operators([tools.Row("add", 900_000, 900_010)]), tools.begin_ns
    reached: list[tuple[int, int]] = []

    def run(late_ns: int) -> Any:
        def rendezvous(index: int, start_ns: int) -> int:
            reached.append((index, start_ns))
            return start_ns + late_ns

        return tools.simulate(table, collectives=(collective(begin + 100, thread=tools.pid),), rendezvous=rendezvous)

    late, early = run(30), run(-30)
    assert late.collectives.calls.wait_ticks.tolist() == [2]
    assert early.collectives.calls.wait_ticks.tolist() == [0]
    assert (late.collectives.calls.ticks - early.collectives.calls.ticks).tolist() == [2]
    assert reached == [(0, begin + int(late.collectives.start_ticks[0]) * 20)] * 2


def test_memory_that_one_operator_takes_and_another_gives_back_is_no_scratch(tools: Any) -> None:
    """Within one launching operator what its callees take and give back is the CPU's; of two siblings it is not."""
    row = tools.Row
    rows = [
        row("composite", 0, 200),
        row("add", 10, 90),
        row("view", 20, 40),
        row("view", 50, 70),
        row("add", 100, 190),
    ]
    memory = tools.allocations([(30, 1, 1000), (60, 1, -1000), (80, 2, 3000), (150, 2, -3000)])
    found = tools.simulate(tools.operators(rows), memory).memory
    # 3000 bytes and 32 of padding are six blocks of 512.
    assert found.size_bytes.tolist() == [3072, -3072]
    assert found.allocated_bytes.tolist() == [3072, 0]


def times(**columns: Any) -> StreamTimes:
    """Schedule one dispatch that starts at 1 ms on stream 3; kernels last 5 ticks of 20 ns."""
    launches = columns.pop("count", 1)
    nothing = np.zeros(1, bool)
    flags = {"workspace": nothing, "compiles": nothing, "in_graph": nothing} | {
        k: np.array([v]) for k, v in columns.items()
    }
    dispatches = Dispatches(
        start_ns=np.array([1_000_000]),
        end_ns=np.array([1_000_400]),
        kind=np.array([int(LAUNCH)]),
        launches=np.array([launches]),
        stream=np.array([3]),
        event=np.array([0]),
        thread=np.array([1]),
        **flags,
    )
    work = Launches(stream=np.full(launches, 3), duration_ticks=np.full(launches, 5))
    return schedule_streams(dispatches, work, costs=HostCosts(), clock=Clock.PROJECTED, tick_ns=20, base_ns=0)


def test_a_launch_takes_the_measured_times_of_its_parts() -> None:
    """2 us of dispatcher, 12 us of workspace, 3.1 us of queue; 8.4 us around a call of 2.2 us and 6.8 us for a node."""
    found = times(workspace=True)
    for name, expected in {
        "start_ns": 1_000_000,
        "workspace_start_ns": 1_002_000,
        "enqueue_start_ns": 1_014_000,
        "enqueue_end_ns": 1_017_099,  # before the operator ends
        "end_ns": 1_017_100,
        "dequeue_start_ns": 1_017_100,
        "api_start_ns": 1_021_300,
        "node_start_ns": 1_022_400,
        "runtime_start_ns": 1_024_200,
        "runtime_end_ns": 1_027_400,
        "node_end_ns": 1_029_199,
        "api_end_ns": 1_030_300,
        "dequeue_end_ns": 1_034_499,  # before the next begins
        "kernel_start_ticks": 51_370,
    }.items():
        assert getattr(found, name).tolist() == [expected], name


def test_a_call_that_compiles_launches_900_us_later() -> None:
    plain, compiled = times(), times(compiles=True)
    assert (compiled.end_ns - plain.end_ns).tolist() == [0], "the launching thread compiles"
    for name in ("node_start_ns", "runtime_end_ns", "api_end_ns", "dequeue_end_ns"):
        assert (getattr(compiled, name) - getattr(plain, name)).tolist() == [900_000], name


def test_nodes_of_a_graph_take_their_launches_alone() -> None:
    found = times(in_graph=True, count=2)
    assert found.end_ns.tolist() == found.dequeue_start_ns.tolist() == found.api_start_ns.tolist() == [1_000_000]
    assert found.node_start_ns.tolist() == [1_000_000, 1_006_800]
    assert found.dequeue_end_ns.tolist() == [1_013_600]
    # (1 000 000 + 1 800 + 3 200) / 20 = 50 250; the second launch is 340 ticks later, long after the first kernel.
    assert found.kernel_start_ticks.tolist() == [50_250, 50_590]
