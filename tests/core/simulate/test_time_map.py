"""Maps of measured host times to the timeline of a recording."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drynpu.simulate._time_map import TimeMap

I64 = np.int64


def test_a_stretch_is_scaled_and_what_lies_around_it_is_moved() -> None:
    """[100, 200] becomes [100, 140], [300, 310] becomes [240, 250]; whole nanoseconds, rounded down."""
    time_map = TimeMap.from_stretches(
        *(np.array(edges, I64) for edges in ([100, 300], [200, 310], [100, 240], [140, 250]))
    )
    measured = np.array([90, 100, 101, 103, 150, 200, 250, 300, 305, 310, 330], I64)
    assert time_map(measured).tolist() == [90, 100, 100, 101, 120, 140, 190, 240, 245, 250, 270]


def test_a_stretch_that_took_no_time_is_a_jump() -> None:
    """What begins at 100 comes after the jump of 30, what ends there before it."""
    time_map = TimeMap.from_stretches(*(np.array([edge], I64) for edge in (100, 100, 100, 130)))
    assert time_map(np.array([99, 100, 101], I64)).tolist() == [99, 130, 131]
    assert time_map.ends(np.array([99, 100, 101], I64)).tolist() == [99, 100, 131]


def test_without_stretches_times_stay() -> None:
    time_map = TimeMap.from_stretches(*(np.empty(0, I64) for _ in range(4)))
    assert time_map(np.array([7, -3], I64)).tolist() == time_map.ends(np.array([7, -3], I64)).tolist() == [7, -3]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 10**6)), max_size=6))
def test_a_time_map_keeps_order_and_takes_stretches_to_their_counterparts(rows: list[tuple[int, int, int]]) -> None:
    gaps, widths, costs = np.array(rows, np.int64).reshape(-1, 3).T
    base = 1_736_408_883_000_000_000
    end = base + np.cumsum(gaps + widths)
    target = base + np.cumsum(gaps + costs)
    time_map = TimeMap.from_stretches(end - widths, end, target - costs, target)
    times = base + np.arange(-2, 130)
    after, before = time_map(times), time_map.ends(times)
    assert (np.diff(after) >= 0).all()
    assert (np.diff(before) >= 0).all()
    assert (before <= after).all()
    outside = ~((end - widths <= times[:, None]) & (times[:, None] <= end)).any(axis=1)
    assert (before == after)[outside].all()
    for a, b, x, y in zip(end - widths, end, target - costs, target, strict=True):
        # At a jump: whatever begins there comes after it, whatever ends there before it.
        assert time_map.ends(np.array([a]))[0] <= x <= time_map(np.array([a]))[0]
        assert time_map.ends(np.array([b]))[0] <= y <= time_map(np.array([b]))[0]
    distances = np.diff(after)[outside[1:] & outside[:-1]]
    assert (distances == 1).all()
