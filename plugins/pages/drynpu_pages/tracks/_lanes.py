"""Lanes: events of a track by their depth of nesting, so that none overlaps another on its lane."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen

from drynpu.arrays import I32, I64, Integers
from drynpu.tables import intervals


@frozen(eq=False)
class Lane:
    """
    Events that do not overlap, in order of start and therefore of end.

    Attributes
    ----------
    start_ns, end_ns:
        int64 ``[n]``; an instant ends where it starts.
    code:
        int32 ``[n]``: which of the track's names.
    row:
        int32 ``[n]``: place in the table that the event comes from.
    busy_ns:
        int64 ``[n + 1]``: sum of the durations of the events before each, and of all.
    """

    start_ns: I64 = field(repr=False)
    end_ns: I64 = field(repr=False)
    code: I32 = field(repr=False)
    row: I32 = field(repr=False)
    busy_ns: I64 = field(repr=False)

    def __len__(self) -> int:
        return len(self.start_ns)

    def within(self, start_ns: int, end_ns: int) -> tuple[int, int]:
        """Return the first event that lies in a window or reaches into it, and the one after the last."""
        first = int(np.searchsorted(self.start_ns, start_ns, side="left"))
        if first and self.end_ns[first - 1] > start_ns:
            first -= 1
        return first, max(first, int(np.searchsorted(self.start_ns, end_ns, side="left")))


def nest(start_ns: I64, end_ns: I64, code: I32, row: I32) -> tuple[Lane, ...]:
    """
    Return events as lanes, outermost first.

    An event lies one lane below the last one that is still open when it starts. Events that begin together nest the
    shorter into the longer. Those that overlap without one holding the other lie below each other, too.

    Parameters
    ----------
    start_ns, end_ns, code, row:
        Shape ``[n]``, in any order.
    """
    order = _order(start_ns, end_ns)
    if order is not None:
        start_ns, end_ns, code, row = start_ns[order], end_ns[order], code[order], row[order]
    if _apart(start_ns, end_ns):
        return (_lane(start_ns, end_ns, code, row),) if len(start_ns) else ()
    # An instant takes up room, so that it lies in what is open there.
    depth = _depths(start_ns, np.maximum(end_ns, start_ns + 1))
    by_depth = np.argsort(depth, kind="stable")
    parts = np.split(by_depth, np.flatnonzero(np.diff(depth[by_depth])) + 1)
    return tuple(_lane(start_ns[part], end_ns[part], code[part], row[part]) for part in parts)


def _lane(start_ns: I64, end_ns: I64, code: I32, row: I32) -> Lane:
    busy = np.zeros(len(start_ns) + 1, np.int64)
    np.cumsum(end_ns - start_ns, out=busy[1:])
    return Lane(start_ns, end_ns, code, row, busy)


def _order(start_ns: I64, end_ns: I64) -> I64 | None:
    """Return the order by start, the longer first; ``None`` if it is the one that there is."""
    later = np.diff(start_ns)
    if np.all((later > 0) | ((later == 0) & (np.diff(end_ns) <= 0))):
        return None
    order: I64 = np.lexsort((-end_ns, start_ns))
    return order


def _apart(start_ns: I64, end_ns: I64) -> bool:
    return bool(np.all(start_ns[1:] >= np.maximum(end_ns[:-1], start_ns[:-1] + 1)))


def _depths(start_ns: I64, end_ns: I64) -> Integers:
    """Return the depth of each event: where all nest properly, how many others are open at its start."""
    closed = np.searchsorted(np.sort(end_ns), start_ns, side="right")
    depth = _narrow(np.arange(len(start_ns)) - closed)
    order = np.argsort(depth, kind="stable")
    touches = (start_ns[order][1:] < end_ns[order][:-1]) & (np.diff(depth[order]) == 0)
    return _narrow(_depths_of_overlapping(start_ns, end_ns)) if touches.any() else depth


def _narrow(depth: I64) -> Integers:
    """Return depths in two bytes, which sort far faster, unless they need more."""
    return depth.astype(np.int16) if depth.max(initial=0) < 2**15 else depth


def _depths_of_overlapping(start_ns: I64, end_ns: I64) -> I64:
    # The end itself is no longer part of an event.
    jump = intervals.parents(start_ns, end_ns - 1)
    depth = (jump >= 0).astype(np.int64)
    # From each event to its parent, to the parent's parent, and so on: twice as far at every turn.
    while (jump >= 0).any():
        inner = np.flatnonzero(jump >= 0)
        outer = jump[inner]
        depth[inner] += depth[outer]
        jump[inner] = jump[outer]
    return depth
