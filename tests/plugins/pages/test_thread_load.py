"""Busy time of threads: what runs inside each other counts once, marks do not count."""

from __future__ import annotations

from tests.core.analysis.conftest import host_op, make_profile

from drynpu_pages.thread_load import thread_load


def test_busy_time_is_a_union() -> None:
    profile = make_profile(
        host_ops=[
            host_op("ProfilerStep#1", 50, 1000, tid=1, scope=7),
            host_op("my range", 100, 900, tid=1, scope=7),
            host_op("aten::linear", 100, 200, tid=1),
            host_op("aten::mm", 120, 180, tid=1),
            host_op("aten::add", 190, 260, tid=1),
            host_op("aten::mul", 500, 510, tid=2),
        ],
        api=[
            {"name": "launch", "tid": 2, "start_ns": 400, "end_ns": 450},
            {"name": "aclrtMemcpy", "tid": 2, "start_ns": 440, "end_ns": 700},
            {"name": "aclrtFree", "tid": 9, "start_ns": 1100, "end_ns": 1130},
        ],
    )
    assert thread_load(profile).rows() == [
        (2, 1, 10, 2, 300, 1080),
        (1, 3, 160, 0, 0, 1080),
        (9, 0, 0, 1, 30, 1080),
    ]


def test_no_host_no_threads() -> None:
    assert thread_load(make_profile()).is_empty()
