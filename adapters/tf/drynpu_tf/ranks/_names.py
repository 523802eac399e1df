"""Names of communication operators that are the same on all ranks."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from attrs import define, field

from drynpu_tf.foreign import Graph


@define(eq=False)
class Names:
    """
    Names of the operators of this process: the number of the graph among those that communicate, and that in the graph.

    They are the same on all ranks, because all build the same graphs in the same order.
    """

    _graphs: WeakKeyDictionary[Graph, tuple[int, list[str]]] = field(factory=WeakKeyDictionary)
    _numbers: Iterator[int] = field(factory=itertools.count)
    _lock: threading.Lock = field(factory=threading.Lock)

    def next(self, graph: Graph) -> str:
        """Return the name of a new operator of *graph*."""
        with self._lock:
            if graph not in self._graphs:
                self._graphs[graph] = (next(self._numbers), [])
            number, names = self._graphs[graph]
            names.append(f"{number}.{len(names)}")
            return names[-1]

    def count(self, graph: Graph) -> int:
        """Return how many operators of *graph* communicate."""
        with self._lock:
            return len(self._graphs.get(graph, (0, []))[1])


NAMES = Names()
"""The ranks of this process: ranks are processes."""
