"""Counters of one kind of core, and the formulas that turn them into columns (cann_msprof.md 4.2, "Formulas")."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

__all__ = ["Column", "CoreCounters", "Formula", "divide"]

F64 = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer[Any]]

_BITS_PER_GIB = 2.0**33


@frozen(eq=False, kw_only=True)
class CoreCounters:
    """
    Counters of one kind of core, one row per kernel; rows of kernels that do not use it are 0.

    ``total_cycles`` has shape ``[m]``, ``pmu`` shape ``[m, e]`` with columns in the order of ``events``;
    ``block_num`` (``[m]``) is the number of blocks on this kind of core: for the vector side of MIX_AIC the mix
    block number. ``mhz`` and ``cores`` are the chip's, from info.json. ``time_us`` (``[m]``) is the core time where the
    records tell it, as those of the 950 do (Ascend/msprof chip6_pmu_calculator); ``None``: it follows from the cycles.
    """

    total_cycles: Ints
    pmu: Ints
    block_num: Ints
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

    def utilization_percent(self, duration_us: F64) -> F64:
        """Return the share of all cores' time in *duration_us* that kernels occupied."""
        return 100.0 * divide(self.total_cycles, self.mhz * self.cores * duration_us)


class Formula(enum.Enum):
    """How a column follows from its events."""

    RATIO = enum.auto()
    """Sum per total cycle."""
    TIME = enum.auto()
    """Ratio times core time (us)."""
    QUOTIENT = enum.auto()
    """First event per second event."""
    BANDWIDTH = enum.auto()
    """Bits per time of the cycles, in 2^33 bit/s; cycles are summed over blocks, so it is the rate of one core."""
    TOTAL = enum.auto()
    """Weighted sum."""


@frozen
class Column:
    """
    A column without its prefix: ``terms`` are event codes with weights (bits per count for a bandwidth).

    Where several codes mean the same thing (older and newer releases) a profile has one of them.
    """

    name: str
    formula: Formula
    terms: tuple[tuple[int, float], ...]

    def values(self, core: CoreCounters, bandwidth_mhz: float) -> F64:
        """
        Return the column for *core*, ``[m]``, not rounded; NaN where none of its events was recorded.

        Parameters
        ----------
        bandwidth_mhz:
            Clock of bandwidths: the parser takes the cube core's for both kinds of core.
        """
        if not core.counted(code for code, _ in self.terms):
            return np.full(len(core.total_cycles), np.nan)
        if self.formula is Formula.QUOTIENT:
            (above, _), (below, _) = self.terms
            return divide(core.count([above]), core.count([below]))
        total = sum((weight * core.count([code]) for code, weight in self.terms), np.zeros(len(core.total_cycles)))
        if self.formula is Formula.TOTAL:
            return total
        if self.formula is Formula.BANDWIDTH:
            return divide(total, core.total_cycles / (bandwidth_mhz * 1e6)) / _BITS_PER_GIB
        ratio = divide(total, core.total_cycles)
        return ratio * core.core_time_us if self.formula is Formula.TIME else ratio


def divide(above: npt.ArrayLike, below: npt.ArrayLike) -> F64:
    """Return the quotient, 0 where there is nothing to divide by."""
    above, below = np.broadcast_arrays(np.asarray(above, np.float64), np.asarray(below, np.float64))
    return np.divide(above, below, out=np.zeros(above.shape), where=below != 0)
