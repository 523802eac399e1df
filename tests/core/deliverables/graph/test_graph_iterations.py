"""Marks to iterations: the rules of the task scheduler's key points, against a plain state machine."""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from drynpu.deliverables.graph._iterations import iterations_of
from drynpu.deliverables.graph.tables import STEP_MARKS

STEP_MODEL = 4294967295


def marks(*rows: tuple[int, int], model: int = 7, stream: int = 2, index: int = 1) -> pl.DataFrame:
    """Marks (tag, time) of one model."""
    columns = [
        {
            "device_id": 0,
            "index_id": index,
            "model_id": model,
            "stream_id": stream,
            "task_id": 0,
            "tag_id": tag,
            "time_ns": time,
        }
        for tag, time in rows
    ]
    return pl.DataFrame(columns, schema=STEP_MARKS)


def found(*parts: pl.DataFrame) -> tuple[list[tuple[Any, ...]], list[str]]:
    notes: list[str] = []
    table = iterations_of(pl.concat(parts), notes)["iterations"]
    return table.select("iteration", "start_ns", "forward_ns", "backward_ns", "end_ns").rows(), notes


def test_an_iteration_has_the_times_of_its_tags() -> None:
    rows, notes = found(marks((0, 10), (2, 12), (3, 18), (4, 20), (1, 21)))
    assert rows == [(1, 10, 12, 18, 20)]
    assert not notes


def test_a_model_end_closes_what_no_iteration_end_closed() -> None:
    assert found(marks((0, 10), (2, 12), (1, 21)))[0] == [(1, 10, 12, None, 21)]


def test_without_model_marks_between_an_iteration_begins_where_the_last_ended() -> None:
    rows, _ = found(marks((0, 10), (4, 20), (2, 22), (4, 30), (1, 31)))
    assert rows == [(1, 10, None, None, 20), (2, 20, 22, None, 30)]


def test_an_iteration_end_before_any_model_start_says_nothing() -> None:
    assert found(marks((4, 5), (1, 6), (0, 10), (4, 20)))[0] == [(1, 10, None, None, 20)]


def test_an_iteration_of_no_length_is_rejected_and_keeps_its_number() -> None:
    rows, notes = found(marks((0, 10), (4, 10), (1, 10), (0, 20), (4, 30), (1, 30)))
    assert rows == [(2, 20, None, None, 30)]
    assert notes == ["1 iteration(s) of a model start where they end and were rejected"]


def test_numbers_over_all_models_follow_the_ends() -> None:
    table = iterations_of(
        pl.concat([marks((0, 0), (2, 1), (4, 50), (1, 50)), marks((0, 10), (2, 12), (4, 20), (1, 20), model=3)]), []
    )["iterations"]
    assert table.select("model_id", "iteration", "iter_id").rows() == [(3, 1, 1), (7, 1, 2)]
    assert table["augmentation_ns"].to_list() == [None, None]


def test_data_is_waited_for_since_the_latest_iteration_that_ended_before() -> None:
    table = iterations_of(
        pl.concat(
            [
                marks((0, 0), (4, 10), (1, 10)),
                marks((0, 5), (4, 30), (1, 30), model=8),
                marks((0, 20), (2, 25), (4, 40), (1, 40), model=9),
            ]
        ),
        [],
    )["iterations"]
    # The iteration that ended at 30 was still running when this one went forward.
    assert table["augmentation_ns"].to_list() == [None, None, 25 - 10]


def test_steps_have_their_own_numbers_and_no_points() -> None:
    parts = [marks((60000, 10), (60001, 20), model=STEP_MODEL, index=5), marks((60000, 30), model=STEP_MODEL, index=6)]
    notes: list[str] = []
    table = iterations_of(pl.concat(parts), notes)["iterations"]
    assert table.rows() == [(0, STEP_MODEL, 5, 1, 10, None, None, 20, None)]
    assert notes == ["1 step(s) have no start and end mark that differ and were rejected"]


def test_reductions_of_two_streams_are_paired_apart() -> None:
    whole = pl.concat(
        [
            marks((0, 0), (4, 100), (1, 100)),
            marks((10000, 10), (10001, 30)),
            marks((10002, 20), (10003, 25), stream=5),
            marks((10004, 90)),
            marks((10006, 200), (10007, 210)),
        ]
    )
    tables = iterations_of(whole, [])
    assert tables["reduces"].select("iteration", "start_ns", "end_ns").rows() == [(1, 10, 30), (1, 20, 25)]


def test_get_nexts_are_paired_by_their_tags() -> None:
    whole = marks((0, 0), (20000, 1), (20002, 2), (20001, 5), (20003, 9), (4, 100), (1, 100))
    assert iterations_of(whole, [])["get_nexts"].select("start_ns", "end_ns").rows() == [(1, 5), (2, 9)]


def machine(tags: list[int]) -> list[tuple[int, int, int | None, int | None, int]]:
    """Return what the vendor's state machine makes of tags at times 0, 1, 2, ... (Ascend/msprof iter_state)."""
    state, number, start = 1, 1, 0
    points: dict[int, int] = {}
    done = []
    for time, tag in enumerate(tags):
        running = state != 1
        if tag in (2, 3) and running:
            points[tag] = time
        elif (tag == 4 and running) or (tag == 1 and state == 0):
            done.append((number, start, points.get(2), points.get(3), time))
            number, start, points, state = number + 1, time, {}, tag
        elif tag == 0 and state != 0:
            start, points, state = time, {}, 0
    return done


@given(st.lists(st.sampled_from([0, 1, 2, 3, 4]), max_size=40))
def test_iterations_are_those_of_the_state_machine(tags: list[int]) -> None:
    # A model that starts while it runs is the one thing the machine passes over; key points are never like that.
    clean: list[int] = []
    running = False
    for tag in tags:
        if tag == 0 and running:
            continue
        running = tag == 0 or (running and tag not in (1, 4))
        clean.append(tag)
    rows, _ = found(marks(*((tag, time) for time, tag in enumerate(clean)))) if clean else ([], [])
    assert rows == machine(clean)
