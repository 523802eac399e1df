"""
Algebra of time intervals, and which interval is open at a time. Whole arrays only.

A *set* of intervals is an int64 array of shape ``[n, 2]``: start and end, half open. :func:`union`,
:func:`subtract` and :func:`intersect` take sets in any order, overlapping or not, and return the canonical
form: sorted, disjoint, not touching, none empty.
"""

from __future__ import annotations

import numpy as np
from attrs import define, field, frozen

from drynpu.arrays import I64, Bools
from drynpu.tables.stored import distinct_numbers

_LOWEST = np.iinfo(np.int64).min
MOST_KEYS = 2**62
"""A group and a time are one number of 64 bits."""


def _boundaries(members: list[I64]) -> tuple[I64, list[I64]]:
    """Return all bounds in order, and for each set how often it covers the stretch after each bound."""
    bounds = np.unique(np.concatenate([np.asarray(m, np.int64).reshape(-1) for m in members]))
    covers = []
    for member in members:
        pairs = np.asarray(member, np.int64).reshape(-1, 2)
        pairs = pairs[pairs[:, 0] < pairs[:, 1]]
        begun, ended = (np.searchsorted(bounds, pairs[:, side]) for side in (0, 1))
        change = np.bincount(begun, minlength=len(bounds)) - np.bincount(ended, minlength=len(bounds))
        covers.append(np.cumsum(change))
    return bounds, covers


def _stretches(bounds: I64, inside: Bools) -> I64:
    """Join the stretches between bounds that are *inside* (one flag per bound, for what follows it)."""
    if not len(bounds):
        return np.empty((0, 2), np.int64)
    before = np.concatenate(([False], inside[:-1]))
    return np.stack([bounds[inside & ~before], bounds[before & ~inside]], axis=1)


def union(*members: I64) -> I64:
    """
    Return the union of the sets, int64 ``[m, 2]`` in canonical form.

    >>> union(np.array([[5, 9], [0, 2], [2, 4]])).tolist()
    [[0, 4], [5, 9]]
    """
    pairs: I64 = np.concatenate(
        [np.empty((0, 2), np.int64), *(np.asarray(m, np.int64).reshape(-1, 2) for m in members)]
    )
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    if not len(pairs):
        return pairs
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    reached = np.maximum.accumulate(pairs[:, 1])
    begins = np.flatnonzero(np.append(True, pairs[1:, 0] > reached[:-1]))
    return np.stack([pairs[begins, 0], reached[np.append(begins[1:], len(pairs)) - 1]], axis=1)


def subtract(minuend: I64, subtrahend: I64) -> I64:
    """
    Return what *minuend* covers and *subtrahend* does not, int64 ``[m, 2]`` in canonical form.

    >>> subtract(np.array([[0, 10]]), np.array([[2, 3], [8, 12]])).tolist()
    [[0, 2], [3, 8]]
    """
    if not len(minuend):
        return np.empty((0, 2), np.int64)
    if len(minuend) == 1:
        return _gaps(union(subtrahend), *np.asarray(minuend, np.int64)[0].tolist())
    bounds, (keep, drop) = _boundaries([minuend, subtrahend])
    return _stretches(bounds, (keep > 0) & (drop == 0))


def _gaps(members: I64, start: int, end: int) -> I64:
    """Return what a canonical set leaves of one interval."""
    begins = np.clip(np.append(start, members[:, 1]), start, end)
    ends = np.clip(np.append(members[:, 0], end), start, end)
    gaps: I64 = np.stack([begins, ends], axis=1)[begins < ends]
    return gaps


def intersect(first: I64, second: I64) -> I64:
    """
    Return what both sets cover, int64 ``[m, 2]`` in canonical form.

    >>> intersect(np.array([[0, 10]]), np.array([[2, 3], [8, 12]])).tolist()
    [[2, 3], [8, 10]]
    """
    bounds, (one, two) = _boundaries([first, second])
    return _stretches(bounds, (one > 0) & (two > 0))


def total(members: I64) -> int:
    """Return the sum of the lengths of a set in canonical form."""
    pairs = np.asarray(members, np.int64).reshape(-1, 2)
    return int((pairs[:, 1] - pairs[:, 0]).sum())


def last_reaching(values: I64, before: I64, threshold: I64) -> I64:
    """
    Return for each query the largest ``j < before`` with ``values[j] >= threshold``, -1 if there is none.

    Parameters
    ----------
    values:
        Shape ``[n]``.
    before, threshold:
        Shape ``[q]``; ``0 <= before <= n``.
    """
    return Maxima(np.asarray(values, np.int64)).last_reaching(before, threshold)


