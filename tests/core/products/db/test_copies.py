"""Copies in TASK: whose they are."""

from __future__ import annotations

import struct
from collections.abc import Callable

import polars as pl

from drynpu.deliverables.tasks.db import _as_called, _callers
from drynpu.tables import Profile
from drynpu.tables.stored import stored


def test_copies_belong_to_the_call_around_the_runtime() -> None:
    """As the toolkit's native path has it (tree_analyzer.cpp): a call of ACL is in no model that runs around it."""
    none = 2**32 - 1
    api = pl.DataFrame(
        [
            (1, "model", 0, 100, 7),
            (2, "acl", 10, 30, 7),
            (3, "runtime", 12, 20, 7),
            (4, "runtime", 50, 60, 7),
            (5, "acl", 0, 100, 8),
            (6, "runtime", 200, 210, 8),
            (7, "node", 62, 80, 7),
            (8, "runtime", 64, 70, 7),
        ],
        schema=["connection_id", "level", "start_ns", "end_ns", "tid"],
        orient="row",
    )
    tasks = pl.DataFrame(
        {
            "connection_id": [3, 4, 6, 8, -1],
            "launch_type": ["MEMCPY_ASYNC", "MEMCPY_ASYNC", "MEMCPY_ASYNC", "KERNEL_AICORE", "MEMCPY_ASYNC"],
            "model_id": [9, 9, none, 9, none],
        }
    )
    found = _as_called(tasks, _callers(stored(tasks), stored(api)))
    assert found["connection_id"].to_list() == [2, 1, 6, 8, -1]
    assert found["model_id"].to_list() == [none, 9, none, 9, none]
    assert _as_called(tasks, _callers(stored(tasks), stored(api.clear()))).equals(tasks)


def test_both_paths_of_the_toolkit_read_the_direction(record: Callable[[], Profile]) -> None:
    """``MsprofMemcpyInfo`` of prof_common.h has it behind two sizes, data_struct_size_constant.py behind the first."""
    (path,) = (each for each in record().path.rglob("*memcpy_info.slice_*") if each.suffix != ".done")
    records = [path.read_bytes()[at : at + 64] for at in range(0, path.stat().st_size, 64)]
    native = [struct.unpack_from("<QQH", record, 24) for record in records]
    python = [struct.unpack_from("<HHIIIQQH", record) for record in records]
    assert [(size, kind) for size, _, kind in native] == [record[-2:] for record in python]
    assert all(size <= largest for size, largest, _ in native)
    assert {kind for _, _, kind in native} - {0}
