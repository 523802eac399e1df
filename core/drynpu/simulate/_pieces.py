"""Cutting intervals of several threads into disjoint pieces, because the simulated host does one thing at a time."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from drynpu.arrays import I64


@frozen(eq=False)
class Pieces:
    """Disjoint intervals in time order, shape ``[n]``; ``item`` is the item whose piece it is, -1 for the rest."""

    begin_ns: I64
    end_ns: I64
    item: I64


def cut_pieces(start_ns: I64, end_ns: I64, begin_ns: I64) -> Pieces:
    """
    Cut intervals that may overlap.

    An item's piece lasts from its *begin_ns* to the next item's, or to its own end if that comes first; it is
    empty where the next one begins with it. What the items cover besides is returned as pieces of item -1.

    Parameters
    ----------
    start_ns, end_ns, begin_ns:
        Shape ``[n]``, in order of *begin_ns*; ``start_ns <= begin_ns <= end_ns``.
    """
    # One thread whose operators call nothing is the usual case and needs no cutting.
    if (begin_ns == start_ns).all() and (end_ns[:-1] <= begin_ns[1:]).all():
        return Pieces(begin_ns, end_ns, np.arange(len(begin_ns)))
    piece_end = np.minimum(end_ns, np.append(begin_ns[1:], np.iinfo(np.int64).max))
    bounds = np.unique(np.concatenate([start_ns, end_ns, begin_ns, piece_end]))
    rest = (_coverage(bounds, start_ns, end_ns) > 0) & (_coverage(bounds, begin_ns, piece_end) == 0)
    # The rest is cut where an item begins as well: that one's piece may be empty and stands in between.
    cut = np.isin(bounds, begin_ns)
    opens = rest & (~np.concatenate(([False], rest[:-1])) | cut)
    closes = rest & (~np.concatenate((rest[1:], [False])) | np.concatenate((cut[1:], [True])))
    begin = np.concatenate([begin_ns, bounds[opens]])
    end = np.concatenate([piece_end, bounds[np.flatnonzero(closes) + 1]])
    item = np.concatenate([np.arange(len(begin_ns)), np.full(len(begin) - len(begin_ns), -1)])
    # Of what begins together the items come first: all but the last of them are empty, and then so is that one.
    order = np.lexsort((item < 0, begin))
    return Pieces(begin[order], end[order], item[order])


def _coverage(bounds: I64, start: I64, end: I64) -> I64:
    """Return how many intervals cover the stretch after each bound."""
    at = [np.bincount(np.searchsorted(bounds, edge), minlength=len(bounds)) for edge in (start, end)]
    return np.asarray(np.cumsum(at[0] - at[1]), np.int64)
