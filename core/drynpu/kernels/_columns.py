"""
Counters back to the columns of op_summary (cann_msprof.md 4.2, "Formulas").

Plain arrays in and out: it works on genuine records as well, whatever order their events have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

__all__ = ["CoreCounters", "pipe_utilization_columns"]

F64 = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer[Any]]
Columns = dict[str, npt.NDArray[Any]]

# Events of a pipe; a pipe is the sum of those that were recorded (older profiles count the cube's mac as 0xa).
_PIPES = {
    "mac": (0x416, 0x417, 0xA),
    "scalar": (0x9,),
    "mte1": (0x302, 0xB),
    "mte2": (0xC,),
    "mte3": (0xD,),
    "fixpipe": (0x303,),
    "vec": (0x8,),
}
_ICACHE_REQUEST, _ICACHE_MISS = (0x54,), (0x55,)
_CUBE = ("mac", "scalar", "mte1", "mte2", "fixpipe")
_VECTOR = ("vec", "scalar", "mte2", "mte3")
_UNIFIED = ("vec", "mac", "scalar", "mte1", "mte2", "mte3")


@frozen(eq=False, kw_only=True)
class CoreCounters:
    """
    Counters of one kind of core, one row per kernel; rows of kernels that do not use it are 0.

    ``total_cycles`` has shape ``[m]``, ``pmu`` shape ``[m, e]`` with columns in the order of ``events``;
    ``block_num`` (``[m]``) is the number of blocks on this kind of core: for the vector side of MIX_AIC the mix
    block number. ``mhz`` and ``cores`` are the chip's, from info.json.
    """

    total_cycles: Ints
    pmu: Ints
    block_num: Ints
    mhz: float
    cores: int
    events: Sequence[int]

    @property
    def core_time_us(self) -> F64:
        """Core time: ``cycles / MHz / blocks * ceil(blocks / cores)``; 0 without blocks."""
        blocks = np.maximum(self.block_num, 1)
        return np.asarray(self.total_cycles / self.mhz / blocks * np.ceil(blocks / self.cores), np.float64)

    def count(self, codes: Sequence[int]) -> F64:
        """Return the sum of the recorded events among *codes*, ``[m]``."""
        slots = [slot for slot, code in enumerate(self.events) if code in codes]
        return np.asarray(self.pmu[:, slots].sum(axis=1), np.float64)

    def utilization_percent(self, duration_us: F64) -> F64:
        """Return the share of all cores' time in *duration_us* that kernels occupied."""
        return 100.0 * _divide(self.total_cycles, self.mhz * self.cores * duration_us)


def pipe_utilization_columns(core: CoreCounters, vector: CoreCounters | None, duration_us: F64) -> Columns:
    """
    Return the PipeUtilization columns in the order of op_summary, not rounded.

    Parameters
    ----------
    core:
        Counters of the cube core; of the one kind of core on unified chips.
    vector:
        Counters of the vector core; ``None`` on unified chips, whose columns have no prefix.
    duration_us:
        Task durations, shape ``[m]``.

    Returns
    -------
    dict
        Column name -> ``[m]``; cycles are int64, the rest float64. ``memory_bound`` (unified chips only) is NaN
        where a ratio that it needs is 0.
    """
    if vector is not None:
        columns = _side(core, "aicore_time(us)", "aic_", _CUBE) | _side(vector, "aiv_time(us)", "aiv_", _VECTOR)
    else:
        columns = _side(core, "aicore_time(us)", "", _UNIFIED)
        mte2, mac, vec = (_divide(core.count(_PIPES[pipe]), core.total_cycles) for pipe in ("mte2", "mac", "vec"))
        bound = _divide(mte2, np.maximum(mac, vec))
        columns["memory_bound"] = np.where((mac == 0) | (vec == 0), np.nan, bound)
    columns["cube_utilization(%)"] = core.utilization_percent(duration_us)
    return columns


def _side(core: CoreCounters, time_name: str, prefix: str, pipes: Sequence[str]) -> Columns:
    time_us = core.core_time_us
    columns: Columns = {time_name: time_us, f"{prefix}total_cycles": np.asarray(core.total_cycles, np.int64)}
    for pipe in pipes:
        ratio = _divide(core.count(_PIPES[pipe]), core.total_cycles)
        columns[f"{prefix}{pipe}_time(us)"] = ratio * time_us
        columns[f"{prefix}{pipe}_ratio"] = ratio
    columns[f"{prefix}icache_miss_rate"] = _divide(core.count(_ICACHE_MISS), core.count(_ICACHE_REQUEST))
    return columns


def _divide(above: npt.ArrayLike, below: npt.ArrayLike) -> F64:
    above, below = np.broadcast_arrays(np.asarray(above, np.float64), np.asarray(below, np.float64))
    return np.divide(above, below, out=np.zeros(above.shape), where=below != 0)
