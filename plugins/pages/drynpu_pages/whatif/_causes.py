"""What each entry of the work waited for when it was recorded, and how long after that it began."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen

from drynpu.arrays import I64, Bools
from drynpu_pages.critical import UNKNOWN, Graph, Host, Kind, Work, latest_before


@frozen(eq=False)
class Causes:
    """
    Why work began, and a wait ended, when it did; arrays of shape ``[n]``, times in ns, -1 for no entry.

    Attributes
    ----------
    ahead:
        Entries that ended last before each on its lanes; one column for each lane that an entry stands on at most,
        ``[n, lanes]``.
    gap, launch:
        How long after what was ahead, and after it was on its stream, an entry begins at the earliest.
    other, other_gap:
        Work of another stream that it begins after, and how long after that.
    held, held_gap:
        Work of another stream that a wait ends after, and how long after that.
    waited:
        Which waits did so in the recording, and lasted as long as what they waited for.
    """

    ahead: I64 = field(repr=False)
    gap: I64 = field(repr=False)
    launch: I64 = field(repr=False)
    other: I64 = field(repr=False)
    other_gap: I64 = field(repr=False)
    held: I64 = field(repr=False)
    held_gap: I64 = field(repr=False)
    waited: Bools = field(repr=False)


def causes_of(work: Work, host: Host, graph: Graph) -> Causes:
    """
    Return the causes of all work.

    Every one of them held in the recording, so that work begins there when the last of them lets it. What began later
    than all that is known of begins so much later again. Where another cause held an entry, how soon it would have
    begun after this one is not known: as soon as half of those that this one held.
    """
    count = len(work.start)
    waited, before = graph.waited[:count], graph.before[:count]
    by_stream = (waited == Kind.STREAMS) & (before >= 0)
    ahead = _ahead(work)
    ends = np.where(ahead >= 0, work.end[np.maximum(ahead, 0)], UNKNOWN).max(axis=1, initial=UNKNOWN)
    is_held = by_stream & work.is_wait & (graph.begin[:count] == work.end)
    late = host.submitted > ends
    by_launch = ((waited == Kind.LAUNCH) | (is_held & late)) & (host.submitted > UNKNOWN)
    gap = _usual(work.start - ends, ((waited == Kind.GAP) | (is_held & ~late)) & (ends > UNKNOWN))
    launch = _usual(work.start - host.submitted, by_launch)
    held = np.where(is_held, before, -1)
    held = np.where(~is_held & work.is_wait, _submitted_before(work, host, work.end), held)
    other = np.where(by_stream & ~is_held, before, -1)
    collective = work.rows["is_collective"].to_numpy()
    issued = _submitted_before(work, host, work.start)
    other = np.where((other < 0) & collective, issued, other)
    other = _with_blocking(work, host, other, np.where(collective, issued, -1))
    return Causes(
        ahead=ahead,
        gap=gap,
        launch=launch,
        other=other,
        other_gap=_after(work.start, other, work.end, is_cause=by_stream),
        held=held,
        held_gap=_after(work.end, held, work.end, is_cause=is_held),
        waited=is_held,
    )


def _usual(length: I64, is_cause: Bools) -> I64:
    """Return *length* where a cause held, else the usual one of those, and no more than *length*."""
    usual = int(np.median(length[is_cause])) if is_cause.any() else 0
    return np.where(is_cause, length, np.minimum(length, usual))


def _after(at: I64, cause: I64, ends: I64, *, is_cause: Bools) -> I64:
    """Return how long after a cause ended something happened; nothing where it had ended before."""
    return np.where(is_cause & (cause >= 0), at - ends[np.maximum(cause, 0)], 0).astype(np.int64)


def _ahead(work: Work) -> I64:
    """Return the entries ahead of each on its lanes, ``[n, lanes]``."""
    items, lanes = work.lane_items, work.lanes
    place = latest_before(lanes, work.end[items], lanes, work.start[items])
    ahead = np.where(place >= 0, items[np.maximum(place, 0)], -1) if len(items) else items
    order = np.argsort(items, kind="stable")
    ordered = items[order]
    column = np.arange(len(ordered)) - np.searchsorted(ordered, ordered, side="left")
    result = np.full((len(work.start), int(column.max(initial=0)) + 1), -1, np.int64)
    result[ordered, column] = ahead[order]
    return result


def _with_blocking(work: Work, host: Host, other: I64, issued: I64) -> I64:
    """
    Return *other* where work behind blocking collectives waits for them, also where the host was late there.

    No record says which collectives block the stream that they were issued on. Collectives of one stream do where work
    that was submitted next was there before they ended, and never ran meanwhile. *issued* is the work that each
    collective was put behind, ``[n]``, -1 for none.
    """
    lane_of = np.full(len(work.start) + 1, -1, np.int64)
    lane_of[work.lane_items] = work.lanes
    asks = np.flatnonzero(issued >= 0)
    follower = np.full(len(asks), -1, np.int64)
    for lane in np.unique(lane_of[issued[asks]]).tolist():
        mine = work.lane_items[work.lanes == lane]
        mine = mine[~work.is_wait[mine] & (host.submitted[mine] > UNKNOWN)]
        mine = mine[np.argsort(host.submitted[mine], kind="stable")]
        rows = np.flatnonzero(lane_of[issued[asks]] == lane)
        place = np.searchsorted(host.submitted[mine], host.submitted[asks[rows]], side="right")
        follower[rows] = np.append(mine, -1)[place]
    asks, follower = asks[follower >= 0], follower[follower >= 0]
    ready = host.submitted[follower] < work.end[asks]
    overlaps = work.start[follower] < work.end[asks]
    result = other.copy()
    for lane in np.unique(lane_of[asks]).tolist():
        rows = lane_of[asks] == lane
        if ready[rows].any() and not overlaps[rows].any():
            free = rows & (other[follower] < 0) & (asks < follower)
            result[follower[free]] = asks[free]
    return result


def _submitted_before(work: Work, host: Host, until: I64) -> I64:
    """
    Return the work of another lane that was submitted last before each entry, -1 where it had not ended by *until*.

    That is what an event or a collective waits for that was put behind it.
    """
    asks = np.flatnonzero((work.is_wait | work.rows["is_collective"].to_numpy()) & (host.submitted > UNKNOWN))
    best = np.full(len(work.start), -1, np.int64)
    if not len(asks):
        return best
    latest = np.full(len(asks), UNKNOWN, np.int64)
    works = ~work.is_wait & (host.submitted > UNKNOWN)
    for lane in np.unique(work.lanes).tolist():
        mine = work.lane_items[work.lanes == lane]
        on_lane = np.isin(asks, mine)
        mine = mine[works[mine]]
        mine = mine[np.argsort(host.submitted[mine], kind="stable")]
        place = np.searchsorted(host.submitted[mine], host.submitted[asks], side="left") - 1
        there = (place >= 0) & ~on_lane
        item = mine[np.maximum(place, 0)] if len(mine) else np.zeros(len(asks), np.int64)
        later = there & (host.submitted[item] > latest)
        latest = np.where(later, host.submitted[item], latest)
        best[asks[later]] = item[later]
    ended = (best >= 0) & (work.end[np.maximum(best, 0)] <= until) & (best < np.arange(len(best)))
    return np.where(ended, best, -1)
