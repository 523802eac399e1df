"""Launches and steps of MindSpore, worked out by hand from mindspore_profiler.md 12."""

from __future__ import annotations

import polars as pl

from drynpu.analysis import (
    mindspore_launches,
    mindspore_step_at,
    mindspore_step_trace,
    mindspore_steps,
    overlap,
    select_mindspore_steps,
)
from drynpu.tables import Profile

from .conftest import make_profile


def event(name: str, start: int, end: int, tid: int = 7, step: int | None = None) -> dict[str, object]:
    return {"name": name, "start_ns": start, "end_ns": end, "tid": tid, "step": step}


def work(connection: int, start: int, took: int, name: str, **more: object) -> dict[str, object]:
    return {"connection_id": connection, "start_ns": start, "duration_ns": took, **more, "name": name}


def two_steps() -> Profile:
    """Return a profile whose second step computes, sends and waits while nothing else runs."""
    kernels = [(2_000, 300, "MatMul"), (2_500, 150, "Add"), (6_000, 900, "MatMul")]
    return make_profile(
        framework_events=[
            event("Default::Init::Init", 900, 950),
            event("ProfilerStep#3", 1_000, 5_000, step=3),
            event("PynativeFramework::KernelLaunch::Mul", 1_100, 1_300, step=3),
            event("ProfilerStep#4", 5_500, 9_000, step=4),
            event("PynativeFramework::KernelLaunch::Add", 5_600, 5_700, step=4),
        ],
        kernels=[work(i, *times) for i, times in enumerate(kernels, start=1)],
        tasks=[
            {"connection_id": 9, "start_ns": 1_950, "duration_ns": 10, "kernel_type": "EVENT_RECORD"},
            {"connection_id": 9, "start_ns": 9_400, "duration_ns": 100, "kernel_type": "MEMCPY_ASYNC"},
        ],
        communication_ops=[
            work(6, 2_200, 200, "hcom_allReduce__1"),
            work(7, 6_800, 400, "hcom_receive__2"),
            work(8, 7_500, 80, "hcom_allGather__3"),
        ],
    )


def test_steps_are_the_ranges_of_the_schedule() -> None:
    profile = two_steps()
    assert mindspore_steps(profile).rows() == [("3", 1_000, 5_000), ("4", 5_500, 9_000)]
    assert mindspore_steps(make_profile()).is_empty()


def test_a_step_is_what_began_in_it() -> None:
    profile = two_steps()
    found = mindspore_step_trace(profile, mindspore_steps(profile), overlap(profile), with_host=True)
    # Step 3 computes 2000-2300 and 2500-2650 and communicates 2200-2400, of it 2300-2400 alone; it is free
    # 1950-2000, 2400-2500 and 2650-5000. Step 4 computes 6000-6900 and communicates 6800-7200 and 7500-7580, of it
    # 6900-7200 and 7500-7580 alone, and is free 5500-6000, 7200-7500 and 7580-9000.
    assert found.drop("has_communication").rows() == [
        ("3", 450, 100, 100, 200, 2_500, 200, 0, 100, 1_000),
        ("4", 900, 380, 100, 480, 2_220, 380, 400, -20, 500),
    ]
    assert found["has_communication"].to_list() == [True, True]


def test_without_steps_everything_is_step_0() -> None:
    profile = make_profile(
        framework_events=[event("Default::Init::Init", 900, 950)],
        kernels=[work(1, 2_000, 300, "MatMul")],
    )
    found = mindspore_step_trace(profile, mindspore_steps(profile), overlap(profile), with_host=True)
    assert found.select("step", "computing_ns", "stage_ns", "preparing_ns").rows() == [("0", 300, 0, 1_100)]
    assert found["has_communication"].to_list() == [False]
    blind = mindspore_step_trace(profile, mindspore_steps(profile), overlap(profile), with_host=False)
    assert blind["preparing_ns"].to_list() == [0]


def test_times_belong_to_the_first_step_that_holds_them() -> None:
    steps = pl.DataFrame({"step": ["3", "4"], "start_ns": [10, 20], "end_ns": [20, 30]})
    times = pl.Series([9, 10, 20, 21, 30, 31])
    assert mindspore_step_at(times, steps).to_list() == ["4", "3", "3", "4", "4", "4"]
    assert mindspore_step_at(times, steps, otherwise_last=False).to_list() == [None, "3", "3", "4", "4", None]


def test_chosen_steps_keep_what_began_in_them() -> None:
    chosen = select_mindspore_steps(two_steps(), [2])
    assert chosen.kernels["start_ns"].to_list() == [6_000]
    assert chosen.communication_ops["start_ns"].to_list() == [6_800, 7_500]
    assert chosen.frame("framework_events")["start_ns"].to_list() == [5_500, 5_600]
    assert chosen.tasks.is_empty()
    unmarked = make_profile(kernels=[work(1, 5, 1, "Add")])
    assert select_mindspore_steps(unmarked, [2]).kernels.height == 1


def call(connection: int, start: int, tid: int = 7, name: str = "launch") -> dict[str, object]:
    return {"connection_id": connection, "start_ns": start, "end_ns": start + 5, "tid": tid, "name": name}


def task(connection: int, start: int, name: str = "", **more: object) -> dict[str, object]:
    neutral = {"connection_id": connection, "duration_ns": 3, "copy_bytes": None}
    return {**neutral, "start_ns": start, "kernel_name": name, **more}


def test_work_belongs_to_the_launch_that_holds_its_call() -> None:
    profile = make_profile(
        framework_events=[
            event("PynativeFramework::KernelLaunch::Mul", 100, 200),
            event("PynativeFramework::KernelLaunch::Inner", 120, 150),
            event("KernelExecutor::LaunchTask::Graph", 300, 400),
            event("PynativeFramework::KernelLaunch::Other", 100, 900, tid=8),
            event("PynativeFramework::Infer::Mul", 500, 600),
        ],
        api=[call(1, 130), call(2, 350), call(3, 250), call(4, 399, tid=8), call(5, 550), call(6, 400)],
        tasks=[task(i, 1_000 * i, f"k{i}", stream_id=40 + i) for i in range(1, 7)],
    )
    found = mindspore_launches(profile).select("connection_id", "name", "stream_id", "launch", "launch_tid")
    assert found.rows() == [
        (1, "k1", 41, "PynativeFramework::KernelLaunch::Mul", 7),
        (2, "k2", 42, "KernelExecutor::LaunchTask::Graph", 7),
        (4, "k4", 44, "PynativeFramework::KernelLaunch::Other", 8),
        (6, "k6", 46, "KernelExecutor::LaunchTask::Graph", 7),
    ]


def test_copies_collectives_and_events_have_launches_and_other_calls_have_none() -> None:
    profile = make_profile(
        framework_events=[event("PynativeFramework::KernelLaunch::Mul", 100, 200)],
        api=[
            call(1, 110),
            call(2, 120),
            call(3, 130, name="aclrtRecordEvent"),
            call(4, 140, name="aclrtSynchronizeStream"),
        ],
        tasks=[
            task(1, 1_000, kernel_type="MEMCPY_ASYNC", copy_bytes=64),
            task(3, 900, kernel_type="EVENT_RECORD"),
            task(4, 800, kernel_type="EVENT_WAIT"),
        ],
        communication_ops=[work(2, 950, 50, "hcom_send__1")],
    )
    found = mindspore_launches(profile).select("is_communication", "stream_id", "name", "start_ns")
    assert found.rows() == [
        (False, 0, "EVENT_RECORD", 900),
        (True, -1, "hcom_send__1", 950),
        (False, 0, "MEMCPY_ASYNC", 1_000),
    ]
