"""Cutting what overlaps into pieces, against counting nanoseconds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drynpu.simulate._pieces import cut_pieces
from drynpu.simulate._warp import Warp


@st.composite
def items(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Rows (start, end, begin) in order of begin."""
    rows = []
    for _ in range(draw(st.integers(0, 8))):
        start, begin, end = sorted(draw(st.integers(0, 20)) for _ in range(3))
        rows.append((start, end, draw(st.sampled_from([start, begin]))))
    return sorted(rows, key=lambda row: row[2])


@given(items())
def test_pieces(rows: list[tuple[int, int, int]]) -> None:
    start, end, begin = np.array(rows, np.int64).reshape(-1, 3).T
    cut = cut_pieces(start, end, begin)
    assert cut.item[cut.item >= 0].tolist() == list(range(len(rows))), "every item has one piece, in order"
    assert (cut.begin_ns <= cut.end_ns).all()
    assert (cut.end_ns[:-1] <= cut.begin_ns[1:]).all()
    busy = {ns for a, b, _ in rows for ns in range(a, b)}
    assert {ns for a, b in zip(cut.begin_ns, cut.end_ns, strict=True) for ns in range(a, b)} == busy
    for a, b, item in zip(cut.begin_ns.tolist(), cut.end_ns.tolist(), cut.item.tolist(), strict=True):
        if item >= 0:
            following = rows[item + 1][2] if item + 1 < len(rows) else 10**9
            assert (a, b) == (rows[item][2], min(rows[item][1], following))
        else:
            assert a < b
            assert not any(a < row[2] < b for row in rows)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 10**6)), max_size=6))
def test_a_warp_keeps_order_and_takes_stretches_to_their_counterparts(rows: list[tuple[int, int, int]]) -> None:
    gaps, widths, costs = np.array(rows, np.int64).reshape(-1, 3).T
    base = 1_736_408_883_000_000_000
    end = base + np.cumsum(gaps + widths)
    target = base + np.cumsum(gaps + costs)
    warp = Warp.of_stretches(end - widths, end, target - costs, target)
    times = base + np.arange(-2, 130)
    after, before = warp(times), warp.ends(times)
    assert (np.diff(after) >= 0).all()
    assert (np.diff(before) >= 0).all()
    assert (before <= after).all()
    outside = ~((end - widths <= times[:, None]) & (times[:, None] <= end)).any(axis=1)
    assert (before == after)[outside].all()
    for a, b, x, y in zip(end - widths, end, target - costs, target, strict=True):
        # At a jump: whatever begins there comes after it, whatever ends there before it.
        assert warp.ends(np.array([a]))[0] <= x <= warp(np.array([a]))[0]
        assert warp.ends(np.array([b]))[0] <= y <= warp(np.array([b]))[0]
    distances = np.diff(after)[outside[1:] & outside[:-1]]
    assert (distances == 1).all()
