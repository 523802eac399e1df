"""Iterations of graphs: which one holds a start, and their medians."""

from __future__ import annotations

import polars as pl

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
