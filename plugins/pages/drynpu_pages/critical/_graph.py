"""What waited for what: work, entries of the queue and stretches of the host, each with the one that it waited for."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from attrs import frozen

from drynpu.arrays import I64, U8, Bools
from drynpu_pages.critical._submitted import UNKNOWN, Host
from drynpu_pages.critical._work import Work, latest_before

NEAR_NS = 20_000
"""
How long after the end of work on another stream that end may still be why work begins: events between streams take some
microseconds. Ours.
"""


class Kind(IntEnum):
    """What a part of the path is."""

    WORK = 0
    COLLECTIVE = 1
    RANKS = 2
    HOST = 3
    QUEUE = 4
    LAUNCH = 5
    STREAMS = 6
    GAP = 7


@frozen(eq=False)
class Graph:
    """
    Everything that may stand on a path; arrays of shape ``[nodes]``, times in ns.

    Work comes first, then entries of the queue, then the stretch of the host before each entry, before each call that
    submits without a queue, and before each end of a step.

    Attributes
    ----------
    begin:
        When a node began by itself; before it, it waited.
    before:
        What it waited for, -1 for nothing.
    reached:
        When that was done.
    kind, waited:
        `Kind` of the node itself, and of the time between *reached* and *begin*.
    work:
        How many nodes are work.
    """

    begin: I64
    before: I64
    reached: I64
    kind: U8
    waited: U8
    work: int


def graph_of(work: Work, host: Host, ends: I64) -> Graph:
    """
    Return what waited for what.

    Parameters
    ----------
    ends:
        When steps end on the host, ns, ``[s]``; their stretches of the host are the last nodes.
    """
    ran = len(work.start)
    parts = [_of_work(work, host), _of_queue(host, ran)]
    points = np.concatenate([host.queue.put, np.maximum(host.submitted, UNKNOWN), ends])
    parts.append(_of_host(points, work, host))
    begin, before, reached, kind, waited = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Graph(begin, before, reached, kind, waited, ran)


_Columns = tuple[I64, I64, I64, U8, U8]
"""``begin before reached kind waited`` of some nodes."""


def _of_work(work: Work, host: Host) -> _Columns:
    ran, entries = len(work.start), len(host.queue.start)
    start, end, items = work.start, work.end, np.arange(len(work.start), dtype=np.int64)
    same, same_end = _same_lane(work)
    direct = ran + 2 * entries + items
    launcher = np.where(host.entry >= 0, ran + host.entry, direct)
    by_host = host.submitted > same_end
    before, reached = np.where(by_host, launcher, same), np.where(by_host, host.submitted, same_end)
    waited = np.where(by_host, np.uint8(Kind.LAUNCH), np.uint8(Kind.GAP))
    nearest = _NearestWork(work)
    other, other_end = nearest.before(items, start)
    inferred = (other >= 0) & (other_end > reached) & (start - reached > NEAR_NS) & (start - other_end <= NEAR_NS)
    # Where neither a call nor a stream leads back, what ended last on the device does.
    inferred |= (before < 0) & (other >= 0)
    kind = np.where(work.rows["is_collective"].to_numpy(), np.uint8(Kind.COLLECTIVE), np.uint8(Kind.WORK))
    begin = start.copy()
    before, reached = np.where(inferred, other, before), np.where(inferred, other_end, reached)
    waited = np.where(inferred, np.uint8(Kind.STREAMS), waited)
    waits = np.flatnonzero(work.is_wait)
    awaited, awaited_end = nearest.before(waits, end[waits])
    is_held = (awaited >= 0) & (awaited_end > start[waits])
    held = waits[is_held]
    before[held], reached[held], waited[held] = awaited[is_held], awaited_end[is_held], Kind.STREAMS
    begin[held] = end[held]
    kind[waits] = Kind.STREAMS
    return begin, before, np.where(before < 0, UNKNOWN, reached), kind, waited


def _same_lane(work: Work) -> tuple[I64, I64]:
    """Return for each entry what ended last before it on one of its lanes, and when; -1 and `UNKNOWN` for nothing."""
    ends = work.end[work.lane_items]
    place = latest_before(work.lanes, ends, work.lanes, work.start[work.lane_items])
    nearest = np.where(place >= 0, work.lane_items[np.maximum(place, 0)], -1)
    # Entries are numbered by their ends: the highest number ended last.
    last = np.full(len(work.start), -1, np.int64)
    np.maximum.at(last, work.lane_items, nearest)
    return last, np.where(last >= 0, work.end[np.maximum(last, 0)] if len(last) else last, UNKNOWN)


class _NearestWork:
    """The work of each device by its ends, waits aside."""

    def __init__(self, work: Work) -> None:
        self._device, self._end = work.rows["device_id"].to_numpy(), work.end
        works = np.flatnonzero(~work.is_wait)
        # Entries are in the order of their ends.
        self._order = works[np.argsort(self._device[works], kind="stable")]

    def before(self, items: I64, at: I64) -> tuple[I64, I64]:
        """Return for each of some entries the work of its device that ended last until a time, and when."""
        order = self._order
        if not len(order):
            return np.full(len(items), -1, np.int64), np.full(len(items), UNKNOWN, np.int64)
        place = latest_before(self._device[order], self._end[order], self._device[items], at)
        nearest = np.where(place >= 0, order[np.maximum(place, 0)], -1)
        return nearest, np.where(nearest >= 0, self._end[np.maximum(nearest, 0)], UNKNOWN)


def _of_queue(host: Host, first: int) -> _Columns:
    """Return the nodes of the queue: an entry waited for the one before it on its thread, or until it was put in."""
    queue = host.queue
    count = len(queue.start)
    items = np.arange(count, dtype=np.int64)
    follows: Bools = np.zeros(count, bool)
    follows[1:] = queue.tid[1:] == queue.tid[:-1]
    earlier = np.where(follows, np.minimum(np.roll(queue.end, 1), queue.start), UNKNOWN)
    is_busy = earlier > queue.put
    before = np.where(is_busy, first + items - 1, first + count + items)
    same = np.full(count, Kind.QUEUE, np.uint8)
    return queue.start.copy(), before, np.where(is_busy, earlier, queue.put), same, same


def _of_host(points: I64, work: Work, host: Host) -> _Columns:
    """Return stretches of the host up to *points*: each began when the last call before it that waited came back."""
    works = np.flatnonzero(~work.is_wait)
    # By their ends, as all work is.
    place = np.searchsorted(work.end[works], host.waits[:, 1], side="right") - 1
    device = np.where(place >= 0, works[np.maximum(place, 0)] if len(works) else -1, -1)
    done = np.where(device >= 0, work.end[np.maximum(device, 0)] if len(works) else device, UNKNOWN)
    real = done > host.waits[:, 0]
    back, device, done = host.waits[real, 1], device[real], done[real]
    last = np.searchsorted(back, points, side="right") - 1
    known = last >= 0
    at = np.maximum(last, 0)
    begin = np.where(known, back[at] if len(back) else UNKNOWN, UNKNOWN)
    before = np.where(known, device[at] if len(back) else -1, -1)
    reached = np.where(known, done[at] if len(back) else UNKNOWN, UNKNOWN)
    same = np.full(len(points), Kind.HOST, np.uint8)
    return begin, before, reached, same, same
