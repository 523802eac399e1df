"""Counter records of a device to its tasks."""

from __future__ import annotations

from typing import Any

import numpy as np

from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.tables._device import DeviceTasks, _batches, task_counters_hwts, task_counters_v6, task_key

MAIN, MIXED, OVERFLOW = 1, 2, 4
CUBE, VECTOR = 0, 1


def tasks() -> DeviceTasks:
    """Return two tasks on stream 2, the second with ids that begin again."""
    ids = np.array([7, 7])
    bounds = np.array([100, 300]), np.array([200, 400])
    return DeviceTasks(np.full(2, 2), ids, np.array([0, 1]), np.array([0, 1]), np.zeros(2, np.int64), *bounds)


ROWS = np.arange(2)
"""Both tasks."""


def parts(*rows: dict[str, Any]) -> list[Any]:
    """Return records in parts of one."""
    return [records(row) for row in rows]


def records(*rows: dict[str, Any]) -> Any:
    table = RECORD_KINDS.record("ffts_profile_v6").new(len(rows))
    for record, values in zip(table, rows, strict=True):
        for name, value in ({"task_id": 7} | values).items():
            record[name] = value
    return table


def test_a_stream_begins_a_batch_where_its_task_ids_begin_again() -> None:
    """Streams 3 and 1 in turns: 3 runs 65534, 65535, 0, 2, 1 and 1 runs 9, 9; an id that repeats is the same batch."""
    stream, task = np.array([3, 1, 3, 3, 1, 3, 3]), np.array([65534, 9, 65535, 0, 9, 2, 1])
    assert _batches(task_key(stream, task)).tolist() == [0, 0, 0, 1, 0, 1, 2]


def test_each_kind_of_core_has_a_record_of_its_own() -> None:
    found = task_counters_v6(
        parts(
            {"flags": MAIN | MIXED, "total_cycles": 50, "pmu": np.arange(10), "start_tick": 100, "end_tick": 180},
            {"flags": MIXED, "core_type": 0x80 | VECTOR, "total_cycles": 60, "start_tick": 110, "end_tick": 200},
            {"flags": MAIN, "core_type": VECTOR, "total_cycles": 70, "start_tick": 300, "end_tick": 390},
        ),
        tasks(),
    )
    assert found.measured.tolist() == [True, True]
    assert found.sums(ROWS)[0].tolist() == [[50, 60], [0, 70]]
    assert found.sums(ROWS)[1].shape == (2, 2, 10)
    assert found.sums(ROWS)[1][0, CUBE].tolist() == list(range(10))
    assert found.core_ticks is not None
    assert found.core_ticks.tolist() == [[80, 90], [0, 90]]
    # The ticks are those of a core: the task ran when stars_soc says.
    assert not found.start_tick.any()
    assert not found.end_tick.any()


def test_an_overflow_changes_nothing() -> None:
    """cann_msprof.md 7.4: "2 overflow (never acted on)"."""
    record = {"flags": MAIN | OVERFLOW, "total_cycles": 50, "start_tick": 100, "end_tick": 180}
    found = task_counters_v6(parts(record), tasks())
    assert found.measured.tolist() == [True, False]
    assert found.sums(ROWS)[0][0].tolist() == [50, 0]


def test_blocks_and_strangers_are_left_out() -> None:
    found = task_counters_v6(
        parts(
            {"header": 0x29, "total_cycles": 5, "start_tick": 300, "end_tick": 320},
            {"task_id": 8, "total_cycles": 5, "start_tick": 300, "end_tick": 320},
        ),
        tasks(),
    )
    assert not found.measured.any()
    assert not found.sums(ROWS)[0].any()


def test_records_without_a_time_follow_the_order_of_the_tasks() -> None:
    table = RECORD_KINDS.record("aicore").new(3)
    for record, values in zip(table, ((2, 7, 50), (3, 7, 60), (2, 7, 70)), strict=True):
        record["stream_id"], record["task_id"], record["total_cycles"] = values
    table["pmu"][2] = np.arange(8)
    found = task_counters_hwts([table], tasks())
    # The second record is of a stream without tasks.
    assert found.sums(ROWS)[0].tolist() == [[50, 0], [70, 0]]
    assert found.sums(ROWS)[1][1, CUBE].tolist() == list(range(8))
