"""When a simulation ends: with the last thing that still goes on in it."""

from __future__ import annotations

from typing import Any

from drynpu.options import Clock


def end(found: Any, tools: Any) -> int:
    return int(found.end_ns) - int(tools.begin_ns)


def test_a_recording_on_which_nothing_ran_ends_as_it_did(tools: Any) -> None:
    table = tools.operators([tools.Row("view", 0, 10), tools.Row("view", 40, 900)])
    assert end(tools.simulate(table, end_ns=tools.begin_ns + 1200), tools) == 1200


def test_it_ends_with_its_last_kernel(tools: Any) -> None:
    """The long kernel was launched first and outlasts what comes behind it."""
    row = tools.Row
    found = tools.simulate(tools.operators([row("long", 0, 100), row("view", 200, 300)]))
    last = int((found.schedule.kernel_start_ticks + found.kernel_ticks)[0])
    assert last * 20 > 100_000
    assert end(found, tools) == last * 20


def test_an_operator_that_was_open_when_the_recording_ended_is_whole(tools: Any) -> None:
    row = tools.Row
    rows = [row("view", 0, 10), row("add", 20, 30), row("view", 40, 60), row("view", 70, 900)]
    found = tools.simulate(tools.operators(rows), clock=Clock.MODELLED, end_ns=tools.begin_ns + 500)
    ends = found.op_end_ns - tools.begin_ns
    assert (ends[:3] < ends[3]).all()
    assert end(found, tools) == ends[3], "the kernel ends while the third one runs"


def test_it_ends_when_the_mapped_recording_does_if_nothing_takes_longer(tools: Any) -> None:
    """What came behind the last launch took 5 ms here; the launch takes 17 us more than it was measured."""
    table = tools.operators([tools.Row("add", 0, 100)])
    found = tools.simulate(table, end_ns=tools.begin_ns + 5_000_000)
    assert end(found, tools) == 5_000_000 + int(found.schedule.end_ns[0]) - tools.begin_ns - 100
