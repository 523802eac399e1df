"""
Performance counters of kernels, read off their physical account.

An event counts the same thing in whatever metric group it appears; a group is a choice of events in a fixed order
(cann_msprof.md 1.8), which is also the order of ``pmu[8]`` in ffts_profile (7.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu._errors import OptionError
from drynpu._spelling import did_you_mean
from drynpu.chips import Chip
from drynpu.kernels._table import CostTable

__all__ = ["PMU_SLOTS", "MetricGroup", "PmuEvents", "event_codes", "pmu_events"]

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

PMU_SLOTS = 8
"""Counters that one record holds."""

_CYCLES_PER_ICACHE_REQUEST = 8.0
"""Modelled: no source says how often a core asks. Only misses per request is shown."""


@frozen
class MetricGroup:
    """Event codes of an ``aic_metrics`` group: for the cube and the vector core of split chips, and unified chips."""

    cube: tuple[int, ...]
    vector: tuple[int, ...]
    unified: tuple[int, ...]


_PIPES = (0x8, 0xA, 0x9, 0xB, 0xC, 0xD, 0x54, 0x55)

_GROUPS: Mapping[str, MetricGroup] = MappingProxyType(
    {
        "PipeUtilization": MetricGroup(
            cube=(0x416, 0x417, 0x9, 0x302, 0xC, 0x303, 0x54, 0x55), vector=_PIPES, unified=_PIPES
        ),
    }
)


@frozen(eq=False, kw_only=True)
class PmuEvents:
    """
    What the counters of each launch hold, rows in the order of the table.

    ``*_total_cycles`` have shape ``[m]``, ``*_pmu`` shape ``[m, 8]`` with unused slots 0; summed over blocks.
    Unified chips have only the ``aic`` side.
    """

    aic_total_cycles: I64
    aic_pmu: I64
    aiv_total_cycles: I64
    aiv_pmu: I64


def event_codes(metrics: str, chip: Chip) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """
    Return the event codes of the cube (or unified) and of the vector core, in record order.

    Raises
    ------
    OptionError
        *metrics* is no group that can be modelled.
    """
    group = _GROUPS.get(metrics)
    if group is None:
        known = ", ".join(_GROUPS)
        problem = f"aic_metrics: no counters for {metrics!r}; available: {known}.{did_you_mean(metrics, _GROUPS)}"
        raise OptionError([problem])
    return (group.cube, group.vector) if chip.split else (group.unified, ())


def pmu_events(costs: CostTable, metrics: str) -> PmuEvents:
    """
    Return the counters of every row of *costs* for one metric group.

    A pipe event is the pipe's busy time in cycles over all blocks, so that ratio = event / total cycles
    (cann_msprof.md 4.2). ``0x416`` counts 16-bit and floating products, ``0x417`` 8-bit ones.

    Raises
    ------
    OptionError
        *metrics* is no group that can be modelled.
    """
    cube, vector = event_codes(metrics, costs.chip)
    counts = _CUBE_COUNTS if costs.chip.split else _UNIFIED_COUNTS
    return PmuEvents(
        aic_total_cycles=costs.aic_cycles,
        aic_pmu=_stack(costs, cube, counts),
        aiv_total_cycles=costs.aiv_cycles,
        aiv_pmu=_stack(costs, vector, _VECTOR_COUNTS),
    )


Count = Callable[[CostTable], F64]


def _stack(costs: CostTable, codes: tuple[int, ...], counts: Mapping[int, Count]) -> I64:
    stacked = np.zeros((len(costs), PMU_SLOTS), np.int64)
    for slot, code in enumerate(codes):
        # A core without the unit counts nothing: the vector core has no cube, so no mac and no mte1.
        if code in counts:
            stacked[:, slot] = np.rint(counts[code](costs))
    return stacked


def _on_cube(column: str) -> Count:
    return lambda t: np.asarray(getattr(t, column) * t.chip.aic_mhz / 1000 * t.block_num)


def _on_vector(column: str) -> Count:
    return lambda t: np.asarray(getattr(t, column) * t.chip.aiv_mhz / 1000 * t.aiv_blocks)


def _cube_requests(t: CostTable) -> F64:
    return np.asarray(np.floor(t.aic_cycles / _CYCLES_PER_ICACHE_REQUEST), np.float64)


def _vector_requests(t: CostTable) -> F64:
    return np.asarray(np.floor(t.aiv_cycles / _CYCLES_PER_ICACHE_REQUEST), np.float64)


_mac = _on_cube("mac_ns")

_CUBE_COUNTS: Mapping[int, Count] = MappingProxyType(
    {
        0x416: lambda t: np.where(t.mac_int8, 0.0, _mac(t)),
        0x417: lambda t: np.where(t.mac_int8, _mac(t), 0.0),
        0x9: _on_cube("aic_scalar_ns"),
        0x302: _on_cube("mte1_ns"),
        0xC: _on_cube("aic_mte2_ns"),
        0x303: _on_cube("fixpipe_ns"),
        0x54: _cube_requests,
        0x55: lambda t: _cube_requests(t) * t.aic_icache_miss_rate,
    }
)

_VECTOR_COUNTS: Mapping[int, Count] = MappingProxyType(
    {
        0x8: _on_vector("vec_ns"),
        0x9: _on_vector("aiv_scalar_ns"),
        0xC: _on_vector("aiv_mte2_ns"),
        0xD: _on_vector("mte3_ns"),
        0x54: _vector_requests,
        0x55: lambda t: _vector_requests(t) * t.aiv_icache_miss_rate,
    }
)

_UNIFIED_COUNTS: Mapping[int, Count] = MappingProxyType(
    {
        0x8: _on_cube("vec_ns"),
        0xA: _mac,
        0x9: _on_cube("aic_scalar_ns"),
        0xB: _on_cube("mte1_ns"),
        0xC: _on_cube("aic_mte2_ns"),
        0xD: _on_cube("mte3_ns"),
        0x54: _cube_requests,
        0x55: lambda t: _cube_requests(t) * t.aic_icache_miss_rate,
    }
)
