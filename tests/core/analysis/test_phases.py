"""The phases of a step on the device, worked out by hand."""

from __future__ import annotations

from drynpu.analysis import STEP_PHASES, slow_links, slow_ranks, step_phases
from drynpu.analysis._cluster_schemas import CLUSTER_LINKS, CLUSTER_STEPS
from drynpu.tables import Profile

from .conftest import host_op, make_profile, table

AUTOGRAD = "autograd::engine::evaluate_function: MmBackward0"


def training() -> Profile:
    """Two steps of forward and backward, and one that only computes; each operator launches one kernel."""
    operators = [
        host_op("ProfilerStep#4", 0, 99), host_op("aten::mm", 10, 20), host_op(AUTOGRAD, 40, 60),
        host_op("aten::mm", 45, 55), host_op("aten::add", 70, 80),
        host_op("ProfilerStep#5", 100, 199), host_op("aten::mm", 110, 120), host_op(AUTOGRAD, 140, 160),
        host_op("ProfilerStep#6", 200, 299), host_op("aten::mm", 210, 220),
    ]  # fmt: skip
    work = [(12, 1_000, 50), (47, 1_100, 70), (72, 1_200, 30), (112, 1_500, 40), (145, 1_600, 90), (212, 1_900, 25)]
    return make_profile(
        host_ops=operators,
        api=[
            {"connection_id": n, "level": "node", "start_ns": at, "end_ns": at + 1, "tid": 1}
            for n, (at, _, _) in enumerate(work)
        ],
        kernels=[
            {"connection_id": n, "stream_id": 2, "task_id": n, "start_ns": start, "duration_ns": took}
            for n, (_, start, took) in enumerate(work)
        ],
    )


def test_a_step_begins_where_the_one_before_ended_and_turns_with_the_last_kernel_of_autograd() -> None:
    found = step_phases(training())
    assert found.schema == STEP_PHASES
    assert found.drop("device_id").rows() == [
        ("4", 1_000, 1_000, 1_170, 1_230),
        ("5", 1_230, 1_500, 1_690, 1_690),
        ("6", 1_690, 1_900, None, 1_925),
    ]
    assert step_phases(make_profile()).schema == STEP_PHASES


def test_just_the_share_is_not_slow() -> None:
    """100 and 140 are 120 on average, 48 less or more are 40 %; 144 of 120 is the share itself."""
    rows = [("0", 96.0), ("1", 144.0), ("2", 120.0)]
    steps = [{"rank": rank, "step": "1", "computing_us": us - 10, "free_us": 10.0} for rank, us in rows]
    assert slow_ranks(table(CLUSTER_STEPS, steps)).is_empty()
    slower = [*steps[:1], {**steps[1], "free_us": 13.0}, *steps[2:]]
    assert slow_ranks(table(CLUSTER_STEPS, slower))["rank"].to_list() == ["1"]
    links = [(0, 1, 8.0), (1, 2, 12.0), (2, 0, 10.0)]
    known = [{"source": a, "target": b, "transport": "HCCS", "gb_s": rate} for a, b, rate in links]
    assert slow_links(table(CLUSTER_LINKS, known)).is_empty()
    known[0]["gb_s"] = 7.9
    assert slow_links(table(CLUSTER_LINKS, known)).select("source", "target").rows() == [(0, 1)]
