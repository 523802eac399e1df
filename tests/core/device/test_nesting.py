"""Nesting of intervals against a stack machine."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drynpu.device import closing_order, cut_crossings, inherit, innermost, nest


@st.composite
def nested(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """Rows (start, end, thread, parent) of properly nested intervals in start order, made by a stack machine."""
    rows: list[list[int]] = []
    for thread in range(draw(st.integers(1, 3))):
        clock, stack = draw(st.integers(0, 5)), []
        for opens in draw(st.lists(st.booleans(), max_size=12)):
            clock += draw(st.integers(1, 3))
            if opens:
                rows.append([clock, 0, thread, stack[-1] if stack else -1])
                stack.append(len(rows) - 1)
            elif stack:
                rows[stack.pop()][1] = clock
        while stack:
            clock += 1
            rows[stack.pop()][1] = clock
    order = sorted(range(len(rows)), key=lambda i: (rows[i][0], -rows[i][1]))
    place = {old: new for new, old in enumerate(order)} | {-1: -1}
    return [(*rows[old][:3], place[rows[old][3]]) for old in order]


def columns(rows: list[tuple[int, int, int, int]]) -> tuple[np.ndarray, ...]:
    return tuple(np.array([row[i] for row in rows], np.int64) for i in range(4))


@given(nested())
def test_parents_are_those_of_a_stack_machine(rows: list[tuple[int, int, int, int]]) -> None:
    start, end, thread, expected = columns(rows)
    depth, parent = nest(start, end, thread)
    assert parent.tolist() == expected.tolist()
    for row in range(len(rows)):
        above = int(parent[row])
        assert depth[row] == (0 if above < 0 else depth[above] + 1)


def test_a_child_may_share_its_parents_bounds_and_empty_intervals_are_siblings() -> None:
    start, end = np.array([0, 0, 1, 2, 5, 5]), np.array([10, 5, 2, 2, 9, 7])
    depth, parent = nest(start, end, np.zeros(6, np.int64))
    assert parent.tolist() == [-1, 0, 1, 1, 0, 4]
    assert depth.tolist() == [0, 1, 2, 2, 1, 2]


@given(nested())
def test_intervals_that_nest_keep_their_ends(rows: list[tuple[int, int, int, int]]) -> None:
    start, end, thread, _ = columns(rows)
    assert cut_crossings(start, end, thread)[0].tolist() == end.tolist()


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9), st.integers(0, 1)), max_size=14))
def test_no_end_crosses_another_interval(intervals: list[tuple[int, int, int]]) -> None:
    rows = sorted(((start, start + length, thread) for start, length, thread in intervals), key=lambda r: (r[0], -r[1]))
    start, end, thread = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    cut, depth, parent = cut_crossings(start, end, thread)
    assert ((start <= cut) & (cut <= end)).all()
    assert [each.tolist() for each in (depth, parent)] == [each.tolist() for each in nest(start, cut, thread)]
    for a in range(len(rows)):
        for b in range(a + 1, len(rows)):
            assert thread[a] != thread[b] or cut[a] <= start[b] or cut[b] <= cut[a]


def test_an_end_is_cut_at_that_of_the_innermost_interval_around_its_start() -> None:
    start, end, thread = np.array([0, 2, 4, 6, 7]), np.array([10, 7, 9, 8, 30]), np.array([0, 0, 1, 0, 0])
    assert cut_crossings(start, end, thread)[0].tolist() == [10, 7, 9, 7, 10]


@given(nested())
def test_intervals_close_in_the_order_in_which_a_stack_machine_pops_them(rows: list[tuple[int, int, int, int]]) -> None:
    start, end, thread, parent = columns(rows)
    place = closing_order(nest(start, end, thread)[0], thread)
    for value in range(3):
        popped: list[int] = []
        stack: list[int] = []
        for row in np.flatnonzero(thread == value).tolist():
            while stack and stack[-1] != parent[row]:
                popped.append(stack.pop())
            stack.append(row)
        popped += reversed(stack)
        assert place[popped].tolist() == list(range(len(popped)))


@given(nested(), st.lists(st.booleans(), min_size=40, max_size=40))
def test_inherit_climbs_to_every_ancestor(rows: list[tuple[int, int, int, int]], flags: list[bool]) -> None:
    start, end, thread, _ = columns(rows)
    depth, parent = nest(start, end, thread)
    flag = np.resize(np.array(flags), len(rows))
    inherited = inherit(depth, parent, flag)
    for row in range(len(rows)):
        above, expected = int(parent[row]), False
        while above >= 0:
            expected |= bool(flag[above])
            above = int(parent[above])
        assert inherited[row] == expected


@given(nested(), st.integers(0, 40), st.integers(0, 3))
def test_innermost_is_the_deepest_open_interval(
    rows: list[tuple[int, int, int, int]], time: int, on_thread: int
) -> None:
    start, end, thread, parent = columns(rows)
    found = innermost(np.array([time]), np.array([on_thread]), start, end, thread, parent)[0]
    open_rows = [i for i, (a, b, of, _) in enumerate(rows) if of == on_thread and a <= time <= b]
    assert found == (open_rows[-1] if open_rows else -1)
