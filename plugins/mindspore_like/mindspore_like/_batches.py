"""What a run of ``Model`` takes from its dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Any


class Batches:
    """The batches of a dataset, epoch by epoch; with a number of batches an epoch goes on where the last one ended."""

    def __init__(self, dataset: Iterable[Any], number: int | None) -> None:
        self._dataset, self._number = dataset, number
        self._under_way: Iterator[Any] = iter(())

    def epoch(self) -> Iterator[tuple[Any, ...]]:
        """Yield the batches of the next epoch as tuples."""
        if self._number is None:
            yield from map(as_tuple, self._dataset)
            return
        for _ in range(self._number):
            batch = next(self._under_way, None)
            if batch is None:
                self._under_way = iter(self._dataset)
                batch = next(self._under_way)
            yield as_tuple(batch)


def as_tuple(batch: object) -> tuple[Any, ...]:
    """Return the elements of a batch; what is no tuple and no list is one."""
    return tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)


def size_of(dataset: Iterable[object]) -> int:
    """Return the number of batches of one pass. Raises `TypeError` for a dataset that does not tell."""
    if hasattr(dataset, "get_dataset_size"):
        return int(dataset.get_dataset_size())
    if isinstance(dataset, Sized):
        return len(dataset)
    raise TypeError(f"a dataset needs get_dataset_size() or a length, but got {type(dataset).__name__}")
