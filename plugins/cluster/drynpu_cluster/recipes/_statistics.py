"""Statistics of durations that are kept as how often each value occurs: exact, without the events themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from attrs import frozen

from drynpu.arrays import F64, I64

COLUMNS = ("Count", "MeanNs", "StdNs", "MinNs", "Q1Ns", "MedianNs", "Q3Ns", "MaxNs", "SumNs")
"""The statistics in the vendor's order and spelling."""


@frozen(eq=False)
class Sample:
    """Values, in rising order, and how often each occurs; both shape ``[distinct]``."""

    values: F64
    counts: I64

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.counts.sum())

    @property
    def total(self) -> float:
        """Their sum."""
        return float((self.values * self.counts).sum())

    @property
    def mean(self) -> float:
        """Their mean."""
        return self.total / self.count

    def deviation(self, freedom: int) -> float | None:
        """Return the standard deviation by a divisor of the count less *freedom*; ``None`` of too few values."""
        if self.count <= freedom:
            return None
        squares = float((self.counts * (self.values - self.mean) ** 2).sum())
        return float(np.sqrt(squares / (self.count - freedom)))

    def quantile(self, share: float) -> float:
        """Return a quantile, between two values by straight line."""
        place = share * (self.count - 1)
        low = int(place)
        ends = self.counts.cumsum()
        first, second = (
            self.values[np.searchsorted(ends, at, side="right")] for at in (low, min(low + 1, self.count - 1))
        )
        return float(first + (second - first) * (place - low))


def samples(frame: pl.DataFrame, keys: Sequence[str], value: str) -> list[tuple[tuple[object, ...], Sample]]:
    """
    Return each key with its sample, in the order of keys; rows without a key are left out.

    *frame* has the columns *keys*, *value* and ``count``.
    """
    counted = frame.drop_nulls(keys).group_by(*keys, value).agg(pl.col("count").sum()).sort(*keys, value)
    grouped = counted.group_by(keys, maintain_order=True).agg(pl.col(value), pl.col("count"))
    return [
        (tuple(key), Sample(np.array(values, np.float64), np.array(counts, np.int64)))
        for *key, values, counts in grouped.iter_rows()
    ]


def described(frame: pl.DataFrame, keys: Sequence[str], value: str) -> pl.DataFrame:
    """Return *keys* and `COLUMNS`, by keys."""
    rows = [
        (
            *(*key, sample.count, sample.mean, sample.deviation(1), float(sample.values[0])),
            *(sample.quantile(share) for share in (0.25, 0.5, 0.75)),
            *(float(sample.values[-1]), sample.total),
        )
        for key, sample in samples(frame, keys, value)
    ]
    schema = {key: frame.schema[key] for key in keys} | dict.fromkeys(COLUMNS, pl.Float64())
    return pl.DataFrame(rows, schema=schema, orient="row", strict=False).with_columns(pl.col("Count").cast(pl.Int64))
