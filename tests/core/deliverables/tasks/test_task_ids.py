"""Tasks whose ids come round again keep their own kernels."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.deliverables.tasks._task_ids import find_task_ids
from drynpu.tables import NO_CONTEXT


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 50)), min_size=1, max_size=40),
    st.data(),
)
def test_tasks_whose_ids_come_round_again(gaps: list[tuple[int, int]], data: st.DataObject) -> None:
    time, rows = 0, []
    for number, (task, gap) in enumerate(gaps):
        time += 10 * gap
        rows.append((number, 0, 1, task, 0, NO_CONTEXT, time))
    names = ["globalTaskId", "device_id", "stream_id", "task_id", "batch_id", "context_id", "start_ns"]
    tasks = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64), orient="row")
    chosen = data.draw(st.lists(st.sampled_from(range(len(rows))), max_size=20))
    late = data.draw(st.lists(st.integers(0, 4), min_size=len(chosen), max_size=len(chosen)))
    matched = tasks[chosen].with_columns(pl.col("start_ns") + pl.Series(late, dtype=pl.Int64)).drop("globalTaskId")
    assert find_task_ids(matched, tasks).to_list() == chosen


@given(st.data())
def test_ids_part_by_part_are_those_of_whole_tables(data: st.DataObject) -> None:
    """Tasks of two devices whose ids come round again; some rows begin with their task, others beside it."""
    ids = st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(0, 2))
    tasks = sorted(data.draw(st.lists(ids, min_size=1, max_size=30, unique_by=lambda row: row[:2])))
    rows = data.draw(st.lists(ids, max_size=30))
    expected = []
    for device, start, task in rows:
        near = [
            (abs(begun - start), -begun, number)
            for number, (on, begun, ran) in enumerate(tasks)
            if (on, ran) == (device, task)
        ]
        expected.append(min(near)[2] if near and len({each[0] for each in near}) == len(near) else None)
    frames = [
        pl.DataFrame(
            {
                "device_id": [device for device, _, _ in found],
                "stream_id": [1] * len(found),
                "task_id": [task for _, _, task in found],
                "batch_id": [0] * len(found),
                "context_id": [NO_CONTEXT] * len(found),
                "start_ns": [start for _, start, _ in found],
            },
            schema=dict.fromkeys(("device_id", "stream_id", "task_id", "batch_id", "context_id", "start_ns"), pl.Int64),
        )
        for found in (rows, tasks)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("drynpu.tables.stored.PART_ROWS", 4)
        found = find_task_ids(*frames).to_list()
    for answer, wanted, row in zip(found, expected, rows, strict=True):
        alone = [task for task in tasks if (task[0], task[2]) == (row[0], row[2])]
        assert answer == wanted or (wanted is None and bool(alone)), "of two that are as near either will do"


def test_a_task_that_is_not_there_has_no_id() -> None:
    schema = dict.fromkeys(
        ["globalTaskId", "device_id", "stream_id", "task_id", "batch_id", "context_id", "start_ns"], pl.Int64
    )
    tasks = pl.DataFrame([(0, 0, 1, 1, 0, 7, 5), (1, 0, 1, 1, 0, 7, 9)], schema=schema, orient="row")
    matched = pl.DataFrame([(0, 0, 2, 1, 0, 7, 5)], schema=schema, orient="row").drop("globalTaskId")
    assert find_task_ids(matched, tasks).to_list() == [None]
    assert find_task_ids(matched, tasks[:1]).to_list() == [None]
