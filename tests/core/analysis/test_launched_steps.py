"""Step times of torch's database. The numbers follow the vendor's rule, worked out by hand."""

from __future__ import annotations

import polars as pl

from drynpu.analysis import STEP_RANGES, STEP_TRACE, launched_communication_steps, launched_ranges, launched_step_trace
from drynpu.tables import Profile

from .conftest import host_op, make_profile


def node(connection: int, start: int, end: int) -> dict[str, object]:
    return {"connection_id": connection, "level": "node", "start_ns": start, "end_ns": end}


def task(connection: int, start: int, end: int, **more: object) -> dict[str, object]:
    return {"connection_id": connection, "start_ns": start, "duration_ns": end - start, **more}


def two_steps(**more: object) -> Profile:
    """Steps 4 and 5 overlap on the device; step 6 launches nothing; the last call reaches beyond its step."""
    work = {
        1: (2_000, 3_000),
        2: (9_000, 10_000),
        3: (8_000, 8_500),
        4: (20_000, 21_000),
    }
    return make_profile(
        host_ops=[
            host_op("ProfilerStep#4", 1_000, 1_900),
            host_op("ProfilerStep#5", 2_000, 4_000),
            host_op("ProfilerStep#6", 5_000, 6_000),
        ],
        api=[
            *(node(1, 1_100, 1_200), node(2, 1_300, 1_400), node(3, 2_100, 2_200), node(4, 3_900, 4_100)),
            {"connection_id": 5, "level": "acl", "start_ns": 5_100, "end_ns": 5_200},
        ],
        tasks=[task(number, *times) for number, times in work.items()],
        **more,
    )


def test_ranges_reach_over_the_tasks_of_the_calls_within_a_step() -> None:
    ranges = launched_ranges(two_steps())
    assert ranges.schema == STEP_RANGES
    assert ranges.select("step_id", "device_start_ns", "device_end_ns").rows() == [
        (4, 2_000, 10_000),
        (5, 8_000, 8_500),
        (6, 5_000, 6_000),
    ]


def test_a_call_that_ends_with_its_step_is_within_it() -> None:
    profile = make_profile(
        host_ops=[host_op("ProfilerStep#4", 1_000, 1_900), host_op("ProfilerStep#5", 1_950, 2_500)],
        api=[node(1, 1_700, 1_900), node(2, 1_950, 2_501)],
        tasks=[task(1, 3_000, 3_400), task(2, 5_000, 6_000)],
    )
    assert launched_ranges(profile).select("step_id", "device_start_ns", "device_end_ns").rows() == [
        (4, 3_000, 3_400),
        (5, 1_950, 2_500),
    ]


def test_without_a_schedule_everything_from_the_first_task_on_is_one_step() -> None:
    ranges = launched_ranges(make_profile(api=[node(1, 5, 9)], tasks=[task(1, 40, 50), task(2, 30, 35)]))
    assert ranges.select("step_id", "device_start_ns").rows() == [(None, 40)]
    assert launched_ranges(make_profile()).select("step_id", "device_start_ns").rows() == [(None, 0)]


def test_an_operator_counts_in_every_step_that_holds_its_start() -> None:
    found = launched_step_trace(
        two_steps(
            kernels=[
                task(1, 2_000, 3_000, name="k"),
                task(1, 2_500, 3_500, name="k"),
                task(2, 8_200, 8_400, name="k"),
                # Begins in step 4 and ends after it; begins where step 5 has ended.
                task(2, 9_000, 12_000, name="k"),
                task(3, 8_500, 8_600, name="hcom_AicpuKernel"),
            ],
            communication_ops=[
                {"start_ns": 3_200, "duration_ns": 1_000, "name": "hcom_allReduce__1"},
                {"start_ns": 8_000, "duration_ns": 300, "name": "hcom_allReduce__2"},
            ],
        )
    )
    assert found.schema == STEP_TRACE
    # Computing 2000-3500, 8200-8400 and 9000-12000, communication 3200-4200 and 8000-8300, of it alone 700 and 200.
    assert found.rows() == [
        (0, "4", 4.7, 0.9, 0.4, 1.3, 4.4, 10.0, 0.0, 0.9, 1.0),
        (0, "5", 0.2, 0.2, 0.1, 0.3, 0.0, 0.4, 0.0, 0.2, 6.0),
        (0, "6", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    ]


def test_a_receive_at_the_beginning_of_a_run_counts_the_run() -> None:
    """The vendor joins intervals in place, and sums up the receives afterwards."""
    operators = [
        ("hcom_receive__1", 2_000, 2_100),
        ("hcom_send__1", 2_100, 2_700),
        ("hcom_receive__2", 2_600, 2_800),
        ("hcom_receive__3", 3_000, 3_050),
    ]
    rows = [{"name": name, "start_ns": start, "duration_ns": end - start} for name, start, end in operators]
    found = launched_step_trace(two_steps(communication_ops=rows)).row(0, named=True)
    # 800 of the first run, 200 of the receive inside it, 50; nothing was computed, so nothing was prepared.
    assert (found["bubble_us"], found["communication_us"], found["comm_exclude_receive_us"]) == (1.05, 0.85, 0.0)
    assert (found["stage_us"], found["free_us"], found["preparing_us"]) == (0.0, 0.2, 0.0)


def test_preparing_without_a_schedule_begins_with_the_first_operator_that_is_no_mark() -> None:
    found = launched_step_trace(
        make_profile(
            host_ops=[host_op("mstx_mark_op", 100, 200), host_op("aten::mm", 400, 900)],
            api=[node(1, 500, 600)],
            tasks=[task(1, 5_000, 5_600)],
            kernels=[task(1, 5_000, 5_600, name="k")],
        )
    )
    assert found.select("step", "computing_us", "preparing_us").rows() == [("", 0.6, 4.6)]


def test_communication_on_both_edges_of_a_step() -> None:
    """The first step wins, and unlike in communication.json a single step does not have what lies outside."""
    starts = pl.DataFrame({"start_ns": [2_000, 10_000, 10_001, 8_500, 5_500]})
    steps, found = launched_communication_steps(two_steps(), starts)
    assert (steps, found.to_list()) == ((4, 5, 6), [4, 4, None, 4, 4])
    single = make_profile(host_ops=[host_op("ProfilerStep#7", 0, 50)], api=[node(1, 10, 20)], tasks=[task(1, 30, 60)])
    assert launched_communication_steps(single, starts)[1].to_list() == [None] * 5
    assert launched_communication_steps(make_profile(), starts)[0] == ()
