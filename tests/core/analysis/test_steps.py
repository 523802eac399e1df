"""Steps on the device, and how their time divides."""

from __future__ import annotations

import itertools

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.analysis import (
    OVERLAP,
    OVERLAP_KINDS,
    STEP_RANGES,
    STEP_TRACE,
    op_statistic,
    overlap,
    step_ranges,
    step_trace,
    steps_at,
)
from drynpu.tables import Profile

from .conftest import host_op, make_profile

LAUNCHER = 9


def work(start: int, end: int, **more: object) -> dict[str, object]:
    return {"start_ns": start, "duration_ns": end - start, "name": "k", "op_type": "T", "task_type": "AI_CORE", **more}


def two_steps(*, queue: bool = True) -> Profile:
    """Step 5 enqueues out of device order; step 6 launches nothing; step 7 has one kernel."""
    entries = [(1, 120, 500, 510), (2, 140, 520, 530), (3, 820, 840, 845)]
    return make_profile(
        host_ops=[
            host_op("warm up", 0, 90),
            host_op("ProfilerStep#5", 100, 400),
            host_op("a", 110, 130),
            host_op("b", 135, 150),
            host_op("ProfilerStep#6", 401, 700),
            host_op("ProfilerStep#7", 800, 3000),
            host_op("c", 810, 830),
        ],
        queue=[
            row
            for number, put, begin, end in entries
            for row in (
                {"correlation_id": number, "side": "enqueue", "start_ns": put, "end_ns": put + 1, "tid": 1},
                {"correlation_id": number, "side": "dequeue", "start_ns": begin, "end_ns": end, "tid": LAUNCHER},
            )
            if queue
        ],
        api=[
            {"connection_id": number, "level": "node", "tid": LAUNCHER, "start_ns": (begin + 1) if queue else put + 1}
            for number, put, begin, _ in entries
        ],
        kernels=[
            work(1000, 1100, connection_id=1, stream_id=2),
            work(1100, 1150, connection_id=1, stream_id=2),
            work(900, 980, connection_id=2, stream_id=3),
            work(1200, 1900, connection_id=3, stream_id=2),
        ],
    )


@pytest.mark.parametrize("queue", [True, False])
def test_step_ranges(queue: bool) -> None:
    profile = two_steps(queue=queue)
    ranges = step_ranges(profile)
    assert ranges.schema == STEP_RANGES
    # Step 5 begins with its first correlation id (1000, not 900) and ends with the last one (980 < 1150).
    assert ranges.select("step_id", "host_start_ns", "host_end_ns", "device_start_ns", "device_end_ns").rows() == [
        (5, 100, 400, 1000, 980),
        (7, 800, 3000, 1200, 3000),
    ]


def test_kernel_steps() -> None:
    profile = two_steps()
    ranges = pl.DataFrame([(5, 0, 0, 0, 1, 900, 1100), (6, 0, 0, 0, 1, 1100, 1150)], schema=STEP_RANGES, orient="row")
    assert steps_at(profile.kernels["start_ns"], ranges).to_list() == [5, 6, 5, None]
    assert steps_at(pl.Series([1150, 1149, 900, 899]), ranges).to_list() == [None, 6, 5, None]
    assert steps_at(pl.Series([900]), ranges.clear()).to_list() == [None]
    # With the end both have 1100, and the first wins.
    assert steps_at(pl.Series([1150, 1151, 1100]), ranges, with_end=True).to_list() == [6, None, 5]


def test_a_nested_marker_is_no_step() -> None:
    profile = make_profile(
        host_ops=[host_op("everything", 0, 100), host_op("ProfilerStep#1", 10, 90)],
        api=[{"connection_id": 1, "start_ns": 20, "end_ns": 21}],
        kernels=[work(50, 60, connection_id=1)],
    )
    assert step_ranges(profile).is_empty()


