"""Numbers of tasks in the database, also where their ids come round again."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from drynpu.deliverables.tasks import _task_ids
from drynpu.deliverables.tasks._task_ids import TASK_ID, TASK_KEY, find_task_ids


def rows(*given: tuple[int, int, int], **more: list[int]) -> pl.DataFrame:
    """Stream, task id and start; whatever else is part of a task's key is 0."""
    stream, task, start = (list(column) for column in zip(*given, strict=True))
    known: dict[str, Any] = {"stream_id": stream, "task_id": task}
    columns = {name: known.get(name, [0] * len(given)) for name in TASK_KEY}
    return pl.DataFrame({**columns, "start_ns": start, **more})


@pytest.mark.parametrize("largest", [2**62, 6, 2])
def test_a_row_has_the_number_of_the_task_with_its_ids(monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    """Keys that would grow too large are numbered on the way."""
    monkeypatch.setattr(_task_ids, "_LARGEST_KEY", largest)
    tasks = rows((2, 7, 10), (3, 7, 20), (2, 9, 30), (4, 1, 35), **{TASK_ID: [0, 1, 2, 3]})
    wanted = rows((2, 9, 99), (3, 7, 0), (3, 9, 30), (4, 1, 35), (2, 7, 10))
    assert find_task_ids(wanted, tasks).to_list() == [2, 1, None, 3, 0]


def test_of_several_tasks_with_the_same_ids_it_is_the_nearest() -> None:
    tasks = rows((2, 7, 100), (2, 8, 150), (2, 7, 300), **{TASK_ID: [0, 1, 2]})
    wanted = rows((2, 7, 290), (2, 7, 110), (2, 8, 900), (2, 9, 100), (2, 7, 301))
    assert find_task_ids(wanted, tasks).to_list() == [2, 0, 1, None, 2]
