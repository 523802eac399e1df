"""Memory rows: how events of a pointer are grouped, and after whom they are named."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from drynpu.analysis import MEMORY_RECORD, OPERATOR_MEMORY, memory_record, operator_memory
from drynpu.tables import Profile

from .conftest import host_op, make_profile

MAIN, LAUNCHER = 1, 9
MALLOC, FREE, BLOCK_FREE = 0, 1, 2


def event(pointer: int, time: int, action: int, total: int = 0, **more: object) -> dict[str, object]:
    size = 64 if action == MALLOC else -64
    totals = {f"total_{name}_bytes": total + i for i, name in enumerate(("allocated", "reserved", "active"))}
    return {
        "pointer": pointer, "time_ns": time, "action": action, "size_bytes": size, "device_type": 20, "tid": MAIN,
        "stream": 5, **totals, **more,
    }  # fmt: skip


def rows(profile: Profile) -> pl.DataFrame:
    return operator_memory(profile)


def test_grouping() -> None:
    profile = make_profile(
        allocations=[
            event(1, 5, FREE),  # was allocated before the recording
            event(1, 10, MALLOC, 100),
            event(2, 20, MALLOC, 200),
            event(1, 30, BLOCK_FREE, 130),
            event(1, 31, FREE, 131),
            event(1, 40, MALLOC, 140),
            event(1, 50, FREE, 150),
            event(3, 60, MALLOC, 160),
            event(3, 70, BLOCK_FREE, 170),
            event(4, 80, MALLOC, 180, device_type=0),
        ]
    )
    result = rows(profile)
    assert result.schema == OPERATOR_MEMORY
    columns = ("allocation_ns", "release_ns", "active_release_ns", "duration_ns", "active_duration_ns")
    assert result.select(columns).rows() == [
        (10, 31, 30, 21, 20),
        (20, None, None, None, None),
        (40, 50, None, 10, None),
        (60, None, 70, None, 10),
    ]
    assert result["release_total_allocated_bytes"].to_list() == [131, None, 150, 170]
    assert result["allocation_total_active_bytes"].to_list() == [102, 202, 142, 162]
    assert result["component"].unique().to_list() == ["PTA"]
    assert result["size_bytes"].unique().to_list() == [64]
    assert result["stream"].unique().to_list() == [5]


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(0, 6), st.sampled_from([MALLOC, FREE, BLOCK_FREE]), st.integers(0, 1)),
        max_size=24,
    )
)
def test_any_order_of_events_groups_as_it_does_one_by_one(events: list[tuple[int, int, int, int]]) -> None:
    """Times may be equal, releases may come twice, before or without an allocation; components do not mix."""
    profile = make_profile(
        allocations=[
            event(pointer, time, action, 10 * number, component=component)
            for number, (pointer, time, action, component) in enumerate(events)
        ]
    )
    expected: list[dict[int, int]] = []
    alive: dict[tuple[int, int], dict[int, int]] = {}
    for number in sorted(range(len(events)), key=lambda each: events[each][1]):
        pointer, _, action, component = events[number]
        if action == MALLOC:
            alive[pointer, component] = {}
            expected.append(alive[pointer, component])
        alive.get((pointer, component), {}).setdefault(action, number)
    found = rows(profile)
    times = ("allocation_ns", "release_ns", "active_release_ns")
    assert found.select(times).rows() == [
        tuple(events[each[action]][1] if action in each else None for action in (MALLOC, FREE, BLOCK_FREE))
        for each in expected
    ]
    released = [each.get(FREE, each.get(BLOCK_FREE)) for each in expected]
    assert found["allocation_total_allocated_bytes"].to_list() == [10 * each[MALLOC] for each in expected]
    assert found["release_total_reserved_bytes"].to_list() == [None if n is None else 10 * n + 1 for n in released]
    assert found["component"].to_list() == [("PTA", "WORKSPACE")[events[each[MALLOC]][3]] for each in expected]


def test_names() -> None:
    profile = make_profile(
        host_ops=[
            host_op("aten::linear", 0, 100),
            host_op("aten::empty", 10, 20),
            host_op("empty_tensor", 12, 18),
            host_op("my annotation", 40, 60),
        ],
        queue=[
            {"correlation_id": 1, "side": "enqueue", "start_ns": 50, "end_ns": 51, "tid": MAIN},
            {"correlation_id": 1, "side": "dequeue", "start_ns": 200, "end_ns": 300, "tid": LAUNCHER},
        ],
        allocations=[
            event(1, 15, MALLOC),
            event(2, 30, MALLOC),
            event(3, 250, MALLOC, tid=LAUNCHER),
            event(4, 350, MALLOC, tid=LAUNCHER),
            event(5, 50, MALLOC),
            event(6, 400, MALLOC),
        ],
    )
    names = dict(rows(profile).select("allocation_ns", "name").iter_rows())
    assert names == {
        15: "aten::empty",
        30: "aten::linear",
        250: "aten::linear",  # the annotation that was innermost at the enqueue is no framework operator
        350: "",
        50: "my annotation",
        400: "",
    }


def test_toolkit_rows_come_last() -> None:
    profile = make_profile(
        allocations=[event(1, 500, MALLOC)],
        cann_allocations=[
            {"time_ns": 10, "address": 7, "name": "MatMul", "size_bytes": 32, "total_allocated_bytes": 900},
            {"time_ns": 40, "address": 7, "name": "MatMul", "size_bytes": -32, "total_allocated_bytes": 868},
            {"time_ns": 50, "address": 8, "name": "Add", "size_bytes": 16},
        ],
    )
    result = rows(profile)
    assert result.select("name", "size_bytes", "duration_ns", "component").rows() == [
        ("", 64, None, "PTA"),
        ("cann::MatMul", 32, 30, "GE"),
        ("cann::Add", 16, None, "GE"),
    ]
    assert result["release_total_allocated_bytes"].to_list() == [None, 868, None]


def test_a_release_at_the_toolkit_whose_allocation_was_before_the_recording_is_no_row() -> None:
    profile = make_profile(
        cann_allocations=[
            {"time_ns": 5, "address": 7, "name": "Early", "size_bytes": -8},
            {"time_ns": 10, "address": 7, "name": "MatMul", "size_bytes": 32},
            {"time_ns": 20, "address": 7, "name": "Add", "size_bytes": 16},
            {"time_ns": 30, "address": 7, "name": "Add", "size_bytes": -16},
            {"time_ns": 31, "address": 7, "name": "Add", "size_bytes": -16},
            {"time_ns": 40, "address": 7, "name": "Empty", "size_bytes": 0},
        ]
    )
    assert rows(profile).select("name", "size_bytes", "allocation_ns", "release_ns").rows() == [
        ("cann::MatMul", 32, 10, None),
        ("cann::Add", 16, 20, 30),
    ]


def test_memory_record() -> None:
    profile = make_profile(
        npu_mem=[
            {"event": 0, "time_ns": 99, "hbm_bytes": 1000, "ddr_bytes": 24},
            {"event": 1, "time_ns": 98, "hbm_bytes": 5000},
        ],
        allocations=[
            event(1, 10, MALLOC, 100),
            event(2, 15, MALLOC, 7, component=1),
            event(1, 30, FREE, 50),
        ],
        cann_allocations=[
            {"time_ns": 20, "address": 7, "size_bytes": 32, "total_allocated_bytes": 9, "total_reserved_bytes": 16}
        ],
    )
    result = memory_record(profile)
    assert result.schema == MEMORY_RECORD
    assert result.drop("device_id").rows() == [
        ("APP", 99, None, 1024, None, None),
        ("PTA", 10, 100, 101, 102, 5),
        ("PTA+GE", 10, 100, 101, 102, 5),
        ("WORKSPACE", 15, 7, 8, 9, 5),
        ("GE", 20, 9, 16, None, None),
        ("PTA+GE", 20, 109, 117, 102, 5),
        ("PTA", 30, 50, 51, 52, 5),
        ("PTA+GE", 30, 59, 67, 52, 5),
    ]


def test_nothing_at_all() -> None:
    assert rows(make_profile()).schema == OPERATOR_MEMORY
    assert memory_record(make_profile()).schema == MEMORY_RECORD
    assert memory_record(make_profile()).is_empty()
