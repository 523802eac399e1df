"""Totals by operator type and by API, against numbers worked out by hand."""

from __future__ import annotations

import statistics
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.analysis import API_STATISTIC, OP_STATISTIC, api_statistic, op_statistic
from drynpu.analysis.communication import COMMUNICATION_STATISTIC, communication_statistic

from .conftest import make_profile


def test_op_statistic() -> None:
    profile = make_profile(
        kernels=[
            {"op_type": "MatMul", "task_type": "AI_CORE", "duration_ns": 1500},
            {"op_type": "Add", "task_type": "AI_VECTOR_CORE", "duration_ns": 3000},
            {"op_type": "MatMul", "task_type": "AI_CORE", "duration_ns": 2500},
            {"op_type": "MatMul", "task_type": "MIX_AIC", "duration_ns": 1000},
            {"op_type": "MatMul", "task_type": "AI_CORE", "duration_ns": 500, "device_id": 1},
        ]
    )
    result = op_statistic(profile)
    assert result.schema == OP_STATISTIC
    assert result.rows() == [
        (0, "MatMul", "AI_CORE", 2, 4.0, 1.5, 2.0, 2.5, 50.0),
        (0, "Add", "AI_VECTOR_CORE", 1, 3.0, 3.0, 3.0, 3.0, 37.5),
        (0, "MatMul", "MIX_AIC", 1, 1.0, 1.0, 1.0, 1.0, 12.5),
        (1, "MatMul", "AI_CORE", 1, 0.5, 0.5, 0.5, 0.5, 100.0),
    ]


def test_communication_statistic() -> None:
    profile = make_profile(
        communication_ops=[
            {"op_type": "hcom_send_", "duration_ns": 1000},
            {"op_type": "hcom_allReduce_", "duration_ns": 1500},
            {"op_type": "hcom_allReduce_", "duration_ns": 2500},
            {"op_type": "hcom_send_", "duration_ns": 500, "device_id": 1},
        ]
    )
    result = communication_statistic(profile)
    assert result.schema == COMMUNICATION_STATISTIC
    assert result.rows() == [
        (0, "hcom_allReduce_", 2, 4.0, 1.5, 2.0, 2.5, 80.0),
        (0, "hcom_send_", 1, 1.0, 1.0, 1.0, 1.0, 20.0),
        (1, "hcom_send_", 1, 0.5, 0.5, 0.5, 0.5, 100.0),
    ]


def test_op_statistic_is_empty_without_types() -> None:
    assert op_statistic(make_profile(kernels=[{"name": "k", "duration_ns": 5}])).is_empty()


def test_api_statistic() -> None:
    profile = make_profile(
        api=[
            {"level": "runtime", "name": "b", "start_ns": 0, "end_ns": 1000},
            {"level": "node", "name": "launch", "start_ns": 10**18, "end_ns": 10**18 + 2000},
            {"level": "node", "name": "launch", "start_ns": 5, "end_ns": 4005},
            {"level": "acl", "name": "b", "start_ns": 0, "end_ns": 500},
        ]
    )
    result = api_statistic(profile)
    assert result.schema == API_STATISTIC
    assert result.rows() == [
        ("acl", "b", 0.5, 1, 0.5, 0.5, 0.5, 0.0),
        ("runtime", "b", 1.0, 1, 1.0, 1.0, 1.0, 0.0),
        ("node", "launch", 6.0, 2, 3.0, 2.0, 4.0, 1.0),
    ]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 10_000)), min_size=1))
def test_api_statistic_equals_the_textbook(calls: list[tuple[str, int]]) -> None:
    profile = make_profile(api=[{"level": "acl", "name": n, "start_ns": 7, "end_ns": 7 + d} for n, d in calls])
    for row in api_statistic(profile).rows(named=True):
        times = [duration / 1000 for name, duration in calls if name == row["name"]]
        assert row["count"] == len(times)
        assert row["time_us"] == pytest.approx(sum(times))
        assert row["avg_us"] == pytest.approx(statistics.fmean(times))
        assert row["variance"] == pytest.approx(statistics.pvariance(times), abs=1e-6)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["node", "communication", "acl"]),
            st.sampled_from(["launch", "wait"]),
            st.sampled_from(["", "hcom_send_"]),
            st.integers(0, 3_000_000) | st.integers(2**41, 2**44),
        ),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 9),
)
def test_calls_are_summed_in_parts_of_any_size(calls: list[tuple[str, str, str, int]], part_rows: int) -> None:
    rows = [
        {"level": level, "name": name, "item": item, "start_ns": 7, "end_ns": 7 + ns} for level, name, item, ns in calls
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("drynpu.tables.stored.PART_ROWS", part_rows)
        result = {(row["level"], row["name"]): row for row in api_statistic(make_profile(api=rows)).to_dicts()}
    groups: dict[tuple[str, str], list[int]] = {}
    for level, name, item, ns in calls:
        groups.setdefault((level, item if level == "communication" and item else name), []).append(ns)
    assert set(result) == set(groups)
    for key, durations in groups.items():
        row, exact = result[key], [Fraction(ns) for ns in durations]
        assert row["count"] == len(durations)
        us = [sum(durations) / 1000, min(durations) / 1000, max(durations) / 1000]
        assert [row["time_us"], row["min_us"], row["max_us"]] == pytest.approx(us, rel=1e-15)
        assert row["variance"] == pytest.approx(float(statistics.pvariance(exact)) / 1e6, rel=1e-15)
