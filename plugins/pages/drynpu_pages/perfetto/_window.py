"""How much of a run is shown at once: a viewer in a browser holds some hundred thousand events."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from attrs import frozen

from drynpu_pages.tracks import TimelineIndex, TrackKind

MOST_EVENTS = 300_000


@frozen
class Window:
    """
    A stretch of time over some ranks.

    Attributes
    ----------
    start_ns, end_ns:
        Unix time.
    events:
        Events that lie in it or reach into it.
    whole:
        Whether that is all there is.
    """

    start_ns: int
    end_ns: int
    events: int
    whole: bool


def window_of(
    indexes: Sequence[TimelineIndex], around: tuple[int, int] | None = None, *, most: int = MOST_EVENTS
) -> Window:
    """
    Return the longest window around a stretch of time (default: from the beginning) with at most *most* events.

    Where the stretch itself has more, the window is its beginning.
    """
    start = min((index.start_ns for index in indexes if index.events), default=0)
    end = max((index.end_ns for index in indexes if index.events), default=0) + 1
    total = sum(index.events for index in indexes)
    if total <= most:
        return Window(start, end, total, whole=True)
    first, last = around or (start, start + 1)
    first, last = max(start, min(first, end - 1)), min(end, max(last, first + 1))
    if _events(indexes, first, last) > most:
        length = _longest(lambda length: _events(indexes, first, first + length), last - first, most)
        return Window(first, first + length, _events(indexes, first, first + length), whole=False)

    def widened(share: int) -> tuple[int, int]:
        return max(start, first - share), min(end, last + share)

    share = _longest(lambda share: _events(indexes, *widened(share)), end - start, most)
    window = widened(share)
    return Window(*window, _events(indexes, *window), whole=False)


def _longest(events: Callable[[int], int], most_ns: int, most: int) -> int:
    """Return the largest number up to *most_ns* with at most *most* events, by halving; at least 1."""
    low, high = 1, max(1, most_ns)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if events(middle) <= most else (low, middle - 1)
    return low


def _events(indexes: Sequence[TimelineIndex], start_ns: int, end_ns: int) -> int:
    bounds = (lane.within(start_ns, end_ns) for index in indexes for track in index.tracks for lane in track.lanes)
    return sum(last - first for first, last in bounds)


def busy_shares(index: TimelineIndex, start_ns: int, end_ns: int, *, bins: int) -> list[float]:
    """Return how busy the first device is in equal stretches of time, 0 to 1; the first track where there is none."""
    overlap = [track for track in index.tracks if track.kind is TrackKind.OVERLAP]
    lane = (overlap or index.tracks)[0].lanes[0]
    edges = np.linspace(start_ns, end_ns, bins + 1).astype(np.int64)
    nth = np.maximum(np.searchsorted(lane.start_ns, edges, side="right") - 1, 0)
    inside = np.clip(edges - lane.start_ns[nth], 0, lane.end_ns[nth] - lane.start_ns[nth])
    shares: list[float] = (np.diff(lane.busy_ns[nth] + inside) / np.maximum(np.diff(edges), 1)).round(3).tolist()
    return shares
