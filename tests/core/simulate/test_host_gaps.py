"""The host between dispatches: what its calls cost, whatever this machine was busy with."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from drynpu.device import HostCosts
from drynpu.kernels import Placement
from drynpu.options import Clock
from drynpu.simulate._host_gaps import _begins
from drynpu.simulate.host_activity import PythonFrames

DATA = Path(os.environ.get("GENUINE_PROFILES", Path(__file__).parents[4] / "shared" / "data"))
COSTS = HostCosts()
LAUNCH_NS = COSTS.modelled_operator_ns + COSTS.workspace_ns + COSTS.enqueue_ns
QUICK_NS, SLOW_NS = 6_000, 900_000
MS = 1_000_000


def script(tools: Any, gaps: list[int], names: tuple[str, ...] = ("add", "mm", "reduce")) -> Any:
    """Return operators of 50 us each, one after the other with these gaps before them."""
    rows, now = [], 0
    for number, gap in enumerate(gaps):
        now += gap
        rows.append(tools.Row(names[number % len(names)], now, now + 50_000))
        now += 50_000
    return tools.operators(rows)


def modelled(tools: Any, table: Any) -> Any:
    """Simulate a table on the clock ``modelled``."""
    return tools.simulate(table, clock=Clock.MODELLED)


@given(st.data())
def test_a_busy_machine_does_not_change_the_timeline(tools: Any, data: st.DataObject) -> None:
    """Calls take from 6 to 900 us here, and the same beside an NPU."""
    count = data.draw(st.integers(3, 40))
    length = st.integers(QUICK_NS, SLOW_NS)
    calm, busy = (data.draw(st.lists(length, min_size=count, max_size=count)) for _ in range(2))
    first, second = (tools.simulate(script(tools, gaps), clock=Clock.MODELLED) for gaps in (calm, busy))
    assert first.op_start_ns.tolist() == second.op_start_ns.tolist()
    assert first.schedule.kernel_start_ticks.tolist() == second.schedule.kernel_start_ticks.tolist()
    expected = tools.begin_ns + COSTS.call_ns + np.arange(count) * (LAUNCH_NS + COSTS.call_ns)
    assert first.op_start_ns.tolist() == expected.tolist()


def test_one_delay_among_gaps_that_recur_is_left_out(tools: Any) -> None:
    """The scheduler takes the thread away for 25 ms in one of eight steps."""
    gaps = [20_000] * 24
    delayed = [*gaps[:13], 25 * MS, *gaps[14:]]
    assert (
        modelled(tools, script(tools, delayed)).op_start_ns.tolist()
        == modelled(tools, script(tools, gaps)).op_start_ns.tolist()
    )


def test_one_gap_among_many_that_is_longer_than_any_delay_stays(tools: Any) -> None:
    """A checkpoint of 400 ms is saved in one of eight steps, one of 90 ms might be a delay."""
    for length, kept in ((400 * MS, 400 * MS), (90 * MS, 0)):
        gaps = [20_000] * 24
        gaps[13] = length
        start = modelled(tools, script(tools, gaps)).op_start_ns
        usual = LAUNCH_NS + COSTS.call_ns
        assert start[13] - start[12] == pytest.approx(usual + kept, abs=20_000)
        assert set(np.delete(np.diff(start), 12).tolist()) == {usual}


@pytest.mark.parametrize("known", [False, True])
def test_what_a_thread_waited_for_a_processor_is_no_time_of_the_script(tools: Any, known: bool) -> None:
    """Once a thread waits 280 ms in a gap without its like, and the script reads a file for 120 ms in another one."""
    names = tuple(f"operator{number}" for number in range(8))
    gaps = [20_000] * 8
    gaps[2], gaps[5] = 120 * MS, 300 * MS
    table = script(tools, gaps, names)
    waits = np.array([[tools.begin_ns + sum(gaps[:6]) + 5 * 50_000, 280 * MS]])
    start = tools.simulate(table, clock=Clock.MODELLED, processor_waits=waits if known else None).op_start_ns
    usual = LAUNCH_NS + COSTS.call_ns
    expected = [usual] * 7
    expected[1] += 120 * MS
    expected[4] += 0 if known else 300 * MS
    assert np.diff(start).tolist() == pytest.approx(expected, abs=20_000)


def test_a_wait_inside_an_operator_takes_nothing_from_the_gaps_around_it(tools: Any) -> None:
    """The operator lasted longer for it, on a host that does not count: the file before it was read all the same."""
    gaps = [20_000, 120 * MS, 120 * MS]
    table = script(tools, gaps)
    end_ns = tools.begin_ns + sum(gaps[:2]) + 2 * 50_000
    waits = np.array([[end_ns - 10_000, 90 * MS], [end_ns, 90 * MS]])
    start = tools.simulate(table, clock=Clock.MODELLED, processor_waits=waits).op_start_ns
    assert np.diff(start) == pytest.approx([LAUNCH_NS + COSTS.call_ns + 120 * MS] * 2, abs=20_000)


def test_a_sleep_in_every_step_stays(tools: Any) -> None:
    """Before the first of three operators the script sleeps for 30 ms, and now and then longer, as sleeps do."""
    gaps = [20_000] * 24
    gaps[::3] = [30 * MS + 1000 * number for number in range(8)]
    start = modelled(tools, script(tools, gaps)).op_start_ns
    between = np.diff(start[2:])[::3]
    assert (np.abs(between[:-1] - (30 * MS + LAUNCH_NS)) < 10_000).all(), "the shortest of its like"


def test_a_long_gap_that_was_seen_once_stays_as_measured(tools: Any) -> None:
    """A checkpoint of 400 ms is longer than any delay; one of 40 ms may be one."""
    for length, kept in ((400 * MS, True), (40 * MS, False)):
        gaps = [20_000] * 5 + [length] + [20_000] * 5
        start = modelled(
            tools, script(tools, gaps, ("add", "mm", "reduce", "many", "two", "single", "item"))
        ).op_start_ns
        assert bool(start[5] - start[4] > length) is kept


@given(st.integers(0, 500_000_000))
def test_when_the_recording_ended_changes_nothing_before(tools: Any, later: int) -> None:
    """What is recovered from a killed process ends with the last part that it had saved."""
    table = script(tools, [20_000] * 9 + [900_000] * 9, ("add",))
    end = int(table.end_ns[-1])
    first, second = (tools.simulate(table, clock=Clock.MODELLED, end_ns=end + more) for more in (7, later))
    assert first.op_start_ns.tolist() == second.op_start_ns.tolist()


def test_views_in_a_gap_cost_more_than_an_empty_one(tools: Any) -> None:
    row = tools.Row
    rows = [row("add", 0, 1000), row("view", 2000, 2500), row("view", 3000, 3500), row("mm", 5000, 6000)]
    start = modelled(tools, tools.operators(rows)).op_start_ns
    # Three calls of the script, of which two launch nothing.
    assert start[3] - start[0] == LAUNCH_NS + 3 * COSTS.call_ns + 2 * COSTS.nested_ns


@pytest.mark.parametrize("later", [0, 1, 900])
def test_what_begins_as_an_operator_ends_lies_in_the_gap_behind_it(tools: Any, later: int) -> None:
    row = tools.Row
    rows = [row("add", 0, 1000), row("view", 1000 + later, 2500), row("mm", 5000, 6000)]
    start = modelled(tools, tools.operators(rows)).op_start_ns
    assert start[2] - start[0] == LAUNCH_NS + 2 * COSTS.call_ns + COSTS.nested_ns


def test_operators_by_which_the_cpu_computes_cost_nothing(tools: Any) -> None:
    row = tools.Row
    alone = tools.operators([row("mm", 0, 9000), row("add", 10_000, 11_000)])
    inside = [row("view", 100 * at, 100 * at + 50) for at in range(1, 20)]
    computing = tools.operators([row("mm", 0, 9000), *inside, row("add", 10_000, 11_000)])
    first, second = modelled(tools, alone), modelled(tools, computing)
    assert second.op_start_ns[-1] == first.op_start_ns[-1]


def test_the_wall_clock_is_left_alone(tools: Any) -> None:
    table = script(tools, [7 * MS, 3, 900])
    assert tools.simulate(table, clock=Clock.WALL).op_start_ns.tolist() == table.start_ns.tolist()


def test_work_on_host_tensors_that_takes_long_stays(tools: Any) -> None:
    """An augmentation of 80 ms in each of six steps is work of any host."""
    rows, now = [], 0
    for _ in range(6):
        rows.append(tools.Row("host", now + 1000, now + 80 * MS, placement=Placement.HOST))
        rows.append(tools.Row("add", now + 81 * MS, now + 82 * MS))
        now += 83 * MS
    start = modelled(tools, tools.operators(rows)).op_start_ns[1::2]
    assert np.diff(start)[1:-1] == pytest.approx(82 * MS, rel=0.03)


def test_operators_in_gaps_keep_a_stack_and_annotations_and_what_a_launch_contains_keep_none(tools: Any) -> None:
    """Between two launches lie a view and an annotation; the launch before them contains an operator."""
    calls = {"add": (0, 50_000), "composite": (10_000, 20_000), "view": (60_000, 61_000), "#note": (70_000, 71_000)}

    def spent_ns(*stacked: str) -> int:
        kept = {name: "<built-in method add>;step;main;<module>" if name in stacked else "" for name in calls}
        rows = [tools.Row(name, *times, stack=kept[name]) for name, times in calls.items()]
        around = [tools.Row("mm", -60_000, -10_000), tools.Row("mm", 80_000, 130_000)]
        start_ns = modelled(tools, tools.operators([*rows, *around])).op_start_ns
        return int(start_ns[-1] - start_ns[0])

    usual = spent_ns()
    assert {name: spent_ns(name) - usual for name in calls} == {
        # Three calls deep: the operator, its entry into the queue and the allocation of its result.
        "add": 3 * 3 * COSTS.stack_ns,
        "composite": 0,
        "view": 3 * COSTS.stack_ns,
        "#note": 0,
    }


def test_a_kept_stack_and_recorded_python_functions_take_their_time(tools: Any) -> None:
    """The second operator of three has a stack, and three functions begin in the gap before the last one."""
    table = script(tools, [20_000] * 3)
    stacked = evolve(table, stack=np.array([-1, 0, -1], np.int32), stacks=("train.py(3): step",))
    usual = LAUNCH_NS + COSTS.call_ns
    assert np.diff(modelled(tools, table).op_start_ns).tolist() == [usual, usual]
    assert np.diff(modelled(tools, stacked).op_start_ns).tolist() == [usual + 3 * COSTS.stack_ns, usual]
    nothing = evolve(stacked, stacks=("",))  # a thread without Python has an empty one
    assert np.diff(modelled(tools, nothing).op_start_ns).tolist() == [usual, usual]
    begin_ns = table.end_ns[1] + np.array([1_000, 2_000, 3_000])
    frames = PythonFrames(
        names=("train.py(3): step",),
        name=np.zeros(3, np.int64),
        start_ns=begin_ns,
        end_ns=begin_ns + 500,
        thread=np.full(3, tools.pid),
    )
    recorded = tools.simulate(table, clock=Clock.MODELLED, python_frames=frames)
    # A call of the script is one of its functions then; a gap in which none begins lasts as long as any without calls.
    assert np.diff(recorded.op_start_ns).tolist() == [LAUNCH_NS + 5_000, LAUNCH_NS + 3 * COSTS.frame_ns]


def test_genuine_main_threads_take_as_long() -> None:
    """Between two entries into the queue of a thread with Python, whose stacks and modules are recorded."""
    traces = sorted(DATA.glob("genuine/torch_text_level1/*/ASCEND_PROFILER_OUTPUT/trace_view.json"))
    if not traces:
        pytest.skip("the genuine profiles are not there")
    for trace in traces:
        events = json.loads(trace.read_text())
        main = {event["tid"] for event in events if event.get("cat") == "python_function"}
        there = [event for event in events if event["ph"] == "X" and event["tid"] in main]
        starts = {
            kind: np.sort([float(event["ts"]) for event in there if event.get("cat") == kind])
            for kind in ("enqueue", "python_function")
        }
        stacked = sorted(
            (float(e["ts"]), e["args"]["Call stack"].count(";") + 1)
            for e in there
            if "args" in e and e["args"].get("Call stack")
        )
        starts["operator"], depth = np.array(stacked).T
        entries = starts["enqueue"]
        functions, operators = (
            np.diff(np.searchsorted(starts[kind], entries)) for kind in ("python_function", "operator")
        )
        kept = np.diff(np.concatenate(([0], np.cumsum(depth)))[np.searchsorted(starts["operator"], entries)])
        measured = np.diff(entries)
        # The call that enters the queue is an operator there as well.
        nested = COSTS.nested_ns * np.maximum(operators - 2, 0)
        modelled_ns = LAUNCH_NS + COSTS.stack_ns * kept + nested + COSTS.frame_ns * functions
        usual = measured < 5000  # besides there are two waits for the device
        assert usual.sum() > 45
        assert np.median(np.abs(modelled_ns / 1000 / measured - 1)[usual]) < 0.1
        assert modelled_ns[usual].sum() / 1000 == pytest.approx(measured[usual].sum(), rel=0.06)


def test_genuine_backward_threads_take_as_long() -> None:
    """Between two entries into the queue of a thread without Python a genuine host took what the model says."""
    traces = sorted(DATA.glob("genuine/torch_text_level1/*/ASCEND_PROFILER_OUTPUT/trace_view.json"))
    if not traces:
        pytest.skip("the genuine profiles are not there")
    for trace in traces:
        measured, modelled = intervals(json.loads(trace.read_text()))
        assert len(measured) > 50
        off = np.abs(modelled - measured) / measured
        assert np.median(off) < 0.4
        assert modelled.sum() == pytest.approx(measured.sum(), rel=0.25)


def intervals(events: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """Return measured and modelled us between the entries of the backward thread that launch an operator."""
    main = {event["tid"] for event in events if event.get("cat") == "python_function"}
    there = [event for event in events if event["ph"] == "X" and event["tid"] not in main]
    entries = sorted(float(event["ts"]) for event in there if event.get("cat") == "enqueue")
    operators = sorted((float(event["ts"]), event["name"]) for event in there if event.get("cat") == "cpu_op")
    found = []
    for first, second in itertools.pairwise(entries):
        inside = [name for start, name in operators if first < start < second]
        # Entries of events and collectives are no operators.
        if inside and inside[-1].startswith("aclnn") and not any("event" in n or "allreduce" in n for n in inside):
            nested = sum(
                name.startswith(("aten::", "npu::", "autograd", "torch", "detach")) or "Backward0" in name
                for name in inside[:-1]
            )
            found.append((second - first, (LAUNCH_NS + COSTS.nested_ns * max(nested - 1, 0)) / 1000))
    return np.array(found).T[0], np.array(found).T[1]


def test_a_collective_begins_with_the_first_dispatch_of_its_own() -> None:
    """Also the very first one, and one whose dispatches follow another's."""
    found = _begins(np.array([-1, 0, 0, 1, -1, -1, 2, 3, 3], np.int64))
    assert found.tolist() == [False, True, False, True, False, False, True, True, False]
    assert _begins(np.array([0, 0], np.int64)).tolist() == [True, False]
