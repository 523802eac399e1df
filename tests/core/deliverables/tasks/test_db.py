"""Rows of tasks in the database, from tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from drynpu.deliverables.tasks.db import _copies, _in_contexts, _KernelRows, _schedules, _shape, _TaskRows
from drynpu.deliverables.tasks.tables import SCHEMAS
from drynpu.tables import KERNELS, NO_CONTEXT, TASKS
from drynpu.tables.stored import stored

UNKNOWN = "N/A"


@pytest.mark.parametrize(("detailed", "kind"), [(True, ("AI_CPU", "Reduce")), (False, (UNKNOWN, UNKNOWN))])
def test_what_schedules_communication_is_described_above_level0(detailed: bool, kind: tuple[str, str]) -> None:
    columns = {"name": ["none", "one", ""], "task_type": ["x", "AI_CPU", ""], "op_type": ["y", "Reduce", None]}
    kernels = pl.DataFrame(pl.DataFrame(columns).rows(named=True), schema=KERNELS)
    attributes = pl.DataFrame(schema=SCHEMAS["operator_attributes"])
    rows = _KernelRows(stored(kernels), pl.Series([None, 5, 6]), pl.Series([1, 2]), attributes)
    assert _schedules(rows, detailed=detailed).frame().rows() == [
        ("one", 5, *kind),
        (UNKNOWN, 6, UNKNOWN, UNKNOWN),
    ]


def test_shapes_stand_in_quotes_where_there_are_tensors() -> None:
    kernels = pl.DataFrame({"input_shapes": ["2,3;", "", ""], "input_dtypes": ["FLOAT", "FLOAT", ""]})
    assert kernels.select(_shape("input_shapes")).to_series().to_list() == ['"2,3;"', '""', UNKNOWN]


def test_tasks_of_a_context_stand_there_as_a_whole_again() -> None:
    rows = [{"context_id": context, "start_ns": start} for context, start in ((NO_CONTEXT, 7), (4, 8), (0, 9))]
    tasks = stored(pl.DataFrame(rows, schema=TASKS))
    whole = _TaskRows(tasks, pl.DataFrame(), _in_contexts(tasks), 30).slice(0, 2)
    assert whole.select("globalTaskId", "context_id", "start_ns").rows() == [(30, NO_CONTEXT, 8), (31, NO_CONTEXT, 9)]


def test_copies_are_what_states_bytes_or_was_launched_as_one() -> None:
    tasks = pl.DataFrame(
        {"copy_bytes": [64, None, None, 0], "copy_kind": [1, 2, None, 77],
         "launch_type": ["SDMA", "KERNEL_AICORE", "MEMCPY_ASYNC", "SDMA"]}
    )  # fmt: skip
    assert _copies(stored(tasks)).select("globalTaskId", "size").rows() == [(0, 64), (2, 0), (3, 0)]
    kinds = _copies(stored(tasks))["memcpyOperation"].to_list()
    assert kinds[0] == 1
    assert kinds[1] == kinds[2] != 77
