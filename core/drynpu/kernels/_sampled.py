"""
Columns of the counters of single cores, summed over the samples of a recording (cann_msprof.md 4.4).

The names are those of op_summary without prefix, but in lists of their own, the same for both kinds of core
(Ascend/msprof ``ai_core_metrics_manager``, in the order of ``ai_core_config``, less what ``ai_core_report`` drops).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from attrs import evolve

from drynpu.kernels._core import Column, CoreCounters, Formula
from drynpu.kernels._families import METRIC_GROUPS, custom_events, metric_group
from drynpu.kernels._groups import GROUPS_910
from drynpu.kernels._registers import BITS_PER_COUNT, rate
from drynpu.options.profiling_options import ChipFamily

__all__ = ["core_columns", "core_metrics"]

F64 = npt.NDArray[np.float64]

_PIPE = "vec_ratio mac_ratio scalar_ratio mte1_ratio mte2_ratio mte3_ratio fixpipe_ratio icache_miss_rate"
_UB = "ub_read_bw_vector(GB/s) ub_write_bw_vector(GB/s) ub_read_bw_scalar(GB/s) ub_write_bw_scalar(GB/s)"
_UB_MTE = rate("ub_read_bw_mte", BITS_PER_COUNT, 0x3D), rate("ub_write_bw_mte", BITS_PER_COUNT, 0x3E)
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "PipeUtilization": _PIPE,
        "PipelineExecuteUtilization": (
            "vec_exe_ratio mac_exe_ratio scalar_exe_ratio mte1_exe_ratio mte2_exe_ratio mte3_exe_ratio"
            " fixpipe_exe_ratio"
        ),
        "ArithmeticUtilization": (
            "mac_fp16_ratio mac_int8_ratio vec_fp32_ratio vec_fp16_ratio vec_int32_ratio vec_misc_ratio cube_fops"
            " vector_fops"
        ),
        "Memory": (
            "ub_read_bw(GB/s) ub_write_bw(GB/s) l1_read_bw(GB/s) l1_write_bw(GB/s) l2_read_bw(GB/s) l2_write_bw(GB/s)"
            " main_mem_read_bw(GB/s) main_mem_write_bw(GB/s)"
        ),
        "MemoryL0": (
            "l0a_read_bw(GB/s) l0a_write_bw(GB/s) l0b_read_bw(GB/s) l0b_write_bw(GB/s) l0c_read_bw(GB/s)"
            " l0c_write_bw(GB/s) l0c_read_bw_cube(GB/s) l0c_write_bw_cube(GB/s)"
        ),
        "MemoryUB": f"{_UB} ub_read_bw_mte(GB/s) ub_write_bw_mte(GB/s) fixp2ub_write_bw(GB/s)",
        "ResourceConflictRatio": "vec_bankgroup_cflt_ratio vec_bank_cflt_ratio vec_resc_cflt_ratio",
        "L2Cache": (
            "write_cache_hit write_cache_miss_allocate r0_read_cache_hit r0_read_cache_miss_allocate"
            " r1_read_cache_hit r1_read_cache_miss_allocate read_local_l2_hit read_local_l2_miss read_local_l2_victim"
            " write_local_l2_hit write_local_l2_miss write_local_l2_victim"
        ),
        "MemoryAccess": (
            "read_main_memory_datas(KB) write_main_memory_datas(KB) gm_to_l1_datas(KB) l0c_to_l1_datas(KB)"
            " l0c_to_gm_datas(KB) gm_to_ub_datas(KB) ub_to_gm_datas(KB)"
        ),
    }
)
"""By group, of all chips together; a chip has those that its group counts."""
_L2_TRAFFIC = frozenset({"l2_read_bw(GB/s)", "l2_write_bw(GB/s)"})
_SHOW_L2_TRAFFIC = (ChipFamily.ASCEND_310, ChipFamily.ASCEND_A2_A3)
_FP32_LANES_310 = 32.0
"""Of a vector instruction on 32 bits there, where op_summary takes 64."""


def core_columns(metrics: str, family: ChipFamily, events: Sequence[int]) -> tuple[Column, ...]:
    """
    Return the columns of *metrics* on a core that counts *events*, in order.

    Raises
    ------
    OptionError
        The family has no group *metrics*.
    """
    group = metric_group(metrics, family)
    if custom_events(metrics):
        return tuple(column for column in group.cube if _whole(column, events))
    known = _pool(metrics, family)
    names = (name for name in _NAMES.get(metrics, "").split() if name.lower() in known)
    shown = (name for name in names if name not in _L2_TRAFFIC or family in _SHOW_L2_TRAFFIC)
    columns = (evolve(known[name.lower()], name=name) for name in shown)
    return tuple(column for column in columns if _whole(column, events))


def core_metrics(metrics: str, family: ChipFamily, cores: CoreCounters) -> dict[str, F64]:
    """
    Return the value of every column for each core, ``[cores]``; 0 where there is nothing to divide by.

    The clock of a bandwidth is that of the kind of core itself, other than in op_summary.

    Raises
    ------
    OptionError
        The family has no group *metrics*.
    """
    columns = core_columns(metrics, family, cores.events)
    return {column.name: column.values(cores, cores.mhz) for column in columns}


def _pool(metrics: str, family: ChipFamily) -> dict[str, Column]:
    """Return what a group can show, by lower-case name: the vector core of A2/A3 counts pipes as older chips do."""
    group = METRIC_GROUPS[family][metrics]
    columns = [*group.cube, *group.vector]
    if family is ChipFamily.ASCEND_A2_A3 and metrics in GROUPS_910:
        columns = [*GROUPS_910[metrics].cube, *columns]
    if family is ChipFamily.ASCEND_310:
        columns = [*map(_as_on_310, columns), *(_UB_MTE if metrics == "MemoryUB" else ())]
    return {column.name.lower(): column for column in columns if column.formula is not Formula.TIME}


def _as_on_310(column: Column) -> Column:
    if column.name != "vector_fops":
        return column
    return evolve(column, terms=tuple((code, _FP32_LANES_310 if code == 0x4B else of) for code, of in column.terms))


def _whole(column: Column, events: Sequence[int]) -> bool:
    """Whether the events of a column are there; ratios and rates may name those of several releases."""
    counted = [code in events for code, _ in column.terms]
    return all(counted) if column.formula in (Formula.TOTAL, Formula.QUOTIENT) else any(counted)
