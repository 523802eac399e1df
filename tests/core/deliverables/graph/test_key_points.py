"""Marks of iterations in time order: what opens stands before what it holds, what closes behind it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from drynpu.arrays import Records
from drynpu.deliverables.graph._key_points import Interval, in_order, interval_records
from drynpu.layouts.graph import REDUCE_TAG, TS_TRACK_STEP

MODEL_START, MODEL_END, FORWARD, BACKWARD, ITERATION_END = range(5)
IN_ORDER = (MODEL_START, REDUCE_TAG, REDUCE_TAG + 1, FORWARD, BACKWARD, ITERATION_END, MODEL_END)
"""Of one instant: the iteration opens, its collectives, its key points, it ends, the model ends."""


def marks(*rows: tuple[int, int, int]) -> Records:
    """Tag, tick and index."""
    records = TS_TRACK_STEP.new(len(rows))
    for record, (tag, tick, index) in zip(records, rows, strict=True):
        record["tag_id"], record["tick"], record["index_id"] = tag, tick, index
    return records


def shown(records: Records) -> list[tuple[int, int, int]]:
    return [(int(row["tag_id"]), int(row["tick"]), int(row["index_id"])) for row in records]


@pytest.mark.parametrize("order", list(itertools.permutations(IN_ORDER))[:: 5040 // 12])
def test_marks_of_one_instant_nest(order: tuple[int, ...]) -> None:
    assert [tag for tag, *_ in shown(in_order(marks(*((tag, 50, 1) for tag in order))))] == list(IN_ORDER)


def test_times_come_first_then_iterations() -> None:
    rows = [(MODEL_END, 30, 1), (MODEL_START, 30, 2), (ITERATION_END, 20, 2), (FORWARD, 40, 1), (MODEL_START, 40, 1)]
    assert shown(in_order(marks(*rows))) == [
        (ITERATION_END, 20, 2), (MODEL_END, 30, 1), (MODEL_START, 30, 2), (MODEL_START, 40, 1), (FORWARD, 40, 1),
    ]  # fmt: skip


def test_the_intervals_of_an_iteration_have_tags_of_their_own_and_those_without_a_number_none() -> None:
    most = 5_000
    number = np.array([0, 0, 0, *[1] * (most + 2)])
    start = np.arange(len(number)) * 10
    found = Interval(first_tag=REDUCE_TAG, iteration=number, start=start, end=start + 4, stream=number + 7)
    rows = interval_records(found, np.array([31, 32]), np.array([5, 6]), 1000)
    first = rows[rows["index_id"] == 31]
    assert sorted(zip(first["tag_id"].tolist(), first["tick"].tolist(), strict=True)) == [
        (REDUCE_TAG + place * 2 + half, 1000 + 10 * place + 4 * half) for place in range(3) for half in (0, 1)
    ]
    assert set(first["model_id"].tolist()) == {5}
    assert set(first["stream_id"].tolist()) == {7}
    second = rows[rows["index_id"] == 32]
    assert len(second) == 2 * most
    assert int(second["tag_id"].max()) == REDUCE_TAG + 2 * most - 1
    assert set(second["stream_id"].tolist()) == {8}