@define(eq=False)
class Maxima:
    """
    Values, shape ``[n]``, with a tree of their maxima as soon as somebody needs it.

    What the value just before answers is answered so; the other queries walk the tree together: the work is
    ``(n + q) log n`` whatever the data.
    """

    values: I64
    _levels: list[I64] = field(factory=list, init=False)

    def last_reaching(self, before: I64, threshold: I64) -> I64:
        """Return what the function of this name does."""
        last = np.full(len(before), -1, np.int64)
        if not len(self.values) or not len(before):
            return last
        near = self.values[np.maximum(before, 1) - 1]
        at_once = (before > 0) & (near >= threshold)
        last[at_once] = before[at_once] - 1
        rest = np.flatnonzero(~at_once & (before > 0))
        if len(rest):
            last[rest] = self._walked(before[rest], threshold[rest])
        return last

    def _tree(self) -> list[I64]:
        if not self._levels:
            self._levels.append(self.values)
            while len(self._levels[-1]) > 1:
                level = self._levels[-1]
                level = np.append(level, _LOWEST) if len(level) % 2 else level
                self._levels.append(np.maximum(level[0::2], level[1::2]))
        return self._levels

    def _walked(self, before: I64, threshold: I64) -> I64:
        """Return what `last_reaching` does, by the tree."""
        levels = self._tree()
        last, height = np.full(len(before), -1, np.int64), np.full(len(before), -1, np.int64)
        bound = np.array(before, np.int64)
        for depth, level in enumerate(levels):
            # An odd bound leaves one whole node of this level on its left; even bounds are covered further up.
            rows = np.flatnonzero((bound % 2 == 1) & (height < 0))
            rows = rows[level[bound[rows] - 1] >= threshold[rows]]
            last[rows], height[rows] = bound[rows] - 1, depth
            bound //= 2
        for depth in range(len(levels) - 2, -1, -1):
            rows = np.flatnonzero(height > depth)
            right = last[rows] * 2 + 1
            inside = right < len(levels[depth])
            reaches = np.where(inside, levels[depth][np.where(inside, right, 0)], _LOWEST) >= threshold[rows]
            last[rows] = np.where(inside & reaches, right, right - 1)
        return last


def _places(times: I64, at: I64) -> I64:
    """Return twice the place of each time among *times*, one less for what lies before that."""
    place = np.searchsorted(times, at)
    known = times[np.minimum(place, len(times) - 1)] == at
    return np.asarray(2 * place - np.where(known, 0, 1), np.int64)


def parents(starts: I64, ends: I64) -> I64:
    """
    Return the row of the interval each one is nested in, -1 for roots.

    The rule of the vendor's operator tree (torch_npu_profiler.md 5.3): in start order, a new interval becomes a
    child of the last open one; open means ``start <= end of that one``. Intervals need not nest properly.

    Parameters
    ----------
    starts, ends:
        Shape ``[n]``, sorted by start (longer first where starts are equal).
    """
    return last_reaching(ends, np.arange(len(starts), dtype=np.int64), starts)


def roots(starts: I64, ends: I64) -> I64:
    """
    Return the row of the outermost interval around each one by the rule of `parents`; a root is its own.

    A root starts after all earlier ends, so that no chain of parents leads past it: the root of an interval is the last
    one up to it.

    Parameters
    ----------
    starts, ends:
        As for `parents`.
    """
    reached = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(np.asarray(ends, np.int64))[:-1])[: len(starts)]
    rows = np.arange(len(starts), dtype=np.int64)
    outermost: I64 = np.maximum.accumulate(np.where(starts > reached, rows, 0))
    return outermost


def innermost(starts: I64, ends: I64, groups: I64, at: I64, at_groups: I64) -> I64:
    """
    Return for each time the row of the interval of the same group that opened last and is still open, or -1.

    An interval is open from its start to its end, both included.

    Parameters
    ----------
    starts, ends, groups:
        Shape ``[n]``, in any order; of intervals with equal starts the shorter counts as opened later.
    at, at_groups:
        Shape ``[q]``.
    """
    return OpenIntervals.from_bounds(starts, ends, groups).around(at, at_groups)


@frozen(eq=False)
class OpenIntervals:
    """Intervals in the order in which `innermost` looks for them, for who asks many times."""

    order: I64 | None
    """Rows in order of group and start; None where they stand so."""
    groups: I64
    """The distinct groups, in order."""
    low: int
    span: int
    start_keys: I64
    ends: Maxima
    times: I64 | None = None
    """Where times lie too far apart for keys: the distinct ones in order, whose places stand for them."""

    @classmethod
    def from_bounds(cls, starts: I64, ends: I64, groups: I64) -> OpenIntervals:
        """Prepare intervals, of shape ``[n]``, in any order."""
        distinct = distinct_numbers(groups)
        if not len(starts):
            return cls(None, distinct, 0, 1, np.zeros(0, np.int64), Maxima(np.zeros(0, np.int64)))
        low, ends = int(starts.min()), np.maximum(ends, starts)
        span = int(ends.max()) - low + 1
        times = None
        if len(distinct) * span >= MOST_KEYS:
            times = np.unique(np.concatenate([starts, ends]))
            starts, ends = _places(times, starts), _places(times, ends)
            low, span = 0, 2 * len(times)
        codes = np.searchsorted(distinct, groups).astype(np.int64) if len(distinct) > 1 else np.int64(0)
        start_keys, end_keys = codes * span + (starts - low), codes * span + (ends - low)
        if bool((start_keys[1:] > start_keys[:-1]).all()):
            return cls(None, distinct, low, span, start_keys, Maxima(end_keys), times)
        order = np.lexsort((-end_keys, start_keys))
        return cls(order, distinct, low, span, start_keys[order], Maxima(end_keys[order]), times)

    def around(self, at: I64, at_groups: I64) -> I64:
        """Return what `innermost` does for times, of shape ``[q]``."""
        if not len(self.start_keys) or not len(at):
            return np.full(len(at), -1, np.int64)
        at = at if self.times is None else _places(self.times, at)
        code = np.minimum(np.searchsorted(self.groups, at_groups), len(self.groups) - 1).astype(np.int64)
        within = (self.groups[code] == at_groups) & (at >= self.low) & (at < self.low + self.span)
        keys = code * self.span + np.where(within, at - self.low, 0)
        before = np.searchsorted(self.start_keys, keys, side="right").astype(np.int64)
        # Ends of another group lie below every time of this one, so that a group never finds its neighbour.
        position = self.ends.last_reaching(before, keys)
        interval = position if self.order is None else np.where(position >= 0, self.order[np.maximum(position, 0)], -1)
        return np.where(within, interval, -1).astype(np.int64)