def test_overlap_kinds() -> None:
    profile = make_profile(
        kernels=[work(10, 20), work(15, 30), work(100, 110), work(60, 61, name="hcom_AivKernel")],
        communication_ops=[{"start_ns": 25, "duration_ns": 15}],
        tasks=[
            {"start_ns": 2, "duration_ns": 3, "kernel_type": "MEMCPY_ASYNC"},
            {"start_ns": 0, "duration_ns": 500, "kernel_type": "KERNEL_AICORE"},
        ],
    )
    result = overlap(profile)
    assert result.schema == OVERLAP
    assert result.select("kind", "start_ns", "end_ns").rows() == [
        ("Computing", 10, 30),
        ("Computing", 100, 110),
        ("Communication", 25, 40),
        ("Communication(Not Overlapped)", 30, 40),
        ("Free", 2, 10),
        ("Free", 40, 100),
    ]


def test_step_trace_by_hand() -> None:
    profile = make_profile(
        host_ops=[host_op("ProfilerStep#1", 0, 5)],
        kernels=[work(10_000, 20_000), work(50_000, 60_000)],
        communication_ops=[
            {"start_ns": 15_000, "duration_ns": 10_000, "name": "hcom_allReduce__1"},
            {"start_ns": 30_000, "duration_ns": 4_000, "name": "Hcom_Receive__1"},
        ],
    )
    ranges = pl.DataFrame([(1, 0, 4_000, 5_000, 1, 10_000, 45_000)], schema=STEP_RANGES, orient="row")
    trace = step_trace(profile, ranges, overlap(profile))
    assert trace.schema == STEP_TRACE
    # Free: 25..30 and 34..50, the latter counted whole; Stage: 10..50 less the 4 us received.
    assert trace.rows() == [(0, "1", 10.0, 9.0, 5.0, 14.0, 21.0, 36.0, 4.0, 5.0, 6.0)]


def test_step_trace_without_steps() -> None:
    profile = make_profile(host_ops=[host_op("first", 1000, 2000)], kernels=[work(10_000, 20_000)])
    trace = step_trace(profile, pl.DataFrame(schema=STEP_RANGES), overlap(profile))
    assert trace.select("step", "computing_us", "free_us", "stage_us", "preparing_us").rows() == [("", 10, 0, 10, 9)]
    without_host = make_profile(kernels=[work(10_000, 20_000)])
    trace = step_trace(without_host, pl.DataFrame(schema=STEP_RANGES), overlap(without_host))
    assert trace["preparing_us"].to_list() == [0]


def test_nothing_at_all() -> None:
    profile = make_profile()
    ranges = step_ranges(profile)
    assert ranges.schema == STEP_RANGES
    assert overlap(profile).schema == OVERLAP
    assert step_trace(profile, ranges, overlap(profile)).schema == STEP_TRACE
    assert steps_at(profile.kernels["start_ns"], step_ranges(profile)).to_list() == []


spans = st.lists(st.tuples(st.integers(0, 90), st.integers(0, 20), st.integers(0, 1)), max_size=12)


def random_profile(kernels: list[tuple[int, int, int]], collectives: list[tuple[int, int, int]]) -> Profile:
    return make_profile(
        device_ids=(0, 1),
        kernels=[
            work(start, start + length, device_id=device, op_type=f"T{length % 3}") for start, length, device in kernels
        ],
        communication_ops=[
            {"start_ns": start, "duration_ns": length, "device_id": device} for start, length, device in collectives
        ],
    )


