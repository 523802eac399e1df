"""Batches of task ids, and where launches were when work began, worked out by hand."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.analysis.launches import _launch_at
from drynpu.tables.device import _batches, pair_tasks, task_key
from drynpu.tables.task_events import TaskEvents


def test_batches_are_counted_for_each_stream_alone() -> None:
    # Stream 3 begins its ids anew twice, stream 5, whose tasks lie between, once.
    tasks = [(3, 65_534), (5, 9), (3, 0), (3, 7), (5, 10), (3, 2), (5, 1), (5, 4)]
    key = task_key(*np.array(tasks, np.int64).T)
    assert _batches(key).tolist() == [0, 0, 1, 1, 0, 2, 1, 1]
    assert _batches(key[:0]).tolist() == []


def test_a_launch_holds_the_moments_of_its_start_and_end() -> None:
    launches = pl.DataFrame({"start_ns": [100, 150, 300], "end_ns": [140, 250, 310], "tid": [7, 8, 7]})
    times = np.array([99, 100, 140, 141, 300, 311, 150], np.int64)
    threads = np.array([7, 7, 7, 7, 7, 7, 8], np.int64)
    assert _launch_at(launches, threads, times).tolist() == [-1, 0, 0, -1, 2, -1, 1]
    assert _launch_at(launches, np.array([9]), np.array([120])).tolist() == [-1]


def events(*rows: tuple[int, int, int, bool], mixed: TaskEvents | None = None) -> TaskEvents:
    """Stream, task id, tick and whether it is an end."""
    stream, task, tick, is_end = zip(*rows, strict=True)
    return TaskEvents(
        stream=np.array(stream, np.uint16),
        task=np.array(task, np.uint32),
        tick=np.array(tick, np.int64),
        is_end=np.array(is_end, bool),
        sqe=np.array([number % 7 for number in range(len(rows))], np.uint8),
        mixed=mixed,
    )


def test_the_last_end_of_a_task_and_the_first_start_of_the_next_one_stay_apart() -> None:
    """Task 1 ends on the very last tick, task 2 starts on the first one."""
    found = pair_tasks(events((3, 2, 100, False), (3, 1, 105, True), (3, 2, 101, True), (3, 1, 104, False)))
    columns = (found.task_id, found.start_tick, found.end_tick, found.sqe_type)
    assert [column.tolist() for column in columns] == [[2, 1], [100, 104], [101, 105], [0, 3]]
    assert found.notes == ()


def test_a_damaged_time_does_not_mix_two_tasks() -> None:
    """The highest bit of the start of task 1 is set, so that it reads as a time before all others."""
    found = pair_tasks(events((3, 1, -10, False), (3, 1, 105, True), (3, 2, 0, False), (3, 2, 3, True)))
    columns = (found.task_id, found.start_tick, found.end_tick)
    assert [column.tolist() for column in columns] == [[1, 2], [-10, 0], [105, 3]]
    assert found.notes == ()


def test_a_task_may_end_as_it_starts_and_run_again() -> None:
    found = pair_tasks(
        events(
            (3, 1, 50, True), (3, 1, 50, False), (3, 1, 60, False), (5, 1, 60, False), (3, 1, 70, True),
            (5, 1, 61, True), (3, 1, 80, False), (4, 9, 20, True),
        )
    )  # fmt: skip
    columns = (found.stream_id, found.ordinal, found.start_tick, found.end_tick)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == [
        (3, 0, 50, 50), (3, 1, 60, 70), (5, 0, 60, 61),
    ]  # fmt: skip
    assert found.notes == (
        "1 task(s) started but never ended and were dropped",
        "1 task end(s) have no start and were dropped",
    )


def test_the_sub_task_of_a_mixed_kernel_is_that_of_the_same_turn() -> None:
    sub_tasks = events((3, 1, 12, False), (3, 1, 18, True), (3, 1, 33, False), (3, 1, 37, True))
    rows = [
        (3, 1, 10, False),
        (3, 1, 20, True),
        (3, 2, 22, False),
        (3, 2, 25, True),
        (3, 1, 30, False),
        (3, 1, 40, True),
    ]
    found = pair_tasks(events(*rows, mixed=sub_tasks))
    assert found.mixed_start is not None
    assert found.mixed_end is not None
    assert (found.mixed_start.tolist(), found.mixed_end.tolist()) == ([12, 0, 33], [18, 0, 37])
