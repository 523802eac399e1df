"""Nodes find the call that they belong to."""

from __future__ import annotations

import numpy as np

from drynpu_tf.capture._planes import Kind, Planes
from drynpu_tf.capture._runs import function_runs

MAIN, WORKER, OTHER = 1, 2, 3


def planes(*rows: tuple[int, int, int, int, int]) -> Planes:
    """Rows ``(kind, number, thread, start, end)``; every text is the row's own number."""
    table = np.array(sorted(rows, key=lambda row: (row[3], -row[4])), np.int64)
    kind, number, thread, start, end = table.T
    return Planes(
        kind=kind.astype(np.int8),
        text=np.arange(len(table), dtype=np.int32),
        op_type=np.zeros(len(table), np.int32),
        extra=np.full(len(table), -1, np.int32),
        number=number,
        thread=thread,
        start_ns=start,
        end_ns=end,
        texts=tuple(map(str, range(len(table)))),
    )


def starts(found: Planes) -> list[tuple[int, int]]:
    """Start of the call and of the node, for all nodes that belong to one."""
    runs = function_runs(found)
    return [
        (int(found.start_ns[runs.call[run]]), int(found.start_ns[node]))
        for run, node in zip(runs.run.tolist(), runs.node.tolist(), strict=True)
    ]


def test_a_function_that_a_function_calls_belongs_to_its_run() -> None:
    table = planes(
        (Kind.EAGER, 1, MAIN, 0, 100),
        (Kind.FUNCTION, 7, MAIN, 1, 99),
        (Kind.EXECUTOR, 7, WORKER, 10, 90),
        (Kind.NODE, 0, WORKER, 11, 50),
        (Kind.FUNCTION, 8, WORKER, 12, 40),
        (Kind.EXECUTOR, 8, OTHER, 15, 30),
        (Kind.NODE, 0, OTHER, 16, 20),
    )
    assert starts(table) == [(0, 11), (0, 16)]


def test_runs_of_nobodys_are_left_out() -> None:
    table = planes(
        (Kind.EAGER, 1, MAIN, 0, 10),
        (Kind.FUNCTION, 7, MAIN, 1, 9),
        (Kind.EXECUTOR, 9, WORKER, 2, 8),
        (Kind.NODE, 0, WORKER, 3, 4),
    )
    assert starts(table) == []


def test_nodes_whose_executor_left_no_event_go_by_time() -> None:
    table = planes(
        (Kind.EAGER, 1, MAIN, 0, 10),
        (Kind.FUNCTION, 7, MAIN, 1, 9),
        (Kind.EAGER, 1, MAIN, 20, 30),
        (Kind.FUNCTION, 8, MAIN, 21, 29),
        (Kind.NODE, 0, WORKER, 22, 23),
        (Kind.NODE, 0, WORKER, 31, 32),
    )
    assert starts(table) == [(20, 22)]


def test_without_calls_there_are_no_runs() -> None:
    assert starts(planes((Kind.NODE, 0, WORKER, 1, 2))) == []


def test_data_is_taken_for_the_run_that_asked_for_it() -> None:
    table = planes(
        (Kind.EAGER, 1, MAIN, 0, 100),
        (Kind.FUNCTION, 7, MAIN, 1, 99),
        (Kind.EXECUTOR, 7, WORKER, 10, 90),
        (Kind.NODE, 0, WORKER, 11, 12),
        (Kind.FUNCTION, 8, WORKER, 13, 40),
        (Kind.EXECUTOR, 8, WORKER, 15, 30),
        (Kind.NODE, 0, WORKER, 16, 17),
        (Kind.DATA, 8, OTHER, 18, 28),
        (Kind.DATA, 7, OTHER, 14, 60),
        (Kind.DATA, 9, OTHER, 15, 16),
    )
    runs = function_runs(table)
    assert table.start_ns[runs.data].tolist() == [14, 18]
    assert runs.data_run.tolist() == [0, 0]
