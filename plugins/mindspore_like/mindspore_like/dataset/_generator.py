"""A dataset from a function, an iterable or an indexable object; everything happens in the calling thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from mindspore_like._tensor import Tensor


class GeneratorDataset:
    """
    Rows from *source*: a function that returns an iterator, an iterable, or an object with indices and a length.

    Parameters
    ----------
    source:
        Gives rows: tuples of arrays or numbers, one element per column.
    column_names:
        One name per element; one text for several, separated by commas, is not taken.
    shuffle:
        Only ``False`` or ``None``: rows come in the order of the source.
    """

    def __init__(
        self,
        source: Callable[[], Iterable[Any]] | Iterable[Any],
        column_names: Sequence[str] | str,
        shuffle: Any = None,
    ) -> None:
        if shuffle:
            raise ValueError("mindspore_like.dataset.GeneratorDataset does not shuffle; let the source do it.")
        self._source = source
        self._columns = [column_names] if isinstance(column_names, str) else list(column_names)
        self._batch, self._drop = 1, False
        self._batched = False
        self._rows: int | None = None

    def batch(self, batch_size: int, drop_remainder: bool = False) -> GeneratorDataset:
        """Return a dataset whose rows are *batch_size* rows of this one, stacked; batching twice is not offered."""
        if self._batched or batch_size < 1:
            raise ValueError(f"batch_size must be a positive int, once; got {batch_size}.")
        dataset = GeneratorDataset(self._source, self._columns)
        dataset._batch, dataset._drop, dataset._batched, dataset._rows = batch_size, drop_remainder, True, self._rows
        return dataset

    def get_dataset_size(self) -> int:
        """Return the number of rows; a source without a length is read once to count them."""
        if self._rows is None:
            source: Any = self._source
            self._rows = len(source) if hasattr(source, "__len__") else sum(1 for _ in self._read())
        whole, rest = divmod(self._rows, self._batch)
        return whole + (1 if rest and not self._drop else 0)

    def get_col_names(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._columns)

    def create_tuple_iterator(self, num_epochs: int = -1, output_numpy: bool = False) -> Iterator[list[Any]]:
        """Return an iterator over one pass: a list per row."""
        del num_epochs
        return (list(row) if output_numpy else [Tensor(each) for each in row] for row in self._stacked())

    def create_dict_iterator(self, num_epochs: int = -1, output_numpy: bool = False) -> Iterator[dict[str, Any]]:
        """Return an iterator over one pass: a dict per row, by the names of the columns."""
        rows = self.create_tuple_iterator(num_epochs, output_numpy)
        return (dict(zip(self._columns, row, strict=True)) for row in rows)

    def __iter__(self) -> Iterator[list[Any]]:
        return self.create_tuple_iterator()

    def _read(self) -> Iterator[tuple[Any, ...]]:
        source: Any = self._source() if callable(self._source) else self._source
        rows = source if hasattr(source, "__iter__") else (source[index] for index in range(len(source)))
        for row in rows:
            yield tuple(row) if isinstance(row, (tuple, list)) else (row,)

    def _stacked(self) -> Iterator[tuple[Any, ...]]:
        if not self._batched:
            yield from (tuple(map(np.asarray, row)) for row in self._read())
            return
        rows: list[tuple[Any, ...]] = []
        for row in self._read():
            rows.append(row)
            if len(rows) == self._batch:
                yield tuple(np.stack(column) for column in zip(*rows, strict=True))
                rows = []
        if rows and not self._drop:
            yield tuple(np.stack(column) for column in zip(*rows, strict=True))
