"""Which operator gets which kernel, and whether the sums over the tree agree."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from drynpu.analysis import KERNEL_OP, OPERATOR_DETAILS, link_operators, operator_details
from drynpu.analysis.links import CallsByConnection, first_rows
from drynpu.tables.stored import stored

from .conftest import host_op, make_profile

MAIN, BACKWARD, LAUNCHER = 1, 2, 9


def launch(connection: int, start: int, tid: int = LAUNCHER) -> dict[str, object]:
    return {"connection_id": connection, "level": "node", "start_ns": start, "end_ns": start + 1, "tid": tid}


def kernel(connection: int, start: int, duration: int, core: str = "AI_CORE") -> dict[str, object]:
    return {
        "connection_id": connection,
        "start_ns": start,
        "duration_ns": duration,
        "task_type": core,
        "stream_id": 2,
        "task_id": connection,
        "name": f"k{connection}",
        "op_type": "T",
    }


def queue(correlation: int, enqueue: tuple[int, int, int], dequeue: tuple[int, int]) -> list[dict[str, object]]:
    start, end, tid = enqueue
    return [
        {"correlation_id": correlation, "side": "enqueue", "start_ns": start, "end_ns": end, "tid": tid},
        {
            "correlation_id": correlation,
            "side": "dequeue",
            "start_ns": dequeue[0],
            "end_ns": dequeue[1],
            "tid": LAUNCHER,
        },
    ]


def linked(profile: object) -> dict[int, int]:
    return dict(link_operators(profile).kernel_op.select("connection_id", "op_id").iter_rows())  # type: ignore[arg-type]


def test_task_queue() -> None:
    profile = make_profile(
        host_ops=[
            host_op("aten::linear", 0, 100),
            host_op("aten::addmm", 10, 90),
            host_op("aten::relu", 200, 250, BACKWARD),
        ],
        queue=[*queue(7, (20, 25, MAIN), (300, 350)), *queue(8, (210, 212, BACKWARD), (360, 380))],
        # 3 lies between the dequeues, 4 on another thread during one of them: neither came out of the queue.
        api=[launch(1, 310), launch(2, 361), launch(3, 355), launch(4, 320, MAIN)],
        kernels=[kernel(1, 400, 10), kernel(2, 420, 5), kernel(3, 430, 5), kernel(4, 440, 5)],
    )
    links = link_operators(profile)
    assert links.kernel_op.schema == KERNEL_OP
    assert links.op_parent.tolist() == [-1, 0, -1]
    assert links.kernel_op.select("connection_id", "correlation_id", "op_id", "op_tid", "op_start_ns").rows() == [
        (1, 7, 1, MAIN, 10),
        (2, 8, 2, BACKWARD, 200),
    ]


@pytest.mark.parametrize("numbers", [(4, 5, 6), (2, 5, 9), (6, 5, 4), (5, 4, 9), (7,), (4, 4, 5)])
def test_work_belongs_to_the_call_of_its_number_however_calls_are_numbered(
    monkeypatch: pytest.MonkeyPatch, numbers: tuple[int, ...]
) -> None:
    calls = pl.DataFrame({"connection_id": numbers, "start_ns": range(len(numbers)), "tid": [3] * len(numbers)})
    work = pl.DataFrame({"connection_id": [9, 4, 8, 6, 5, 7, 2, 3, 10]})
    expected = [
        (number, place, 3) for number in work["connection_id"] for place, own in enumerate(numbers) if number == own
    ]
    monkeypatch.setattr("drynpu.tables.stored.PART_ROWS", 2)
    assert CallsByConnection.from_api(stored(calls)).of_work(work).rows() == expected
    assert CallsByConnection.from_api(stored(calls.clear())).of_work(work).is_empty()


def test_an_enqueue_hangs_on_its_own_thread() -> None:
    profile = make_profile(
        host_ops=[host_op("outer", 0, 100), host_op("elsewhere", 15, 60, BACKWARD)],
        queue=queue(1, (20, 21, MAIN), (30, 40)),
        api=[launch(1, 35)],
        kernels=[kernel(1, 50, 5)],
    )
    assert linked(profile) == {1: 0}


def test_the_first_enqueue_of_a_number_counts_and_a_dequeue_without_one_is_left_out() -> None:
    profile = make_profile(
        host_ops=[host_op("aten::mm", 0, 100), host_op("aten::add", 200, 300)],
        queue=[
            *queue(7, (210, 220, MAIN), (400, 450)),
            *queue(7, (10, 20, MAIN), (500, 550)),
            *queue(4, (30, 40, MAIN), (600, 650)),
            queue(9, (0, 0, MAIN), (700, 750))[1],
        ],
        api=[launch(number, start) for number, start in enumerate((410, 510, 610, 710, 800), 1)],
        kernels=[kernel(number, 1000 + number, 1) for number in range(1, 6)],
    )
    table = link_operators(profile).kernel_op.select("connection_id", "op_id", "correlation_id")
    assert table.rows() == [(1, 1, 7), (2, 1, 7), (3, 0, 4)]


@given(st.lists(st.integers(0, 9), max_size=9), st.lists(st.integers(0, 9), max_size=9))
def test_first_rows_are_those_of_a_search(ids: list[int], wanted: list[int]) -> None:
    found = first_rows(np.array(ids, np.int64), np.array(wanted, np.int64))
    assert found.tolist() == [ids.index(each) if each in ids else -1 for each in wanted]


def test_without_a_queue_time_alone_counts() -> None:
    profile = make_profile(
        host_ops=[
            host_op("outer", 0, 100),
            host_op("inner", 10, 40),
            host_op("outlives", 50, 130, BACKWARD),
            host_op("late", 300, 310),
        ],
        api=[launch(1, 20, MAIN), launch(2, 60, MAIN), launch(3, 120, MAIN), launch(4, 200, MAIN), launch(5, 305, 77)],
        kernels=[kernel(i, 1000 + i, 1) for i in range(1, 6)],
    )
    # 3: "outlives" hangs below "outer", which is closed at 120, so that the way down ends before it.
    assert linked(profile) == {1: 1, 2: 2, 5: 3}
    assert link_operators(profile).kernel_op["correlation_id"].to_list() == [20, 60, 305]


def test_copies_and_collectives_are_linked_too() -> None:
    profile = make_profile(
        host_ops=[host_op("aten::copy_", 0, 100)],
        api=[launch(1, 5), launch(2, 6)],
        tasks=[
            {"connection_id": 1, "start_ns": 50, "duration_ns": 9, "kernel_type": "MEMCPY_ASYNC", "copy_bytes": 64},
            {"connection_id": 2, "start_ns": 70, "duration_ns": 9, "kernel_type": "EVENT_RECORD", "copy_bytes": None},
        ],
        communication_ops=[{"connection_id": 2, "start_ns": 80, "duration_ns": 30, "name": "hcom_allReduce"}],
    )
    rows = link_operators(profile).kernel_op
    assert rows.select("kind", "stream_id", "task_type", "duration_ns").rows() == [
        ("copy", 0, "MEMCPY_ASYNC", 9),
        ("communication", -1, "COMMUNICATION", 30),
    ]


def test_operator_details() -> None:
    profile = make_profile(
        host_ops=[
            host_op("ProfilerStep#3", 0, 1000),
            host_op("aten::linear", 100, 600, input_shapes="4,8", call_stack="a;b"),
            host_op("aten::addmm", 200, 500),
            host_op("aten::t", 510, 530),
        ],
        api=[launch(1, 250), launch(2, 260), launch(3, 120)],
        kernels=[kernel(1, 2000, 4000), kernel(2, 7000, 500, "AI_VECTOR_CORE"), kernel(3, 8000, 250)],
    )
    details = operator_details(profile)
    assert details.schema == OPERATOR_DETAILS
    assert details.drop("op_id").rows() == [
        ("aten::linear", "4,8", "a;b", 0.18, 0.5, 0.25, 4.75, 0.25, 4.25),
        ("aten::addmm", "", "", 0.3, 0.3, 4.5, 4.5, 4.0, 4.0),
        ("aten::t", "", "", 0.02, 0.02, 0.0, 0.0, 0.0, 0.0),
    ]


def test_nothing_at_all() -> None:
    profile = make_profile()
    links = link_operators(profile)
    assert links.kernel_op.is_empty()
    assert links.kernel_op.schema == KERNEL_OP
    assert operator_details(profile).schema == OPERATOR_DETAILS


ops = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 30), st.sampled_from([MAIN, BACKWARD])), min_size=1, max_size=20
)
launches = st.lists(st.tuples(st.integers(0, 95), st.integers(1, 9), st.booleans()), max_size=20)


@given(ops, launches)
def test_time_containment_equals_walking_down(
    spans: list[tuple[int, int, int]], calls: list[tuple[int, int, bool]]
) -> None:
    profile = make_profile(
        host_ops=[host_op("op", start, start + length, tid) for start, length, tid in spans],
        api=[launch(i, at, MAIN) for i, (at, _, _) in enumerate(calls)],
        kernels=[kernel(i, 1000 + i, length) for i, (_, length, _) in enumerate(calls)],
    )
    links = link_operators(profile)
    parent = links.op_parent.tolist()
    bounds = profile.host_ops.select("start_ns", "end_ns").rows()
    expected = {}
    for number, (at, _, _) in enumerate(calls):
        node, below = -1, True
        while below:
            below = [i for i, p in enumerate(parent) if p == node and bounds[i][0] <= at <= bounds[i][1]]
            node = below[-1] if below else node
        if node >= 0:
            expected[number] = node
    assert linked(profile) == expected


@given(ops, launches)
def test_sums_over_the_tree(spans: list[tuple[int, int, int]], calls: list[tuple[int, int, bool]]) -> None:
    profile = make_profile(
        host_ops=[host_op("op", start, start + length, tid) for start, length, tid in spans],
        api=[launch(i, at) for i, (at, _, _) in enumerate(calls)],
        kernels=[
            kernel(i, 1000 + i, length * 1000, "AI_CORE" if cube else "AI_CPU")
            for i, (_, length, cube) in enumerate(calls)
        ],
    )
    links = link_operators(profile)
    details = operator_details(profile)
    roots = details.filter(pl.Series(links.op_parent < 0))
    work = links.kernel_op["duration_ns"].sum() / 1000
    cube = links.kernel_op.filter(pl.col("task_type") == "AI_CORE")["duration_ns"].sum() / 1000
    assert details["device_self_us"].sum() == work == roots["device_total_us"].sum()
    assert details["device_self_aicore_us"].sum() == cube == roots["device_total_aicore_us"].sum()
    assert np.isclose(details["host_self_us"].sum(), roots["host_total_us"].sum())
    assert (details["device_total_us"] >= details["device_self_us"]).all()


def test_links_are_computed_once_for_a_profile_and_anew_for_a_copy() -> None:
    profile = make_profile()
    assert link_operators(profile) is link_operators(profile)
    copy = evolve(profile, rank_id=3)
    assert link_operators(copy) is not link_operators(profile)
