"""Key points of a graph's iterations on the device, as the task scheduler would have marked them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen

from drynpu.arrays import I64, Bools


@frozen(eq=False, kw_only=True)
class KeyPoints:
    """
    Times of each iteration that ran anything; int64 ``[r]`` in ticks, -1 where an iteration has no such point.

    ``iteration`` is the number of the iteration, in the order given.
    """

    iteration: I64
    start: I64
    forward: I64
    backward: I64
    end: I64


def within(time_ns: I64, start_ns: I64, end_ns: I64) -> I64:
    """Return for every time (``[m]``) the row of the interval ``[start, end)`` around it, -1 if none; starts sorted."""
    row = np.searchsorted(start_ns, time_ns, side="right") - 1
    return np.where((row >= 0) & (time_ns < end_ns[np.maximum(row, 0)]), row, -1) if len(start_ns) else row * 0 - 1


def key_points(
    iteration: I64, start: I64, end: I64, *, forward: Bools, backward: Bools, graph: Sequence[int] = ()
) -> KeyPoints:
    """
    Return where every iteration begins, starts forward, ends backward and ends on the device.

    The scheduler runs the iterations of one graph one after another: an iteration begins with its first kernel, but not
    before the one before it ended, and ends with its last kernel. Forward starts with the first kernel of *forward*,
    backward ends with the last one of *backward*.

    Parameters
    ----------
    iteration:
        Number of the iteration of each kernel, ``[m]``, in launch order; -1 none.
    start, end:
        Ticks of each kernel, ``[m]``.
    forward, backward:
        Which kernels are candidates for the first forward and for the last backward one, ``[m]``.
    graph:
        Graph of each iteration number; empty: all of one graph.
    """
    ran = np.unique(iteration[iteration >= 0])
    owner = np.zeros(len(ran), np.int64) if not len(graph) else np.asarray(graph, np.int64)[ran]
    begin = _extreme(np.minimum, ran, iteration, start, iteration >= 0)
    finish = _extreme(np.maximum, ran, iteration, end, iteration >= 0)
    for number in np.unique(owner):
        rows = np.flatnonzero(owner == number)
        finish[rows] = np.maximum.accumulate(finish[rows])
        begin[rows[1:]] = np.maximum(begin[rows[1:]], finish[rows[:-1]])
    first = _extreme(np.minimum, ran, iteration, start, forward)
    last = _extreme(np.maximum, ran, iteration, end, backward)
    return KeyPoints(
        iteration=ran,
        start=begin,
        forward=np.where(first >= 0, np.clip(first, begin, finish), -1),
        backward=np.where(last >= 0, np.clip(last, begin, finish), -1),
        end=finish,
    )


def _extreme(pick: np.ufunc, ran: I64, iteration: I64, ticks: I64, chosen: Bools) -> I64:
    """Return the smallest or largest tick of the *chosen* kernels of each iteration of *ran*, -1 if there are none."""
    rows = np.flatnonzero(chosen & (iteration >= 0))
    least = np.iinfo(np.int64)
    extreme = np.full(len(ran), least.max if pick is np.minimum else least.min, np.int64)
    place = np.searchsorted(ran, iteration[rows])
    pick.at(extreme, place, ticks[rows])
    hit = np.zeros(len(ran), bool)
    hit[place] = True
    return np.where(hit, extreme, -1)
