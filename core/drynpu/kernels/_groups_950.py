"""
Metric groups of the 950, whose counters have numbers of their own.

Events: the collector's platform table (hicann/runtime ``david_v121_platform.cpp``), ten to a record. Columns:
Ascend/msprof ``metric_calculator_group/*_calculator.h`` (its ``*_CONFIG_V6``) less those of units that a core lacks
(``metric_processor.cpp``). ``cube_fops``, which cann_msprof.md 4.2 does not list for this chip, is in those tables
and in the parser's manual.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu.kernels._core import Column
from drynpu.kernels._groups import UTILIZATION
from drynpu.kernels._registers import BITS_PER_COUNT_950, MetricGroup, pipe, quotient, ratio, total
from drynpu.kernels._registers import rate as _rate

__all__ = ["GROUPS_950"]


def _rates(**codes: tuple[int, ...]) -> tuple[Column, ...]:
    return tuple(_rate(name, BITS_PER_COUNT_950, *registers) for name, registers in codes.items())


def _group(
    events: tuple[int, ...], cube: tuple[Column, ...], vector: tuple[Column, ...], tail: tuple[str, ...] = ()
) -> MetricGroup:
    return MetricGroup(cube_events=events, vector_events=events, cube=cube, vector=vector, tail=tail)


_SCALAR, _MTE2, _MTE3 = pipe("scalar", 0x1), pipe("mte2", 0x202), pipe("mte3", 0x203)
_ICACHE = quotient("icache_miss_rate", 0x35, 0x34)
# Newer collectors record 0x422 and 0x423, which count 128 bytes, in place of 0x400 and 0x401.
_MAIN = _rates(main_mem_read_bw=(0x400, 0x422), main_mem_write_bw=(0x401, 0x423))
_UB_SCALAR = _rates(ub_read_bw_scalar=(0x3,), ub_write_bw_scalar=(0x5,), fixp2ub_write_bw=(0x70C,))
_CACHE = (
    total("read_local_l2_hit", (0x424, 1.0)),
    total("read_local_l2_miss", (0x425, 1.0)),
    total("read_local_l2_victim", (0x426, 1.0)),
    total("write_local_l2_hit", (0x42A, 1.0)),
    total("write_local_l2_miss", (0x42B, 1.0)),
    total("write_local_l2_victim", (0x42C, 1.0)),
)

GROUPS_950: Mapping[str, MetricGroup] = MappingProxyType(
    {
        "ArithmeticUtilization": _group(
            (0x323, 0x324),
            (
                ratio("mac_fp16_ratio", 0x323),
                ratio("mac_int8_ratio", 0x324),
                total("cube_fops", (0x323, 8192.0), (0x324, 16384.0)),
            ),
            (),
        ),
        "PipeUtilization": _group(
            (0x501, 0x301, 0x1, 0x701, 0x202, 0x203, 0x34, 0x35, 0x714),
            (*pipe("mac", 0x301), *_SCALAR, *pipe("mte1", 0x701), *_MTE2, *_MTE3, *pipe("fixpipe", 0x714), _ICACHE),
            (*pipe("vec", 0x501), *_SCALAR, *_MTE2, *_MTE3, _ICACHE),
            UTILIZATION,
        ),
        "Memory": _group(
            (0x400, 0x401, 0x56F, 0x571, 0x570, 0x572, 0x707, 0x709),
            (*_rates(l1_read_bw=(0x707,), l1_write_bw=(0x709,)), *_MAIN),
            # As the parser has it: reads include those of the vector unit, writes do not.
            (*_rates(ub_read_bw=(0x56F, 0x571), ub_write_bw=(0x570,)), *_MAIN),
        ),
        "MemoryL0": _group(
            (0x304, 0x703, 0x306, 0x705, 0x712, 0x30A, 0x308),
            _rates(
                l0a_read_bw=(0x304,),
                l0a_write_bw=(0x703,),
                l0b_read_bw=(0x306,),
                l0b_write_bw=(0x705,),
                l0c_read_bw_cube=(0x30A,),
                l0c_write_bw_cube=(0x308,),
            ),
            _rates(l0c_read_bw=(0x712,)),
        ),
        "MemoryUB": _group(
            (0x3, 0x5, 0x70C, 0x206, 0x204, 0x571, 0x572),
            _UB_SCALAR,
            (*_rates(ub_read_bw_vector=(0x571,), ub_write_bw_vector=(0x572,)), *_UB_SCALAR),
        ),
        "ResourceConflictRatio": _group(
            (0x540, 0x556, 0x502, 0x528),
            (),
            (ratio("vec_bank_cflt_ratio", 0x540, 0x556), quotient("vec_resc_cflt_ratio", 0x528, 0x502)),
        ),
        "L2Cache": _group((0x424, 0x425, 0x426, 0x42A, 0x42B, 0x42C), _CACHE, _CACHE),
    }
)
