"""Rows of tasks in the database, from tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from drynpu.deliverables.tasks.db import _around_contexts, _copies, _schedules, _shape
from drynpu.tables import NO_CONTEXT

UNKNOWN = "N/A"


@pytest.mark.parametrize(("detailed", "kind"), [(True, ("AI_CPU", "Reduce")), (False, (UNKNOWN, UNKNOWN))])
def test_what_schedules_communication_is_described_above_level0(detailed: bool, kind: tuple[str, str]) -> None:
    kernels = pl.DataFrame(
        {"name": ["one", "", "three"], "globalTaskId": [5, 6, None], "task_type": ["AI_CPU", "", "x"],
         "op_type": ["Reduce", None, "y"]}
    )  # fmt: skip
    assert _schedules(kernels, detailed=detailed).rows() == [
        ("one", 5, *kind),
        (UNKNOWN, 6, UNKNOWN, UNKNOWN),
    ]


def test_shapes_stand_in_quotes_where_there_are_tensors() -> None:
    kernels = pl.DataFrame({"input_shapes": ["2,3;", "", ""], "input_dtypes": ["FLOAT", "FLOAT", ""]})
    assert kernels.select(_shape("input_shapes")).to_series().to_list() == ['"2,3;"', '""', UNKNOWN]


def test_tasks_of_a_context_stand_there_as_a_whole_again() -> None:
    tasks = pl.DataFrame({"globalTaskId": [0, 1, 2], "context_id": [NO_CONTEXT, 4, 0], "start_ns": [7, 8, 9]})
    whole = _around_contexts(tasks, 30)
    assert whole.select("globalTaskId", "context_id", "start_ns").rows() == [(30, NO_CONTEXT, 8), (31, NO_CONTEXT, 9)]


def test_copies_are_what_states_bytes_or_was_launched_as_one() -> None:
    tasks = pl.DataFrame(
        {"globalTaskId": [1, 2, 3, 4], "copy_bytes": [64, None, None, 0], "copy_kind": [1, 2, None, 77],
         "launch_type": ["SDMA", "KERNEL_AICORE", "MEMCPY_ASYNC", "SDMA"]}
    )  # fmt: skip
    assert _copies(tasks).select("globalTaskId", "size").rows() == [(1, 64), (3, 0), (4, 0)]
    kinds = _copies(tasks)["memcpyOperation"].to_list()
    assert kinds[0] == 1
    assert kinds[1] == kinds[2] != 77
