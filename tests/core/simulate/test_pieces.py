"""Cutting what overlaps into pieces, against counting nanoseconds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drynpu.simulate._pieces import cut_pieces


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
