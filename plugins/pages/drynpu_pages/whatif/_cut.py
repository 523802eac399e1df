"""The steps of a long run that are simulated again, with their work and their host alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from attrs import evolve, frozen

from drynpu.arrays import I64
from drynpu_pages.critical import UNKNOWN, Host, Queue, Window, Work

MOST_ENTRIES = 40_000
"""Entries of the work that are simulated again at most, so that a page is there in a second or two."""


@frozen(eq=False)
class Cut:
    """Some steps of a run, and of how many they are."""

    work: Work
    windows: Sequence[Window]
    steps: int
    whole: bool
    """Whether the first of the steps is there from its begin on."""

    @property
    def all_steps(self) -> bool:
        """Whether nothing of the run is left out."""
        return self.whole and len(self.windows) == self.steps


def cut_steps(work: Work, windows: Sequence[Window], step: str) -> Cut:
    """Return a step of a run; without a name the last ones that have `MOST_ENTRIES` entries of the work at most."""
    ends = work.end
    before = np.searchsorted(ends, [window.begin for window in windows], side="right")
    until = np.searchsorted(ends, [window.end for window in windows], side="right")
    named = [place for place, window in enumerate(windows) if window.step == step]
    if named:
        first, last = named[0], named[0]
    else:
        last = len(windows) - 1
        fits = np.flatnonzero(until[last] - before <= MOST_ENTRIES)
        first = int(fits[0]) if len(fits) else last
    begin, end = int(before[first]), int(until[last])
    chosen = list(windows[first : last + 1])
    whole = end - begin <= MOST_ENTRIES
    if not whole:
        begin = end - MOST_ENTRIES
        chosen[0] = evolve(chosen[0], begin=int(ends[begin - 1]))
    return Cut(_work_between(work, begin, end), chosen, len(windows), whole)


def _work_between(work: Work, begin: int, end: int) -> Work:
    """Return the entries of two places and between, numbered anew."""
    rows = work.rows[begin:end].with_columns((pl.col("item") - begin).alias("item"))
    there = (work.lane_items >= begin) & (work.lane_items < end)
    return Work(rows, work.lane_items[there] - begin, work.lanes[there])


def host_between(host: Host, begin: int, end: int) -> Host:
    """
    Return the host's side of the entries of a `Cut`, whose steps begin and end at these times, ns.

    Entries of the queue and calls that were over before the first of these entries was on its stream, and before the
    steps, say nothing of them; nor does what came after the steps.
    """
    known = host.submitted[host.submitted > UNKNOWN]
    first = min(begin, int(known.min())) if len(known) else begin
    queue = host.queue
    used = np.zeros(len(queue.start) + 1, bool)
    used[host.entry] = True
    kept = used[:-1] | ((queue.end > first) & (queue.start <= end))
    place: I64 = np.append(np.cumsum(kept) - 1, -1).astype(np.int64)
    waits = (host.waits[:, 1] > first) & (host.waits[:, 0] <= end)
    return Host(
        host.submitted,
        place[host.entry],
        Queue(queue.start[kept], queue.end[kept], queue.tid[kept], queue.put[kept]),
        host.waits[waits],
        host.is_for_all[waits],
    )
