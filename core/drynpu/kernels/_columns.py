"""
Counters back to the columns of op_summary (cann_msprof.md 4.2).

Plain arrays in and out: it works on genuine records as well, whatever order their events have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from drynpu.kernels._core import Column, CoreCounters, divide
from drynpu.kernels._families import is_split, metric_group
from drynpu.options.profiling_options import ChipFamily

__all__ = ["BLANK_310B", "metric_columns", "pipe_utilization_columns"]

F64 = npt.NDArray[np.float64]
Columns = dict[str, npt.NDArray[Any]]

BLANK_310B = frozenset(
    {
        "vec_time(us)",
        "vec_ratio",
        "ub_read_bw(GB/s)",
        "ub_write_bw(GB/s)",
        "l0c_write_bw(GB/s)",
        "l2_write_bw(GB/s)",
        "vec_fp32_ratio",
        "vec_fp16_ratio",
        "vec_int32_ratio",
        "vec_misc_ratio",
        "vec_bankgroup_cflt_ratio",
        "vec_bank_cflt_ratio",
        "vec_resc_cflt_ratio",
    }
)
"""Columns that the toolkit blanks on the 310B, which does not have them (Ascend/msprof chip_model_decorators)."""


def metric_columns(
    metrics: str,
    core: CoreCounters | None,
    vector: CoreCounters | None,
    duration_us: F64,
    family: ChipFamily,
) -> Columns:
    """
    Return the counter columns of one metric group in the order of op_summary, not rounded.

    Bandwidths are those of one core: times the core time times the blocks they give the bytes of the kernel.

    Parameters
    ----------
    metrics:
        Name of the group, or ``Custom:`` and a list of events.
    core:
        Counters of the cube core; of the one kind of core on unified chips. ``None`` where no kernel uses it.
    vector:
        Counters of the vector core of split chips, likewise; ignored on unified chips.
    duration_us:
        Task durations, shape ``[m]``.

    Returns
    -------
    dict
        Column name -> ``[m]``; cycles are int64, the rest float64, and 0 in rows that do not use the core. NaN
        stands for ``N/A``: ``memory_bound`` where a ratio that it needs is 0, a column whose events were not
        recorded, and what the family does not have.

    Raises
    ------
    OptionError
        The family has no group *metrics*.
    """
    group = metric_group(metrics, family)
    kernels = len(duration_us)
    if core is None:
        known = {"mhz": vector.mhz, "cores": vector.cores} if vector else {"mhz": 1.0, "cores": 1}
        core = CoreCounters.idle(kernels, mhz=known["mhz"], cores=int(known["cores"]), events=group.cube_events)
    if is_split(family):
        if vector is None:
            vector = CoreCounters.idle(kernels, mhz=core.mhz, events=group.vector_events)
        columns = _side("aicore_time(us)", "aic_", group.cube, core, core.mhz)
        columns |= _side("aiv_time(us)", "aiv_", group.vector, vector, core.mhz)
    else:
        columns = _side("aicore_time(us)", "", group.cube, core, core.mhz)
    if "memory_bound" in group.tail:
        infix = "" if "mte2_ratio" in columns else "exe_"
        columns["memory_bound"] = _bound(*(columns[f"{pipe}_{infix}ratio"] for pipe in ("mte2", "mac", "vec")))
    if "cube_utilization(%)" in group.tail:
        columns["cube_utilization(%)"] = core.utilization_percent(duration_us)
    if family is ChipFamily.ASCEND_310B:
        columns |= {name: np.full(kernels, np.nan) for name in columns if name in BLANK_310B}
    return columns


def pipe_utilization_columns(core: CoreCounters, vector: CoreCounters | None, duration_us: F64) -> Columns:
    """
    Return the PipeUtilization columns of whatever family the recorded events are of (:func:`metric_columns`).

    *vector* is ``None`` on unified chips, whose columns have no prefix.
    """
    if vector is None:
        family = ChipFamily.ASCEND_910
    else:
        own = metric_group("PipeUtilization", ChipFamily.ASCEND_950).cube_events
        family = ChipFamily.ASCEND_950 if core.counted(own[:1]) else ChipFamily.ASCEND_A2_A3
    return metric_columns("PipeUtilization", core, vector, duration_us, family)


def _side(time_name: str, prefix: str, columns: Sequence[Column], core: CoreCounters, bandwidth_mhz: float) -> Columns:
    result: Columns = {
        time_name: core.core_time_us,
        f"{prefix}total_cycles": np.asarray(core.total_cycles, np.int64),
    }
    return result | {f"{prefix}{column.name}": column.values(core, bandwidth_mhz) for column in columns}


def _bound(mte2: F64, mac: F64, vec: F64) -> F64:
    known = (mac != 0) & (vec != 0)
    return np.where(known, divide(mte2, np.maximum(mac, vec)), np.nan)
