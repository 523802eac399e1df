"""One iteration of many: the work that begins in it, and the calls inside the one that launched it."""

from __future__ import annotations

import pytest
from tests.core.analysis.test_graph import MODEL, OTHER, call, execution, profile

from drynpu.tables import NO_MODEL
from drynpu_msprof._iteration import select_iteration


def test_an_iteration_has_what_begins_in_it_on_its_device_first_and_last_instant_included() -> None:
    chosen = select_iteration(profile([]), MODEL, 1)
    assert chosen.tasks.select("device_id", "start_ns").rows() == [(0, 100), (0, 150), (0, 200), (1, 470)]
    assert chosen.kernels["start_ns"].to_list() == [100, 150, 200, 470]
    assert chosen.frame("iterations")["end_ns"].to_list() == [200, 500]


def test_an_explicit_step_has_the_work_of_every_model() -> None:
    chosen = select_iteration(profile([]), NO_MODEL, 1)
    assert chosen.tasks["start_ns"].to_list() == [150, 200, 201, 160]


@pytest.mark.parametrize(("start", "end", "is_around"), [(50, 60, True), (51, 60, False), (50, 59, False)])
def test_the_call_that_launched_an_iteration_holds_the_start_of_each_of_its_launches(
    start: int, end: int, *, is_around: bool
) -> None:
    launches = [call("launch", 50, 55, 100), call("launch", 60, 61, 150), call("launch", 52, 53, 470)]
    calls = [*launches, execution(MODEL, start, end), execution(OTHER, 0, 99), execution(MODEL, 70, 90)]
    chosen = select_iteration(profile([*calls, call("inside", start, end), call("longer", start, end + 1)]), MODEL, 1)
    names = chosen.api["name"].to_list()
    assert (f"execute {start}" in names, "inside" in names, "longer" in names) == (is_around, is_around, False)


@pytest.mark.parametrize(("number", "expected"), [(1, ["execute 50", "inside"]), (2, ["execute 70"])])
def test_the_call_of_an_iteration_whose_nodes_were_loaded_has_its_number(number: int, expected: list[str]) -> None:
    load = {**execution(MODEL, 0, 40), "name": "ModelLoad"}
    nodes = [call("launch", 10 + at, 15 + at, connection) for at, connection in enumerate((100, 150, 470, 201))]
    runs = [execution(OTHER, 45, 48), execution(MODEL, 50, 60), call("inside", 52, 58), execution(MODEL, 70, 90)]
    assert select_iteration(profile([load, *nodes, *runs]), MODEL, number).api["name"].to_list() == expected


def test_calls_of_an_explicit_step_lie_inside_it() -> None:
    calls = [call("first", 150, 160), call("early", 149, 160), call("last", 190, 201), call("late", 190, 202)]
    chosen = select_iteration(profile(calls), NO_MODEL, 1)
    assert chosen.api["name"].to_list() == ["first", "last"]


def test_an_iteration_whose_launches_nobody_recorded_has_no_calls() -> None:
    assert select_iteration(profile([execution(MODEL, 0, 999)]), MODEL, 1).api.is_empty()
