"""Events nest into lanes on which nothing overlaps, and none is lost."""

from __future__ import annotations

import numpy as np
import pytest

from drynpu_pages.tracks import Lane
from drynpu_pages.tracks._lanes import nest


def lanes(*events: tuple[int, int]) -> tuple[Lane, ...]:
    start, end = np.array(events, np.int64).reshape(-1, 2).T
    return nest(start, end, np.zeros(len(events), np.int32), np.arange(len(events), dtype=np.int32))


def rows(*events: tuple[int, int]) -> list[list[int]]:
    return [lane.row.tolist() for lane in lanes(*events)]


def test_events_that_follow_each_other_share_a_lane() -> None:
    assert rows((0, 5), (5, 9), (12, 13)) == [[0, 1, 2]]
    assert rows((12, 13), (0, 5), (5, 9)) == [[1, 2, 0]]


def test_events_lie_below_what_is_open() -> None:
    assert rows((0, 100), (10, 40), (15, 20), (50, 60), (200, 201)) == [[0, 4], [1, 3], [2]]


def test_the_longer_of_two_that_begin_together_lies_outside() -> None:
    assert rows((3, 4), (3, 9)) == [[1], [0]]


def test_events_that_overlap_without_nesting_lie_below_each_other() -> None:
    assert rows((0, 10), (5, 20), (12, 15), (18, 30)) == [[0], [1], [2, 3]]


def test_instants_lie_in_what_is_open() -> None:
    assert rows((0, 10), (4, 4), (10, 10)) == [[0, 2], [1]]


def test_no_event_has_no_lane() -> None:
    assert lanes() == ()


@pytest.mark.parametrize("seed", range(12))
def test_lanes_hold_every_event_once_and_nothing_overlaps(seed: int) -> None:
    random = np.random.default_rng(seed)
    start = random.integers(0, 900, 300)
    end = start + random.integers(0, 1 + 40 * seed, 300)
    found = nest(start, end, np.arange(300, dtype=np.int32), np.arange(300, dtype=np.int32))
    assert sorted(row for lane in found for row in lane.row.tolist()) == list(range(300))
    for lane in found:
        assert (lane.start_ns[1:] >= lane.end_ns[:-1]).all()
        assert (lane.end_ns == end[lane.row]).all()
        assert lane.busy_ns[-1] == (lane.end_ns - lane.start_ns).sum()
    # Each event is deeper than any that is open when it starts: it lies right below the deepest of them.
    depth = np.empty(300, np.int64)
    for level, lane in enumerate(found):
        depth[lane.row] = level
    for row in range(300):
        around = (start < start[row]) & (end > start[row])
        assert depth[row] >= depth[around].max(initial=-1) + 1


def test_a_window_holds_what_reaches_into_it() -> None:
    (lane,) = lanes((0, 10), (10, 20), (25, 25), (30, 40))
    assert lane.within(5, 10) == (0, 1)
    assert lane.within(10, 26) == (1, 3)
    assert lane.within(20, 25) == (2, 2)
    assert lane.within(25, 30) == (2, 3)
    assert lane.within(50, 60) == (4, 4)


def test_events_that_overlap_lie_on_two_lanes_also_behind_ones_that_meet() -> None:
    """The first two touch and do not overlap, so that nothing is there to nest otherwise."""
    assert rows((0, 10), (10, 20), (30, 40), (35, 45)) == [[0, 1, 2], [3]]
