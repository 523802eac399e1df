"""
Bytes over time: what a counter of traffic reads when tasks move their bytes evenly over their duration.

That every task moves its bytes at a constant rate is the model; everything else here is exact. A sum of samples is
the sum of what was moved, and nothing is capped: where tasks of several streams together ask for more than the
hardware has, the samples show it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from drynpu.arrays import F64, I64


def _floats(values: npt.ArrayLike) -> F64:
    return np.asarray(values, np.float64)


@frozen(eq=False)
class Flow:
    """Amounts (bytes) that move evenly from ``start_ns`` to ``end_ns``, float64 ``[n]``; every end after its start."""

    start_ns: F64 = field(converter=_floats)
    end_ns: F64 = field(converter=_floats)
    amount: F64 = field(converter=_floats)

    @property
    def total(self) -> float:
        """Everything that moves."""
        return float(self.amount.sum())

    def by(self, times_ns: npt.ArrayLike) -> F64:
        """Return how much has moved by each time; shape kept."""
        times = _floats(times_ns)
        at, rate = self._steps()
        if not len(at):
            return np.zeros(times.shape)
        moved = np.concatenate(([0.0], np.cumsum(rate[:-1] * np.diff(at))))
        # The last value is known without rounding, and every other one is scaled along with it.
        if moved[-1] > 0:
            moved *= self.total / moved[-1]
        return np.asarray(np.interp(times, at, moved), np.float64)

    def between(self, edges_ns: npt.ArrayLike) -> F64:
        """Return how much moves between neighbouring edges: one value less than there are edges."""
        return np.diff(self.by(edges_ns))

    def extremes(self, edges_ns: npt.ArrayLike) -> tuple[F64, F64]:
        """Return the least and the largest rate (amount per ns) between neighbouring edges."""
        edges = _floats(edges_ns)
        at, rate = self._steps()
        points = np.union1d(at, edges)
        position = np.searchsorted(at, points[:-1], side="right") - 1
        rates = np.where(position >= 0, rate[np.maximum(position, 0)], 0.0) if len(at) else np.zeros(len(points) - 1)
        first = np.searchsorted(points, edges[:-1])
        inside = rates[: np.searchsorted(points, edges[-1])]
        return np.minimum.reduceat(inside, first), np.maximum.reduceat(inside, first)

    def peak(self) -> float:
        """Return the largest rate that there ever is (amount per ns), all tasks of that time together."""
        _, rate = self._steps()
        return float(rate.max(initial=0.0))

    def scaled(self, factor: float) -> Flow:
        """Return the flow with all amounts times *factor*."""
        return Flow(self.start_ns, self.end_ns, self.amount * factor)

    def _steps(self) -> tuple[F64, F64]:
        """Return the times at which the summed rate changes, and the rate from each on; the last is 0."""
        some = self.amount > 0
        start, end = self.start_ns[some], self.end_ns[some]
        rate = self.amount[some] / (end - start)
        at, place = np.unique(np.concatenate([start, end]), return_inverse=True)
        change = np.bincount(place.reshape(-1), np.concatenate([rate, -rate]), len(at))
        running = np.cumsum(np.bincount(place.reshape(-1), np.repeat([1.0, -1.0], len(rate)), len(at)))
        # Where nothing runs the rate is 0, whatever the sums of the rates have rounded to.
        summed = np.where(running > 0.5, np.maximum(np.cumsum(change), 0.0), 0.0)
        return at, summed


def join_flows(flows: Iterable[Flow]) -> Flow:
    """Return all amounts of several flows as one."""
    parts = list(flows)
    none: list[F64] = [np.empty(0)]
    return Flow(
        np.concatenate([*none, *(part.start_ns for part in parts)]),
        np.concatenate([*none, *(part.end_ns for part in parts)]),
        np.concatenate([*none, *(part.amount for part in parts)]),
    )


def sample_times(begin_us: int, end_us: int, interval_us: int) -> I64:
    """
    Return when a sampler reads its counters: at the beginning, every interval, and when it is stopped.

    The last reading closes the last interval, which may be shorter, so that nothing is left uncounted.
    """
    regular = np.arange(begin_us, max(end_us, begin_us + 1), max(interval_us, 1), dtype=np.int64)
    return np.concatenate([regular, [max(end_us, begin_us + 1)]])


def whole_counts(cumulative: npt.ArrayLike, unit: float) -> I64:
    """
    Return what a counter of whole units gains between readings of a cumulative amount.

    The rest of a unit stays in the counter: the sum equals the whole, rounded once.
    """
    return np.diff(np.rint(_floats(cumulative) / unit).astype(np.int64))
