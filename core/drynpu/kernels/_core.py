"""Counters of one kind of core, and the formulas that turn them into columns (cann_msprof.md 4.2, "Formulas")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu.arrays import F64, Integers
from drynpu.platforms import Formula, MetricColumn

_BITS_PER_GIB = 2.0**33


@frozen(eq=False, kw_only=True)
class CoreCounters:
    """
    Counters of one kind of core, one row per kernel; rows of kernels that do not use it are 0.

    ``total_cycles`` has shape ``[m]``, ``pmu`` shape ``[m, e]`` with columns in the order of ``events``;
    ``block_num`` (``[m]``) is the number of blocks on this kind of core: for the vector side of MIX_AIC the mix
    block number. ``mhz`` and ``cores`` are the chip's, from info.json. ``time_us`` (``[m]``) is the core time where the
    records state it, as records of the 950 do (Ascend/msprof chip6_pmu_calculator); ``None``: it follows from the
    cycles.
    """

    total_cycles: Integers
    pmu: Integers
    block_num: Integers
    mhz: float
    cores: int
    events: Sequence[int]
    time_us: F64 | None = None

    @classmethod
    def idle(cls, kernels: int, *, mhz: float = 0.0, cores: int = 1, events: Sequence[int] = ()) -> CoreCounters:
        """Return counters of *kernels* that do not use this kind of core."""
        none = np.zeros(kernels, np.int64)
        pmu = np.zeros((kernels, len(events)), np.int64)
        return cls(total_cycles=none, pmu=pmu, block_num=none, mhz=mhz, cores=cores, events=events)

    @property
    def core_time_us(self) -> F64:
        """Core time as recorded, else ``cycles / MHz / blocks * ceil(blocks / cores)``; 0 without blocks."""
        if self.time_us is not None:
            return self.time_us
        blocks = np.maximum(self.block_num, 1)
        waves = np.ceil(blocks / self.cores)
        return np.asarray(divide(self.total_cycles, self.mhz) / blocks * waves, np.float64)

    def counted(self, codes: Iterable[int]) -> bool:
        """Return whether any of *codes* was recorded."""
        return any(code in self.events for code in codes)

    def count(self, codes: Iterable[int]) -> F64:
        """Return the sum of the recorded events among *codes*, ``[m]``."""
        slots = [self.events.index(code) for code in codes if code in self.events]
        return np.asarray(self.pmu[:, slots].sum(axis=1), np.float64)

    def values(self, column: MetricColumn, bandwidth_mhz: float) -> F64:
        """
        Return *column*, ``[m]``, not rounded; NaN where none of its events was recorded.

        Parameters
        ----------
        bandwidth_mhz:
            Clock of bandwidths: the parser takes the cube core's for both kinds of core.
        """
        if not self.counted(code for code, _ in column.terms):
            return np.full(len(self.total_cycles), np.nan)
        if column.formula is Formula.QUOTIENT:
            (above, _), (below, _) = column.terms
            return divide(self.count([above]), self.count([below]))
        none = np.zeros(len(self.total_cycles))
        total = sum((weight * self.count([code]) for code, weight in column.terms), none)
        if column.formula is Formula.TOTAL:
            return total
        if column.formula is Formula.BANDWIDTH:
            return divide(total, self.total_cycles / (bandwidth_mhz * 1e6)) / _BITS_PER_GIB
        if column.formula is Formula.SHARED_BANDWIDTH:
            return divide(total, self.core_time_us / 1e6) / _BITS_PER_GIB
        ratio = divide(total, self.total_cycles)
        return ratio * self.core_time_us if column.formula is Formula.TIME else ratio

    def utilization_percent(self, duration_us: F64) -> F64:
        """Return the share of all cores' time in *duration_us* that kernels occupied."""
        return 100.0 * divide(self.total_cycles, self.mhz * self.cores * duration_us)


def divide(above: npt.ArrayLike, below: npt.ArrayLike) -> F64:
    """Return the quotient, 0 where there is nothing to divide by."""
    above, below = np.broadcast_arrays(np.asarray(above, np.float64), np.asarray(below, np.float64))
    return np.divide(above, below, out=np.zeros(above.shape), where=below != 0)
