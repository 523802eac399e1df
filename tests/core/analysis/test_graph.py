"""One iteration of many: the work that begins in it, and the calls inside the one that launched it."""

from __future__ import annotations

import polars as pl
import pytest

from drynpu.analysis import select_iteration
from drynpu.analysis._graph import graph_iterations, infer_ids, iteration_trace
from drynpu.tables import NO_MODEL, Profile

from .conftest import make_profile

MODEL, OTHER = 4, 9


def span(model: int, number: int, start: int, end: int, device: int = 0) -> dict[str, object]:
    return {"device_id": device, "model_id": model, "iteration": number, "start_ns": start, "end_ns": end}


def work(model: int, start: int, connection: int, device: int = 0) -> dict[str, object]:
    return {
        "device_id": device, "model_id": model, "start_ns": start, "duration_ns": 1000, "connection_id": connection,
    }  # fmt: skip


def call(name: str, start: int, end: int, connection: int = -1, **more: object) -> dict[str, object]:
    return {"level": "node", "name": name, "start_ns": start, "end_ns": end, "connection_id": connection, **more}


def execution(item: int, start: int, end: int) -> dict[str, object]:
    return call(f"execute {start}", start, end, level="model", item=str(item))


def profile(calls: list[dict[str, object]]) -> Profile:
    """Two iterations of a model beside an explicit step; another model runs in between."""
    tasks = [
        *(work(MODEL, start, start) for start in (99, 100, 150, 200, 201)),
        work(OTHER, 160, 160),
        work(MODEL, 170, 170, device=1),  # inside on the other device, whose iteration is later
        work(MODEL, 470, 470, device=1),
    ]
    spans = [span(MODEL, 1, 100, 200), span(MODEL, 2, 201, 300), span(NO_MODEL, 1, 150, 201)]
    spans.append(span(MODEL, 1, 400, 500, device=1))
    return make_profile(tasks=tasks, kernels=tasks, iterations=spans, api=calls, device_ids=(0, 1))


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


def test_a_start_belongs_to_the_iteration_of_its_model_that_holds_it() -> None:
    starts = [(0, MODEL, 200), (0, MODEL, 99), (0, MODEL, 100), (0, MODEL, 201), (0, MODEL, 301), (1, MODEL, 150)]
    starts += [(0, NO_MODEL, 201), (1, MODEL, 500), (0, OTHER, 150), (0, NO_MODEL, 149)]
    rows = pl.DataFrame(starts, schema=["device_id", "model_id", "start_ns"], orient="row")
    assert infer_ids(profile([]), rows).to_list() == [1, None, 1, 2, None, None, 1, 1, None, None]


def timed(
    model: int, start: int, forward: int | None, backward: int | None, end: int, wait: int | None
) -> dict[str, object]:
    return {**span(model, 1, start, end), "forward_ns": forward, "backward_ns": backward, "augmentation_ns": wait}


def test_iterations_of_graphs_have_medians_and_stand_by_the_time_that_they_took() -> None:
    rows = [
        timed(MODEL, 1_000, 2_000, 4_000, 10_000, None),
        timed(MODEL, 10_000, 13_000, 18_000, 21_000, 3_000),
        timed(MODEL, 21_000, 28_000, 40_000, 41_000, 7_000),
        timed(OTHER, 50_000, None, None, 150_000, None),
        timed(NO_MODEL, 0, 5_000, 6_000, 900_000, 1_000),
    ]
    given = make_profile(iterations=rows, graphs=[{"model_id": MODEL, "name": "net"}])
    trace = iteration_trace(given).select("iteration_ns", "forward_backward_ns", "refresh_ns").rows()
    assert trace[:2] == [(9_000, 2_000, 6_000), (11_000, 5_000, 3_000)]
    assert trace[3] == (100_000, None, None)
    found = graph_iterations(given)
    assert [(each.graph, each.count, each.iteration_us) for each in found] == [(str(OTHER), 1, 100.0), ("net", 3, 11.0)]
    assert [(each.forward_backward_us, each.wait_us) for each in found] == [(None, None), (5.0, 5.0)]
