"""
Taking data from an iterator: on a device the graph has a ``GetNext`` in the place of ``IteratorGetNext``.

With data preprocessing sunk (``enable_data_pre_proc``) TensorFlow's host fills a queue from the iterator, and the graph
takes the elements out of it by an operator of its own. That holds for iterators that are made apart from their
dataset (``Iterator``, ``IteratorV2``); a one-shot iterator stays on the host and its elements are fed
(tf_adapter om_partition_subgraphs_pass.cc FindNpuSupportCandidates, dp_tf_ge_conversion_pass.cc).
"""

from __future__ import annotations

from attrs import frozen

ITERATOR_GET_NEXT = "IteratorGetNext"
ITERATORS = frozenset({"Iterator", "IteratorV2"})
"""Iterators whose elements go through a queue."""


@frozen
class DatasetRead:
    """
    One time that a run took data.

    Attributes
    ----------
    row:
        Of the run's operators: the node that did it; its start is when it began to wait.
    source:
        The iterator's name.
    end_ns:
        When the data was there, Unix ns; ``None`` if nobody saw it.
    buffered:
        Elements that were ready when it asked; ``None`` if nobody counted them.
    """

    row: int
    source: str
    end_ns: int | None
    buffered: int | None = None
