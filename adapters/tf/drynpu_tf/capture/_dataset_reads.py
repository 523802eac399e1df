"""
Taking data from an iterator: on a device the graph has a ``GetNext`` in the place of ``IteratorGetNext``.

With data preprocessing sunk (``enable_data_pre_proc``) TensorFlow's host fills a queue from the iterator, and the graph
takes the elements out of it by an operator of its own. That holds for iterators that are made apart from their
dataset (``Iterator``, ``IteratorV2``); a one-shot iterator stays on the host and its elements are fed
(tf_adapter om_partition_subgraphs_pass.cc FindNpuSupportCandidates, dp_tf_ge_conversion_pass.cc).
"""

from __future__ import annotations

import numpy as np
from attrs import frozen

from drynpu.arrays import I64
from drynpu.device import nest
from drynpu_tf.capture._planes import Kind, Planes

ITERATOR_GET_NEXT = "IteratorGetNext"
ITERATORS = frozenset({"Iterator", "IteratorV2"})
"""Iterators whose elements go through a queue."""
UNKNOWN = -1
"""Stands for a number of elements that nobody counted."""


@frozen
class DatasetRead:
    """
    One time that a run took data.

    Attributes
    ----------
    row:
        The node that took the data, as a row of the run's operators; the run began to wait when the node started.
    source:
        The iterator's name.
    end_ns:
        When the data was there, Unix ns; ``None`` if the trace does not have it.
    buffered:
        Elements that the last buffer of the pipeline held then; ``None`` if they were not counted.
    """

    row: int
    source: str
    end_ns: int | None
    buffered: int | None = None


def buffered_elements(planes: Planes) -> I64:
    """
    Return for every row of a trace how many elements were ready when it began to wait for data.

    That is known of a DATA whose pipeline ends in a ``prefetch``: TensorFlow's tracer numbers the elements that go into
    the buffer and those that come out. One thread fills a buffer, in the order in which it is emptied. So the buffer
    held what that thread had made since the element that the run got, and before the run asked.

    Returns
    -------
    int64 array ``[n]``
        ``UNKNOWN`` for rows of other kinds, other pipelines, and elements made before the trace began.
    """
    buffered = np.full(len(planes.kind), UNKNOWN, np.int64)
    data, elements = _consumed(planes)
    produced = planes.rows(Kind.PRODUCE)
    produced = produced[np.lexsort((planes.end_ns[produced], planes.thread[produced]))]
    if not len(data) or not len(produced):
        return buffered
    by_element = np.argsort(planes.number[produced], kind="stable")
    place = np.searchsorted(planes.number[produced], elements, sorter=by_element)
    position = by_element[np.minimum(place, len(produced) - 1)]
    known = planes.number[produced[position]] == elements
    data, position = data[known], position[known]
    thread = planes.thread[produced]
    for filler in np.unique(thread[position]):
        first, last = np.searchsorted(thread, [filler, filler + 1])
        filled = thread[position] == filler
        ready = first + np.searchsorted(
            planes.end_ns[produced[first:last]], planes.start_ns[data[filled]], side="right"
        )
        buffered[data[filled]] = np.maximum(ready - position[filled], 0)
    return buffered


def _consumed(planes: Planes) -> tuple[I64, I64]:
    """Return the DATA rows that took an element out of the pipeline's last buffer, and the elements' numbers."""
    rows = np.flatnonzero(np.isin(planes.kind, (Kind.DATA, Kind.PREFETCH, Kind.CONSUME)))
    kind = planes.kind[rows]
    _, parent = nest(planes.start_ns[rows], planes.end_ns[rows], planes.thread[rows])
    stage = parent[kind == Kind.CONSUME]
    around = np.where(stage >= 0, parent[stage], -1)
    inside = (stage >= 0) & (around >= 0) & (kind[stage] == Kind.PREFETCH) & (kind[around] == Kind.DATA)
    return rows[around[inside]], planes.number[rows[kind == Kind.CONSUME][inside]]
