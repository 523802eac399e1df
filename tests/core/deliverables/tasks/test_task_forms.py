"""Ids of tasks that begin again, and where their records say so, worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from drynpu.deliverables.tasks.task_forms import TaskRuns, flip_records, task_ids, with_flips
from drynpu.layouts.tasks import TASK_TRACK
from drynpu.platforms._platform import PlatformTasks

FLIPPING: Any = SimpleNamespace(tasks=PlatformTasks())
PLAIN: Any = SimpleNamespace(tasks=PlatformTasks(unique_ids=False))
WIDE: Any = SimpleNamespace(tasks=PlatformTasks(wide_ids=True))
TASKS = [
    (3, 65534, 0, 100),
    (3, 1, 1, 140),
    (3, 2, 1, 160),
    (5, 1, 2, 500),
    (7, 9, 0, 800),
    (7, 1, 1, 801),
    (8, 1, 0, 5),
]
"""Stream, task id, batch and start."""


def runs(platform: Any = FLIPPING) -> list[tuple[int, int, int]]:
    """Return stream, tick and number of the flips of the tasks, which are given from the last to the first."""
    stream, task, batch, start = np.array(TASKS[::-1], np.int64).T
    nothing = np.zeros(len(TASKS), np.int64)
    found = flip_records(
        TaskRuns(
            stream=stream, task_id=task.astype(np.uint16), batch_id=batch.astype(np.uint16), start=start,
            end=start + 1, sqe=nothing, sub_task=nothing,
        ),
        platform,
    )  # fmt: skip
    return list(zip(*(found[name].tolist() for name in ("stream_id", "tick", "flip_number")), strict=True))


def test_a_flip_lies_half_way_between_the_tasks_around_it() -> None:
    """Where none was before, or the one before started a tick earlier, it comes a tick before the task."""
    assert runs() == [(3, 120, 1), (5, 499, 2), (7, 800, 1)]
    assert runs(PLAIN) == runs(WIDE) == []


def test_a_flip_takes_the_id_with_which_ids_begin_again() -> None:
    stream = np.repeat([3, 5], [65_538, 2])
    task, batch = task_ids(stream, FLIPPING)
    assert task[[0, 1, 65_534, 65_535]].tolist() == [0, 1, 65_534, 65_535]
    assert (task[65_536], batch[65_535], batch[65_536]) == (1, 0, 1)
    assert (task[65_538:].tolist(), batch[65_538:].tolist()) == ([0, 1], [0, 0])
    task, batch = task_ids(stream, PLAIN)
    assert (task[65_536], batch[65_536]) == (0, 1)
    task, batch = task_ids(np.array([3, 5, 3]), WIDE, before=65_535)
    assert list(zip(task.tolist(), batch.tolist(), strict=True)) == [(65_535, 0), (0, 1), (1, 1)]


def test_launches_have_a_flip_before_them_where_their_ids_began_again() -> None:
    track = TASK_TRACK.new(4)
    for record, (task, batch, time) in zip(track, [(65_534, 0, 10), (1, 1, 20), (1, 0, 30), (2, 1, 40)], strict=True):
        record["task_id"], record["batch_id"], record["timestamp"], record["stream_id"] = task, batch, time, 6
    found = with_flips(track, FLIPPING, lambda name: 77)
    assert found["timestamp"].tolist() == [10, 19, 20, 30, 40]
    assert (found["task_type"][1], found["batch_id"][1], found["stream_id"][1]) == (77, 1, 6)
    assert with_flips(track, PLAIN, lambda name: 77) is track
    assert with_flips(track[:1], FLIPPING, lambda name: 77).tolist() == track[:1].tolist()
