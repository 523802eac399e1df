"""Windows hold as much as a viewer can, around what is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from drynpu_pages.perfetto import busy_shares, window_of
from drynpu_pages.tracks import TimelineIndex, Track, TrackKind, TrackNames
from drynpu_pages.tracks._lanes import nest


def index(count: int, *, begin: int = 1_000) -> TimelineIndex:
    """Return events of 4 ns, one every 10 ns."""
    start = begin + 10 * np.arange(count, dtype=np.int64)
    lanes = nest(start, start + 4, np.zeros(count, np.int32), np.arange(count, dtype=np.int32))
    track = Track(TrackKind.OVERLAP, "Computing", "overlap", TrackNames(["Computing"], [""]), lanes, 0)
    return TimelineIndex((track,), begin, begin + 10 * count - 6)


def test_what_fits_is_whole() -> None:
    window = window_of([index(100), index(50, begin=3_000)], most=150)
    assert (window.start_ns, window.end_ns, window.events, window.whole) == (1_000, 3_495, 150, True)


@pytest.mark.parametrize("around", [None, (1_000, 1_010), (5_000, 5_500), (10_900, 10_994), (0, 10), (20_000, 30_000)])
def test_a_long_run_is_cut_around_what_is_asked_for(around: tuple[int, int] | None) -> None:
    window = window_of([index(1_000)], around, most=100)
    assert not window.whole
    assert 90 <= window.events <= 100
    first = 1_000 if around is None else min(max(around[0], 1_000), 10_993)
    assert window.start_ns <= first < window.end_ns


def test_more_than_fits_is_cut_at_its_end() -> None:
    window = window_of([index(1_000)], (2_000, 9_000), most=100)
    assert (window.start_ns, window.events) == (2_000, 100)
    assert window.end_ns < 3_010


def test_the_strip_says_how_busy_the_device_is() -> None:
    assert busy_shares(index(100), 1_000, 2_000, bins=4) == [0.4] * 4
    assert busy_shares(index(10), 1_000, 1_200, bins=2) == [0.4, 0.0]
    assert busy_shares(index(1), 1_000, 1_008, bins=4) == [1.0, 1.0, 0.0, 0.0]