@given(spans, spans)
def test_overlap_equals_counting_points(
    kernels: list[tuple[int, int, int]], collectives: list[tuple[int, int, int]]
) -> None:
    result = overlap(random_profile(kernels, collectives))
    for device in (0, 1):
        busy = {p for start, length, on in kernels if on == device for p in range(start, start + length)}
        talk = {p for start, length, on in collectives if on == device for p in range(start, start + length)}
        bounds = [
            b for start, length, on in kernels + collectives if on == device and length for b in (start, start + length)
        ]
        whole = set(range(min(bounds), max(bounds))) if bounds else set()
        expected = dict(zip(OVERLAP_KINDS, (busy, talk, talk - busy, whole - busy - talk), strict=True))
        for kind, points in expected.items():
            rows = result.filter((pl.col("device_id") == device) & (pl.col("kind") == kind))
            assert {p for start, end in rows.select("start_ns", "end_ns").rows() for p in range(start, end)} == points
            assert rows.filter(pl.col("start_ns") >= pl.col("end_ns")).is_empty()


@given(spans, spans)
def test_step_trace_without_steps_covers_everything(
    kernels: list[tuple[int, int, int]], collectives: list[tuple[int, int, int]]
) -> None:
    profile = random_profile(kernels, collectives)
    overlaps = overlap(profile)
    for row in step_trace(profile, pl.DataFrame(schema=STEP_RANGES), overlaps).rows(named=True):
        own = overlaps.filter(pl.col("device_id") == row["device_id"])
        whole = own["end_ns"].max() - own["start_ns"].min()
        parts = row["computing_us"] + row["communication_not_overlapped_us"] + row["free_us"]
        assert parts == pytest.approx(whole / 1000)
        assert row["communication_us"] == pytest.approx(row["communication_not_overlapped_us"] + row["overlapped_us"])
        assert row["stage_us"] == pytest.approx(whole / 1000)


@given(spans, st.lists(st.integers(0, 110), min_size=2, max_size=4, unique=True))
def test_steps_divide_computing(kernels: list[tuple[int, int, int]], cuts: list[int]) -> None:
    profile = random_profile(kernels, [])
    overlaps, edges = overlap(profile), sorted(cuts)
    ranges = pl.DataFrame(
        [(i, i, 0, 0, 1, start, end) for i, (start, end) in enumerate(itertools.pairwise(edges))],
        schema=STEP_RANGES,
        orient="row",
    )
    trace = step_trace(profile, ranges, overlaps)
    inside = overlaps.filter((pl.col("start_ns") >= edges[0]) & (pl.col("start_ns") < edges[-1]))
    for kind, column in (("Computing", "computing_us"), ("Free", "free_us")):
        rows = inside.filter(pl.col("kind") == kind)
        assert trace[column].sum() == pytest.approx((rows["end_ns"] - rows["start_ns"]).sum() / 1000)
    for row in trace.rows(named=True):
        assert row["computing_us"] + row["free_us"] == pytest.approx(row["stage_us"])


@given(spans)
def test_statistics_and_steps_conserve_kernel_time(kernels: list[tuple[int, int, int]]) -> None:
    profile = random_profile(kernels, [])
    statistic = op_statistic(profile)
    for device in (0, 1):
        own = statistic.filter(pl.col("device_id") == device)
        total = sum(length for _, length, on in kernels if on == device)
        # What has no length has no known time and no share.
        assert own["count"].sum() == sum(on == device and length > 0 for _, length, on in kernels)
        assert own["total_us"].sum() == pytest.approx(total / 1000)
        assert own["ratio_pct"].sum() == pytest.approx(100 if total else 0)
        assert own["total_us"].is_sorted(descending=True)
        assert (own["min_us"] <= own["avg_us"] + 1e-9).all()
        assert (own["avg_us"] <= own["max_us"] + 1e-9).all()
    ranges = pl.DataFrame([(0, 0, 0, 0, 1, 0, 41), (1, 0, 0, 0, 1, 41, 200)], schema=STEP_RANGES, orient="row")
    stepped = profile.kernels.with_columns(steps_at(profile.kernels["start_ns"], ranges))
    assert stepped.group_by("step_id").agg(pl.col("duration_ns").sum())["duration_ns"].sum() == sum(
        length for _, length, _ in kernels
    )
    assert stepped["step_id"].null_count() == 0
