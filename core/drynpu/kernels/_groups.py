"""
Metric groups of the chips before the 950: which events are recorded, and which columns come from them.

Events: cann_msprof.md 1.8; of the 310B the collector's own tables (hicann/runtime ``mini_v3_platform.cpp``,
``platform_interface.h``). Columns: 4.2, and where it lists none the tables of the parser (Ascend/msprof
``ai_core_metrics_manager.py``, ``metric_calculator_group/*_calculator.h``), in their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu.kernels._core import Column
from drynpu.kernels._registers import BITS_PER_COUNT, MetricGroup, pipe, quotient, ratio, total
from drynpu.kernels._registers import rate as _rate

__all__ = ["BOUND", "GROUPS_310B", "GROUPS_310P", "GROUPS_910", "GROUPS_A2_A3", "UTILIZATION"]

UTILIZATION = ("cube_utilization(%)",)
BOUND = ("memory_bound", *UTILIZATION)


def _read_write(read: tuple[str, int], write: tuple[str, int]) -> tuple[Column, Column]:
    return _rate(read[0], BITS_PER_COUNT, read[1]), _rate(write[0], BITS_PER_COUNT, write[1])


_ICACHE = quotient("icache_miss_rate", 0x55, 0x54)
_VEC, _SCALAR = pipe("vec", 0x8), pipe("scalar", 0x9)
# The cube core of A2/A3 has counters of its own; older profiles have the common ones there.
_MAC, _MTE1 = pipe("mac", 0x416, 0x417, 0xA), pipe("mte1", 0x302, 0xB)
_MTE2, _MTE3, _FIXPIPE = pipe("mte2", 0xC), pipe("mte3", 0xD), pipe("fixpipe", 0x303)
_CUBE_RATIOS = (ratio("mac_fp16_ratio", 0x49), ratio("mac_int8_ratio", 0x4A))
_VECTOR_RATIOS = (
    ratio("vec_fp32_ratio", 0x4B),
    ratio("vec_fp16_ratio", 0x4C, 0x4D),
    ratio("vec_int32_ratio", 0x4E),
    ratio("vec_misc_ratio", 0x4F),
)
_CUBE_FOPS = total("cube_fops", (0x49, 8192.0), (0x4A, 16384.0))
_VECTOR_FOPS = total("vector_fops", (0x4C, 128.0), (0x4D, 64.0), (0x4B, 64.0), (0x4E, 64.0), (0x4F, 32.0))
_VECTOR_FOPS_V3 = total("vector_fops", (0x4C, 128.0), (0x4D, 64.0), (0x4B, 64.0), (0x4E, 16.0), (0x4F, 16.0))
_UB = _read_write(("ub_read_bw", 0x15), ("ub_write_bw", 0x16))
_L1 = _read_write(("l1_read_bw", 0x31), ("l1_write_bw", 0x32))
_L2 = _read_write(("l2_read_bw", 0xF), ("l2_write_bw", 0x10))
_MAIN = _read_write(("main_mem_read_bw", 0x12), ("main_mem_write_bw", 0x13))
_L0A = _read_write(("l0a_read_bw", 0x1B), ("l0a_write_bw", 0x1C))
_L0B = _read_write(("l0b_read_bw", 0x21), ("l0b_write_bw", 0x22))
_L0C = _read_write(("l0c_read_bw", 0x27), ("l0c_write_bw", 0x29))
_L0C_CUBE = _read_write(("l0c_read_bw_cube", 0x28), ("l0c_write_bw_cube", 0x2A))
_UB_VECTOR = _read_write(("ub_read_bw_vector", 0x43), ("ub_write_bw_vector", 0x44))
_UB_SCALAR = _read_write(("ub_read_bw_scalar", 0x37), ("ub_write_bw_scalar", 0x38))
_CONFLICTS = (
    ratio("vec_bankgroup_cflt_ratio", 0x64),
    ratio("vec_bank_cflt_ratio", 0x65),
    ratio("vec_resc_cflt_ratio", 0x66),
)
_CACHE = (
    total("write_cache_hit", (0x500, 1.0)),
    total("write_cache_miss_allocate", (0x502, 1.0)),
    total("r0_read_cache_hit", (0x504, 1.0)),
    total("r0_read_cache_miss_allocate", (0x506, 1.0)),
    total("r1_read_cache_hit", (0x508, 1.0)),
    total("r1_read_cache_miss_allocate", (0x50A, 1.0)),
)
_ACCESS = (
    total("read_main_memory_datas(KB)", (0x50D, 0.125), (0x50E, 0.125)),
    total("write_main_memory_datas(KB)", (0x50C, 0.125)),
    total("GM_to_L1_datas(KB)", (0x32, 0.25), (0x206, -0.25)),
    total("L0C_to_L1_datas(KB)", (0x206, 0.125)),
    total("L0C_to_GM_datas(KB)", (0x20C, 0.125), (0x206, -0.125)),
    total("GM_to_UB_datas(KB)", (0x3E, 0.125)),
    total("UB_to_GM_datas(KB)", (0x3D, 0.125)),
)
_EXECUTE = (
    *pipe("vec_exe", 0x12C),
    *pipe("mac_exe", 0x49, 0x4A),
    *pipe("scalar_exe", 0x9),
    *pipe("mte1_exe", 0x302),
    *pipe("mte2_exe", 0xC),
    *pipe("mte3_exe", 0xD),
    *pipe("fixpipe_exe", 0x303),
)
_UB_VECTOR_310B = (
    _rate("ub_read_bw_vector", BITS_PER_COUNT, 0x17F, 0x180),
    _rate("ub_write_bw_vector", BITS_PER_COUNT, 0x191),
)

_ARITHMETIC_EVENTS = (0x49, 0x4A, 0x4B, 0x4C, 0x4D, 0x4E, 0x4F)
_PIPE_EVENTS = (0x8, 0xA, 0x9, 0xB, 0xC, 0xD, 0x54, 0x55)
_CUBE_PIPE_EVENTS = (0x416, 0x417, 0x9, 0x302, 0xC, 0x303, 0x54, 0x55)
_MEMORY_EVENTS = (0x15, 0x16, 0x31, 0x32, 0xF, 0x10, 0x12, 0x13)
_L0_EVENTS = (0x1B, 0x1C, 0x21, 0x22, 0x27, 0x28, 0x29, 0x2A)
_UB_EVENTS = (0x10, 0x13, 0x37, 0x38, 0x3D, 0x3E, 0x43, 0x44)
_UB_EVENTS_310B = (0x37, 0x38, 0x1A5, 0x1A6, 0x17F, 0x180, 0x191)
_CONFLICT_EVENTS = (0x64, 0x65, 0x66)
_CACHE_EVENTS = (0x500, 0x502, 0x504, 0x506, 0x508, 0x50A)
_ACCESS_EVENTS = (0x32, 0x3D, 0x3E, 0x206, 0x20C, 0x50C, 0x50D, 0x50E)
_EXECUTE_EVENTS = (0x12C, 0x49, 0x4A, 0x9, 0x302, 0xC, 0xD, 0x303)


def _unified(events: tuple[int, ...], *columns: Column, tail: tuple[str, ...] = ()) -> MetricGroup:
    return MetricGroup(cube_events=events, cube=columns, tail=tail)


def _split(
    events: tuple[int, ...], cube: tuple[Column, ...], vector: tuple[Column, ...], tail: tuple[str, ...] = ()
) -> MetricGroup:
    return MetricGroup(cube_events=events, vector_events=events, cube=cube, vector=vector, tail=tail)


GROUPS_910: Mapping[str, MetricGroup] = MappingProxyType(
    {
        "ArithmeticUtilization": _unified(_ARITHMETIC_EVENTS, *_CUBE_RATIOS, *_VECTOR_RATIOS, _CUBE_FOPS, _VECTOR_FOPS),
        "PipeUtilization": _unified(_PIPE_EVENTS, *_VEC, *_MAC, *_SCALAR, *_MTE1, *_MTE2, *_MTE3, _ICACHE, tail=BOUND),
        "Memory": _unified(_MEMORY_EVENTS, *_UB, *_L1, *_L2, *_MAIN),
        "MemoryL0": _unified(_L0_EVENTS, *_L0A, *_L0B, *_L0C, *_L0C_CUBE),
        "MemoryUB": _unified(_UB_EVENTS, *_UB_VECTOR, *_UB_SCALAR),
        "ResourceConflictRatio": _unified(_CONFLICT_EVENTS, *_CONFLICTS),
    }
)
"""Also of the 310, for which cann_msprof.md 1.8 has no column."""

GROUPS_310P: Mapping[str, MetricGroup] = MappingProxyType(
    dict(GROUPS_910)
    | {
        "ArithmeticUtilization": _unified(
            _ARITHMETIC_EVENTS, *_CUBE_RATIOS, *_VECTOR_RATIOS, _CUBE_FOPS, _VECTOR_FOPS_V3
        )
    }
)

GROUPS_310B: Mapping[str, MetricGroup] = MappingProxyType(
    dict(GROUPS_910)
    | {
        "MemoryUB": _unified(_UB_EVENTS_310B, *_UB_VECTOR_310B, *_UB_SCALAR),
        "L2Cache": _unified(_CACHE_EVENTS, *_CACHE),
        "PipelineExecuteUtilization": _unified(_EXECUTE_EVENTS, *_EXECUTE, tail=BOUND),
    }
)

GROUPS_A2_A3: Mapping[str, MetricGroup] = MappingProxyType(
    {
        "ArithmeticUtilization": _split(
            _ARITHMETIC_EVENTS, (*_CUBE_RATIOS, _CUBE_FOPS), (*_VECTOR_RATIOS, _VECTOR_FOPS)
        ),
        "PipeUtilization": MetricGroup(
            cube_events=_CUBE_PIPE_EVENTS,
            vector_events=_PIPE_EVENTS,
            cube=(*_MAC, *_SCALAR, *_MTE1, *_MTE2, *_FIXPIPE, _ICACHE),
            vector=(*_VEC, *_SCALAR, *_MTE2, *_MTE3, _ICACHE),
            tail=UTILIZATION,
        ),
        "Memory": _split(_MEMORY_EVENTS, (*_L1, *_MAIN, *_L2), (*_UB, *_MAIN, *_L2)),
        "MemoryL0": _split(_L0_EVENTS, (*_L0A, *_L0B, *_L0C_CUBE), _L0C),
        "MemoryUB": _split(_UB_EVENTS, _UB_SCALAR, (*_UB_VECTOR, *_UB_SCALAR)),
        "ResourceConflictRatio": _split(_CONFLICT_EVENTS, (), _CONFLICTS),
        "L2Cache": _split(_CACHE_EVENTS, _CACHE, _CACHE),
        "MemoryAccess": _split(_ACCESS_EVENTS, _ACCESS, _ACCESS),
    }
)
