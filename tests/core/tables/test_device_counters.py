"""Counter records of a device to its tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.tables.device import (
    DeviceTasks,
    _batches,
    _Owners,
    task_counters,
    task_counters_hwts,
    task_counters_v6,
    task_key,
)

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
    # The ticks count on a core: the task ran when stars_soc says.
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


@pytest.mark.parametrize("far", [1, 2**54], ids=["near", "far apart"])
def test_a_record_belongs_to_the_last_task_of_its_id_that_had_started(far: int) -> None:
    """Times so far apart that they leave no room for an id beside them are numbered first."""
    keys, starts = np.array([5, 5, 9]), np.array([100, 300, 200]) * far
    owners = _Owners.from_tasks(keys, starts)
    expected_rows = {
        (5, 99): -1, (5, 100): 0, (5, 299): 0, (5, 300): 1, (5, 301): 1, (9, 199): -1, (9, 200): 2, (9, 302): 2,
        (7, 250): -1, (10, 250): -1, (4, 250): -1,
    }  # fmt: skip
    key, tick = np.array(list(expected_rows)).T
    assert owners.rows(key, tick * far).tolist() == list(expected_rows.values())
    nothing = _Owners.from_tasks(keys[:0], starts[:0])
    assert nothing.rows(np.array([5]), np.array([100])).tolist() == [-1]


def context(**values: Any) -> dict[str, Any]:
    return {"header": 0x28, "stream_id": 2, **values}


def test_the_main_engine_of_a_task_is_its_cube_and_all_else_its_vector_half() -> None:
    """The kind of a context record stands above 13 bits, the core type of a block record in the lowest one."""
    halves = [(0 << 13, 3), (4 << 13, 0), (4 << 13, 6), (4 << 13, 1), (1 << 13, 0), (5 << 13, 6)]
    table = RECORD_KINDS.record("ffts_profile").new(len(halves) + 3)
    rows = [context(ffts=ffts, sub_task=sub, total_cycles=10**n) for n, (ffts, sub) in enumerate(halves)]
    rows += [
        context(header=0x29, ffts=0x10, total_cycles=3 * 10**6),
        context(header=0x29, ffts=0x11, total_cycles=5 * 10**7),
        context(header=0x27, ffts=0, total_cycles=7 * 10**8),
    ]
    for record, values in zip(table, rows, strict=True):
        for name, value in ({"task_id": 7, "start_tick": 120, "end_tick": 180} | values).items():
            record[name] = value
    found = task_counters([table[:4], table[4:]], tasks())
    assert found.measured.tolist() == [True, False]
    assert found.sums(ROWS)[0].tolist() == [[3_000_111, 50_111_000], [0, 0]]
    assert found.sums(np.array([1, 0, 0]))[0].tolist() == [[0, 0], *[[3_000_111, 50_111_000]] * 2]


def test_the_ticks_of_an_operator_are_those_of_a_context_record_that_lasted() -> None:
    table = RECORD_KINDS.record("ffts_profile").new(4)
    rows = [(0x28, 110, 190), (0x28, 150, 150), (0x29, 100, 199), (0x28, 310, 390)]
    for record, (header, start, end) in zip(table, rows, strict=True):
        record["header"], record["stream_id"], record["task_id"] = header, 2, 7
        record["start_tick"], record["end_tick"] = start, end
    found = task_counters([table], tasks())
    assert (found.start_tick.tolist(), found.end_tick.tolist()) == ([110, 310], [190, 390])
