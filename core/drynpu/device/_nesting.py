"""Nesting of intervals: depth and parent on each thread, without a loop over the intervals."""

from __future__ import annotations

import numpy as np

from drynpu.arrays import I64, Bools


def nest(start_ns: I64, end_ns: I64, thread: I64) -> tuple[I64, I64]:
    """
    Return ``(depth, parent)`` of intervals that nest properly on each thread.

    Parameters
    ----------
    start_ns, end_ns, thread:
        Shape ``[n]``, sorted by ``(start, -end)``. An interval that starts when another one ends is its
        sibling; one that starts with a longer one is its child.

    Returns
    -------
    depth, parent:
        int64 ``[n]``; depth 0 and parent -1 mark roots.
    """
    depth = np.zeros(len(start_ns), np.int64)
    parent = np.full(len(start_ns), -1, np.int64)
    for value in np.unique(thread):
        rows = np.flatnonzero(thread == value)
        depth[rows] = _depth(start_ns[rows], end_ns[rows])
        _link(rows, depth, parent)
    return depth, parent


def cut_crossings(start_ns: I64, end_ns: I64, thread: I64) -> tuple[I64, I64, I64]:
    """
    Return ``(end, depth, parent)``: ends with which no interval outlasts the one open around its start, and `nest`.

    Calls nest, but the times measured of them need not: the system's clock is set while they run, or the clocks of two
    processors differ. Rows are sorted as for `nest`.
    """
    depth, parent = nest(start_ns, end_ns, thread)
    crosses = (parent >= 0) & (end_ns > end_ns[parent])
    if not crosses.any():
        return end_ns, depth, parent
    cut = end_ns.copy()
    for value in np.unique(thread[crosses]):
        open_ends: list[int] = []
        for row in np.flatnonzero(thread == value).tolist():
            start, end = int(start_ns[row]), int(end_ns[row])
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            cut[row] = min([end, *open_ends[-1:]])
            open_ends.append(int(cut[row]))
    return cut, *nest(start_ns, cut, thread)


def _depth(start_ns: I64, end_ns: I64) -> I64:
    # Doubled times leave room for a half step, so that an empty interval still ends after it has started.
    starts = start_ns * 2
    ends = np.maximum(end_ns * 2, starts + 1)
    order = np.argsort(ends, kind="stable")
    closed = np.searchsorted(ends[order], starts, side="right")
    return np.arange(len(starts), dtype=np.int64) - closed


def _link(rows: I64, depth: I64, parent: I64) -> None:
    levels = depth[rows]
    for level in range(1, int(levels.max(initial=0)) + 1):
        inner, outer = rows[levels == level], rows[levels == level - 1]
        # Rows are positions in start order: the parent is the last outer row before the inner one.
        position = np.searchsorted(outer, inner, side="left") - 1
        parent[inner] = np.where(position >= 0, outer[np.maximum(position, 0)], -1)


def closing_order(depth: I64, thread: I64) -> I64:
    """
    Return the place of every interval in its thread, in the order in which intervals end, int64 ``[n]``.

    An interval comes after all inside it, also where they end in the same nanosecond. Rows are sorted as for `nest`.
    """
    place = np.empty(len(depth), np.int64)
    for value in np.unique(thread):
        rows = np.flatnonzero(thread == value)
        levels = depth[rows]
        position = np.arange(len(rows))
        following = np.full(len(rows), len(rows))
        # What follows an interval and all inside it is the next one on its own level or further out.
        for level in range(int(levels.max(initial=0)) + 1):
            outer, here = position[levels <= level], position[levels == level]
            following[here] = np.append(outer, len(rows))[np.searchsorted(outer, here, side="right")]
        # Before it ends, all have ended that began before its end, except those that enclose it.
        place[rows] = following - 1 - levels
    return place


def inherit(depth: I64, parent: I64, flag: Bools) -> Bools:
    """Return for every row whether any of its ancestors (not itself) carries *flag*; shapes ``[n]``."""
    inherited = np.zeros(len(depth), bool)
    if not flag.any():
        return inherited
    for level in range(int(depth[flag].min()) + 1, int(depth.max(initial=0)) + 1):
        rows = np.flatnonzero((depth == level) & (parent >= 0))
        inherited[rows] = inherited[parent[rows]] | flag[parent[rows]]
    return inherited


def innermost(time_ns: I64, on_thread: I64, start_ns: I64, end_ns: I64, thread: I64, parent: I64) -> I64:
    """
    Return the row of the innermost interval open at each time on its thread, -1 if none.

    Parameters
    ----------
    time_ns, on_thread:
        Shape ``[m]``: what to look up.
    start_ns, end_ns, thread, parent:
        Shape ``[n]``: the intervals, sorted by start, as for :func:`nest`.
    """
    row = np.full(len(time_ns), -1, np.int64)
    if not len(start_ns):
        return row
    for value in np.unique(on_thread):
        queries, rows = np.flatnonzero(on_thread == value), np.flatnonzero(thread == value)
        position = np.searchsorted(start_ns[rows], time_ns[queries], side="right") - 1
        row[queries] = np.where(position >= 0, rows[np.maximum(position, 0)], -1) if len(rows) else -1
    while True:
        over = np.flatnonzero((row >= 0) & (end_ns[row] < time_ns))
        if not len(over):
            return row
        row[over] = parent[row[over]]
