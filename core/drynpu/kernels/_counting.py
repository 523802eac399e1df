"""How an event counts: cycles of a pipe, bytes in units of a register, lines of L2, read off a cost table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from attrs import frozen

from drynpu.arrays import F64, Array
from drynpu.kernels._account import Conflicts, EngineTimes, Products, VectorCycles, Work
from drynpu.kernels._table import CostTable
from drynpu.kernels._traffic import LINE_BYTES

Count = Callable[[CostTable], F64]
Counts = Mapping[int, Count]
Column = Callable[[Work[Array]], Array]
"""A column of what kernels compute and move."""

_CYCLES_PER_ICACHE_REQUEST = 8.0
"""Modelled: no source says how often a core asks. Only misses per request is shown."""


@frozen(kw_only=True)
class Core:
    """The parts of the account that belong to one kind of core."""

    on_cube: bool
    inflow: Column
    outflow: Column

    def cycles(self, t: CostTable) -> F64:
        """Return all cycles, summed over blocks."""
        return np.asarray(t.aic_cycles if self.on_cube else t.aiv_cycles, np.float64)

    def engine(self, t: CostTable) -> EngineTimes[F64]:
        """Return the times of its engine."""
        return t.cube if self.on_cube else t.vector

    def main_reads(self, w: Work[Array]) -> Array:
        """Return the bytes read behind L2."""
        return w.cube.main_read_bytes if self.on_cube else w.vector.main_read_bytes

    def main_writes(self, w: Work[Array]) -> Array:
        """Return the bytes written behind L2."""
        return w.cube.main_write_bytes if self.on_cube else w.vector.main_write_bytes

    def busy(self, times: Callable[[CostTable], F64]) -> Count:
        """Count the cycles of a pipe."""
        if self.on_cube:
            return lambda t: np.asarray(times(t) * t.chip.aic_mhz / 1000 * t.block_num)
        return lambda t: np.asarray(times(t) * t.chip.aiv_mhz / 1000 * t.aiv_blocks)

    @property
    def scalar(self) -> Count:
        """Count the cycles of the scalar pipe."""
        return self.busy(lambda t: self.engine(t).scalar_ns)

    @property
    def mte2(self) -> Count:
        """Count the cycles of the reading pipe."""
        return self.busy(lambda t: self.engine(t).mte2_ns)

    def conflicts(self, share: Callable[[Conflicts[Array]], Array]) -> Count:
        """Count the vector cycles lost to a kind of conflict."""
        busy = self.busy(vec_ns)
        return lambda t: np.asarray(busy(t) * t.gather(share(t.work.conflicts)))

    def icache_requests(self, t: CostTable) -> F64:
        """Count instruction fetches."""
        return np.asarray(np.floor(self.cycles(t) / _CYCLES_PER_ICACHE_REQUEST))

    def icache_misses(self, t: CostTable) -> F64:
        """Count the requests that the instruction cache did not serve."""
        return self.icache_requests(t) * self.engine(t).icache_miss_rate

    def misses(self, way: str) -> Count:
        """Count the lines read or written behind L2."""
        return moved(LINE_BYTES, self.main_reads if way == "read" else self.main_writes)

    def hits(self, way: str) -> Count:
        """Count the other lines that pass."""
        passed, misses = moved(LINE_BYTES, self.inflow if way == "read" else self.outflow), self.misses(way)
        return lambda t: np.maximum(np.ceil(passed(t)) - misses(t), 0.0)

    def victims(self, way: str) -> Count:
        """Count the misses that pushed another line out."""
        misses = self.misses(way)
        return lambda t: misses(t) * t.gather(t.work.l2_victim_share)


CUBE = Core(
    on_cube=True,
    inflow=lambda w: w.cube.gm_to_l1_bytes,
    outflow=lambda w: w.cube.l0c_to_gm_bytes,
)
VECTOR = Core(
    on_cube=False,
    inflow=lambda w: w.vector.gm_to_ub_bytes,
    outflow=lambda w: w.vector.ub_to_gm_bytes,
)
UNIFIED = Core(
    on_cube=True,
    inflow=lambda w: w.cube.gm_to_l1_bytes + w.vector.gm_to_ub_bytes,
    outflow=lambda w: w.vector.ub_to_gm_bytes,
)


def vec_ns(t: CostTable) -> F64:
    """Return the busy time of the vector pipe."""
    return t.vector.vec_ns


def never(t: CostTable) -> F64:
    """Count nothing: a unit that no kernel of the model uses."""
    return np.zeros(len(t))


def moved(size: float, column: Column) -> Count:
    """Count bytes in units of *size*."""
    return lambda t: np.asarray(t.gather(column(t.work)) / size)


def products(core: Core, column: Callable[[Products[Array]], Array]) -> Count:
    """Count products, one per cycle at most."""
    return _limited(lambda w: column(w.products), lambda w: w.products.float_ops + w.products.int8_ops, core.cycles)


def vector_cycles(core: Core, column: Callable[[VectorCycles[Array]], Array]) -> Count:
    """Count cycles of one kind of vector work, no more together than the unit is busy."""
    busy = core.busy(vec_ns)
    return _limited(
        lambda w: column(w.cycles),
        lambda w: w.cycles.fp32 + w.cycles.fp16 + w.cycles.int32 + w.cycles.misc,
        lambda t: np.rint(busy(t)),
    )


def _limited(column: Column, together: Column, limit: Count) -> Count:
    """Count *column*, scaled down where all kinds *together* would exceed the limit of a kernel."""

    def count(t: CostTable) -> F64:
        share = limit(t) / np.maximum(t.gather(together(t.work)), 1.0)
        return np.asarray(np.floor(t.gather(column(t.work)) * np.minimum(share, 1.0)))

    return count


def registers(
    bits: Mapping[int, int], columns: Mapping[int, Column], size: Mapping[int, int] | None = None
) -> dict[int, Count]:
    """
    Return bandwidth registers, each with the bytes that it counts.

    The unit is what the formula of the register takes (*bits* per count), or *size* bytes where that knows it.
    """
    other = size or {}
    return {code: moved(other.get(code, bits[code] / 8), column) for code, column in columns.items()}
