"""Interval algebra against models that look at every point or every pair."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drynpu.tables import intervals

bounds = st.integers(-20, 20)
raw_sets = st.lists(st.tuples(bounds, bounds), max_size=12)


def as_set(pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.array(pairs, np.int64).reshape(-1, 2)


def points(pairs: np.ndarray) -> set[int]:
    return {p for start, end in pairs.tolist() for p in range(start, end)}


def is_canonical(pairs: np.ndarray) -> bool:
    flat = pairs.reshape(-1)
    return bool((np.diff(flat) > 0).all())


@given(raw_sets, raw_sets)
def test_algebra_equals_sets_of_points(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    a, b = as_set(first), as_set(second)
    for result, expected in (
        (intervals.union(a, b), points(a) | points(b)),
        (intervals.subtract(a, b), points(a) - points(b)),
        (intervals.intersect(a, b), points(a) & points(b)),
    ):
        assert is_canonical(result)
        assert result.dtype == np.int64
        assert points(result) == expected
        assert intervals.total(result) == len(expected)


def test_union_of_nothing() -> None:
    assert intervals.union().shape == (0, 2)
    assert intervals.union(np.empty((0, 2), np.int64)).shape == (0, 2)


@given(
    st.lists(st.integers(0, 9), max_size=70), st.lists(st.tuples(st.integers(0, 70), st.integers(0, 10)), max_size=30)
)
def test_last_reaching_equals_scan(values: list[int], queries: list[tuple[int, int]]) -> None:
    asked = [(min(before, len(values)), threshold) for before, threshold in queries]
    expected = [max((j for j in range(b) if values[j] >= t), default=-1) for b, t in asked]
    pairs = as_set(asked)
    assert intervals.last_reaching(np.array(values, np.int64), pairs[:, 0], pairs[:, 1]).tolist() == expected


@given(raw_sets)
def test_one_interval_less_others_equals_points(others: list[tuple[int, int]]) -> None:
    whole, rest = as_set([(-7, 9)]), as_set(others)
    left = intervals.subtract(whole, rest)
    assert is_canonical(left)
    assert points(left) == points(whole) - points(rest)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 15)), max_size=40))
def test_roots_are_where_the_chains_of_parents_end(spans: list[tuple[int, int]]) -> None:
    rows = as_set(sorted((start, start + length) for start, length in spans))
    parent = intervals.parents(rows[:, 0], rows[:, 1])
    expected = []
    for row in range(len(rows)):
        while parent[row] >= 0:
            row = int(parent[row])
        expected.append(row)
    assert intervals.roots(rows[:, 0], rows[:, 1]).tolist() == expected


spans = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 15), st.integers(0, 2)), max_size=25)


@given(spans)
def test_parents_equal_the_stack_of_the_vendor(rows: list[tuple[int, int, int]]) -> None:
    ordered = sorted((start, -(start + length)) for start, length, _ in rows)
    starts, ends = [s for s, _ in ordered], [-e for _, e in ordered]
    expected: list[int] = []
    for row, start in enumerate(starts):
        candidate = row - 1
        while candidate >= 0 and ends[candidate] < start:
            candidate = expected[candidate]
        expected.append(candidate)
    assert intervals.parents(np.array(starts, np.int64), np.array(ends, np.int64)).tolist() == expected


@given(spans, st.lists(st.tuples(st.integers(-2, 50), st.integers(0, 3)), max_size=20), st.sampled_from([0, 2**61]))
def test_innermost_equals_scan(rows: list[tuple[int, int, int]], queries: list[tuple[int, int]], far_away: int) -> None:
    # One interval far away in time makes the composite keys too wide, so that ranks have to take over.
    intervals_of = [(s, s + length, g) for s, length, g in rows] + ([(far_away, far_away, 9)] if far_away else [])
    table = np.array(intervals_of, np.int64).reshape(-1, 3)
    asked = as_set(queries)
    found = intervals.innermost(table[:, 0], table[:, 1], table[:, 2], asked[:, 0], asked[:, 1])
    for (time, group), row in zip(queries, found.tolist(), strict=True):
        covering = [r for r in intervals_of if r[2] == group and r[0] <= time <= r[1]]
        if not covering:
            assert row == -1
        else:
            start, end, of = intervals_of[row]
            assert (start, -end) == max((s, -e) for s, e, _ in covering)
            assert of == group
