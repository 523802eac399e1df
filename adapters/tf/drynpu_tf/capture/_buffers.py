"""How full the last buffer of an input pipeline was when a run asked for data."""

from __future__ import annotations

import numpy as np

from drynpu.arrays import I64
from drynpu.device import nest
from drynpu_tf.capture._planes import Kind, Planes

UNKNOWN = -1


def buffered_elements(planes: Planes) -> I64:
    """
    Return for every row of a trace how many elements were ready when it asked for data.

    That is known of a DATA whose pipeline ends in a ``prefetch``: TensorFlow's tracer numbers the elements that go into
    the buffer and those that come out. One thread fills a buffer, in the order in which it is emptied; so what it made
    from the element on that the run was given, and before the run asked, was in the buffer.

    Returns
    -------
    int64 array ``[n]``
        ``UNKNOWN`` for rows of other kinds, other pipelines, and elements made before the trace began.
    """
    found = np.full(len(planes.kind), UNKNOWN, np.int64)
    data, taken = _taken(planes)
    made = planes.rows(Kind.PRODUCE)
    made = made[np.lexsort((planes.end_ns[made], planes.thread[made]))]
    if not len(data) or not len(made):
        return found
    by_element = np.argsort(planes.number[made], kind="stable")
    place = np.searchsorted(planes.number[made], taken, sorter=by_element)
    position = by_element[np.minimum(place, len(made) - 1)]
    known = planes.number[made[position]] == taken
    data, position = data[known], position[known]
    thread = planes.thread[made]
    for filler in np.unique(thread[position]):
        first, last = np.searchsorted(thread, [filler, filler + 1])
        own = thread[position] == filler
        ready = first + np.searchsorted(planes.end_ns[made[first:last]], planes.start_ns[data[own]], side="right")
        found[data[own]] = np.maximum(ready - position[own], 0)
    return found


def _taken(planes: Planes) -> tuple[I64, I64]:
    """Return the DATA rows that took an element out of the pipeline's last buffer, and the elements' numbers."""
    rows = np.flatnonzero(np.isin(planes.kind, (Kind.DATA, Kind.PREFETCH, Kind.CONSUME)))
    kind = planes.kind[rows]
    _, parent = nest(planes.start_ns[rows], planes.end_ns[rows], planes.thread[rows])
    stage = parent[kind == Kind.CONSUME]
    around = np.where(stage >= 0, parent[stage], -1)
    inside = (stage >= 0) & (around >= 0) & (kind[stage] == Kind.PREFETCH) & (kind[around] == Kind.DATA)
    return rows[around[inside]], planes.number[rows[kind == Kind.CONSUME][inside]]
