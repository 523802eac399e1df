"""How an event counts: cycles of a pipe, bytes in units of a register, lines of L2, read off a cost table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from attrs import frozen

from drynpu.arrays import F64
from drynpu.kernels._table import CostTable
from drynpu.kernels._traffic import LINE_BYTES

Count = Callable[[CostTable], F64]
Counts = Mapping[int, Count]

_CYCLES_PER_ICACHE_REQUEST = 8.0
"""Modelled: no source says how often a core asks. Only misses per request is shown."""


@frozen(kw_only=True)
class Core:
    """The columns of the account that belong to one kind of core."""

    side: str
    inflow: tuple[str, ...]
    outflow: tuple[str, ...]

    def cycles(self, t: CostTable) -> F64:
        """Return all cycles, summed over blocks."""
        return np.asarray(t.aic_cycles if self.side == "aic" else t.aiv_cycles, np.float64)

    def busy(self, column: str) -> Count:
        """Count the cycles of a pipe."""
        if self.side == "aic":
            return lambda t: np.asarray(getattr(t, column) * t.chip.aic_mhz / 1000 * t.block_num)
        return lambda t: np.asarray(getattr(t, column) * t.chip.aiv_mhz / 1000 * t.aiv_blocks)

    def conflicts(self, what: str) -> Count:
        """Count the vector cycles lost to a kind of conflict."""
        busy = self.busy("vec_ns")
        return lambda t: np.asarray(busy(t) * getattr(t, f"{what}_conflict_share"))

    def icache_requests(self, t: CostTable) -> F64:
        """Count instruction fetches."""
        return np.asarray(np.floor(self.cycles(t) / _CYCLES_PER_ICACHE_REQUEST))

    def icache_misses(self, t: CostTable) -> F64:
        """Count the requests that the instruction cache did not serve."""
        rate: F64 = getattr(t, f"{self.side}_icache_miss_rate")
        return self.icache_requests(t) * rate

    def misses(self, way: str) -> Count:
        """Count the lines read or written behind L2."""
        return lambda t: _sum(t, (f"{self.side}_main_{way}_bytes",)) / LINE_BYTES

    def hits(self, way: str) -> Count:
        """Count the other lines that pass."""
        flow, misses = self.inflow if way == "read" else self.outflow, self.misses(way)
        return lambda t: np.maximum(np.ceil(_sum(t, flow) / LINE_BYTES) - misses(t), 0.0)

    def victims(self, way: str) -> Count:
        """Count the misses that pushed another line out."""
        misses = self.misses(way)
        return lambda t: misses(t) * t.l2_victim_share


CUBE = Core(
    side="aic",
    inflow=("gm_to_l1_bytes",),
    outflow=("l0c_to_gm_bytes",),
)
VECTOR = Core(
    side="aiv",
    inflow=("gm_to_ub_bytes",),
    outflow=("ub_to_gm_bytes",),
)
UNIFIED = Core(
    side="aic",
    inflow=("gm_to_l1_bytes", "gm_to_ub_bytes"),
    outflow=("ub_to_gm_bytes",),
)
_VECTOR_KINDS = ("vec_fp32_cycles", "vec_fp16_cycles", "vec_int32_cycles", "vec_misc_cycles")


def _sum(t: CostTable, columns: tuple[str, ...]) -> F64:
    total: F64 = np.zeros(len(t))
    for column in columns:
        total = total + getattr(t, column)
    return total


def never(t: CostTable) -> F64:
    """Count nothing: a unit that no kernel of the model uses."""
    return np.zeros(len(t))


def moved(size: float, *columns: str) -> Count:
    """Count bytes in units of *size*."""
    return lambda t: _sum(t, columns) / size


def products(core: Core, column: str) -> Count:
    """Count products, one per cycle at most."""
    return _limited(column, ("cube_float_ops", "cube_int8_ops"), core.cycles)


def vector_cycles(core: Core, column: str) -> Count:
    """Count cycles of one kind of vector work, no more together than the unit is busy."""
    busy = core.busy("vec_ns")
    return _limited(column, _VECTOR_KINDS, lambda t: np.rint(busy(t)))


def _limited(column: str, kinds: tuple[str, ...], limit: Count) -> Count:
    """Count *column*, scaled down where all *kinds* together would exceed the limit of a kernel."""

    def count(t: CostTable) -> F64:
        share = limit(t) / np.maximum(_sum(t, kinds), 1.0)
        return np.asarray(np.floor(_sum(t, (column,)) * np.minimum(share, 1.0)))

    return count


def registers(
    bits: Mapping[int, int], columns: Mapping[int, tuple[str, ...]], size: Mapping[int, int] | None = None
) -> dict[int, Count]:
    """
    Return bandwidth registers, each with the columns whose bytes it counts.

    The unit is what the formula of the register takes (*bits* per count), or *size* bytes where that knows it.
    """
    other = size or {}
    return {code: moved(other.get(code, bits[code] / 8), *names) for code, names in columns.items()}
