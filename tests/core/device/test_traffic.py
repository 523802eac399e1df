"""Bytes over time: nothing is lost, nothing is invented, and the sweep agrees with counting task by task."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.device.samplers.traffic import Flow, join_flows, sample_times, whole_counts

TASKS = st.lists(
    st.tuples(st.integers(0, 10_000), st.integers(1, 5_000), st.integers(0, 10**9)), min_size=0, max_size=30
)
EDGES = st.lists(st.integers(-100, 16_000), min_size=2, max_size=20, unique=True).map(sorted)


def flow_of(tasks: list[tuple[int, int, int]]) -> Flow:
    start = np.array([task[0] for task in tasks], float)
    length = np.array([task[1] for task in tasks], float)
    return Flow(start, start + length, np.array([task[2] for task in tasks], float))


def moved_by(tasks: list[tuple[int, int, int]], time: float) -> float:
    return sum(size * min(max((time - start) / length, 0.0), 1.0) for start, length, size in tasks)


@given(TASKS, EDGES)
def test_what_moves_between_edges_is_counted_task_by_task(tasks: list[tuple[int, int, int]], edges: list[int]) -> None:
    got = flow_of(tasks).between(edges)
    want = np.diff([moved_by(tasks, edge) for edge in edges])
    assert got == pytest.approx(want, rel=1e-9, abs=1e-3)


@given(TASKS)
def test_all_of_it_is_counted_once(tasks: list[tuple[int, int, int]]) -> None:
    flow = flow_of(tasks)
    whole = flow.between([-1, 3_333, 7_777, 20_000])
    assert whole.sum() == pytest.approx(sum(task[2] for task in tasks))
    assert (whole >= 0).all()


@given(TASKS, EDGES)
def test_extremes_enclose_the_mean_and_are_reached(tasks: list[tuple[int, int, int]], edges: list[int]) -> None:
    flow = flow_of(tasks)
    least, most = flow.extremes(edges)
    mean = flow.between(edges) / np.diff(edges)
    assert (least <= mean * (1 + 1e-6) + 1e-3).all()
    assert (most >= mean * (1 - 1e-6) - 1e-3).all()
    for low, high, at, to in zip(least, most, edges[:-1], edges[1:], strict=True):
        cuts = sorted({at, to} | {int(t) for t in [*flow.start_ns, *flow.end_ns] if at < t < to})
        middles = [(one + two) / 2 for one, two in pairwise(cuts)]
        rates = [sum(size / length for s, length, size in tasks if s < middle < s + length) for middle in middles]
        assert low == pytest.approx(min(rates), rel=1e-6, abs=1e-3)
        assert high == pytest.approx(max(rates), rel=1e-6, abs=1e-3)


def test_tasks_that_move_nothing_move_nothing() -> None:
    assert Flow([0, 5], [10, 9], [0, 0]).by([-1, 7, 20]).tolist() == [0, 0, 0]


def test_nothing_is_capped_where_tasks_overlap() -> None:
    flow = Flow([0, 50], [100, 150], [1000, 2000])
    assert flow.peak() == pytest.approx(30.0)
    assert flow.between([0, 50, 100, 150]).tolist() == pytest.approx([500, 1500, 1000])


def test_no_tasks_move_nothing() -> None:
    idle = join_flows([])
    assert idle.total == 0
    assert idle.between([0, 10, 20]).tolist() == [0, 0]
    assert [part.tolist() for part in idle.extremes([0, 10, 20])] == [[0, 0], [0, 0]]
    assert idle.peak() == 0


@given(st.lists(st.floats(0, 1e12), min_size=2, max_size=30).map(sorted), st.sampled_from([1, 32, 128, 4096]))
def test_whole_counts_sum_to_the_whole_rounded_once(cumulative: list[float], unit: int) -> None:
    gained = whole_counts(cumulative, unit)
    assert gained.sum() == round(cumulative[-1] / unit) - round(cumulative[0] / unit)
    assert (gained >= 0).all()


@pytest.mark.parametrize(
    ("begin", "end", "interval", "times"),
    [(0, 10, 4, [0, 4, 8, 10]), (5, 9, 4, [5, 9]), (5, 5, 4, [5, 6]), (0, 3, 100, [0, 3])],
)
def test_the_last_reading_is_when_the_sampler_stops(begin: int, end: int, interval: int, times: list[int]) -> None:
    assert sample_times(begin, end, interval).tolist() == times
