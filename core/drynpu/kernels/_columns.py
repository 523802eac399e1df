"""
Counters back to columns of op_summary (cann_msprof.md 4.2) and of single cores (4.4).

Plain arrays in and out: it works on genuine records as well, whatever order their events have.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from drynpu.arrays import F64, Array
from drynpu.kernels._core import CoreCounters, divide
from drynpu.kernels._counter_groups import counter_group
from drynpu.platforms import Formula, MetricColumn, Platform

Columns = dict[str, Array]

_STORED_DECIMALS = 3


def metric_columns(
    metrics: str,
    core: CoreCounters | None,
    vector: CoreCounters | None,
    duration_us: F64,
    platform: Platform,
) -> Columns:
    """
    Return the counter columns of one metric group in the order of op_summary, not rounded.

    Bandwidths describe one core: times the core time times the blocks they give the bytes of the kernel.

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
        stands for ``N/A``: a column whose events were not recorded, and what the toolkit blanks on the platform.

    Raises
    ------
    OptionError
        The platform has no group *metrics*.
    """
    group = counter_group(metrics, platform)
    kernels = len(duration_us)
    if core is None:
        known = {"mhz": vector.mhz, "cores": vector.cores} if vector else {"mhz": 1.0, "cores": 1}
        core = CoreCounters.idle(kernels, mhz=known["mhz"], cores=int(known["cores"]), events=group.cube_events)
    if platform.split:
        if vector is None:
            vector = CoreCounters.idle(kernels, mhz=core.mhz, events=group.vector_events)
        columns = _side("aicore_time(us)", "aic_", group.cube, core, core.mhz)
        columns |= _side("aiv_time(us)", "aiv_", group.vector, vector, core.mhz)
    else:
        columns = _side("aicore_time(us)", "", group.cube, core, core.mhz)
    if "memory_bound" in group.tail:
        infix = "" if "mte2_ratio" in columns else "exe_"
        mte2, mac, vec = (_stored(columns[f"{pipe}_{infix}ratio"]) for pipe in ("mte2", "mac", "vec"))
        blank = f"vec_{infix}ratio" in platform.files.blank_columns
        columns["memory_bound"] = np.full(kernels, np.nan) if blank else divide(mte2, np.maximum(mac, vec))
    if "cube_utilization(%)" in group.tail:
        # What leaves the cube engine alone does not use the cube.
        used = _stored(columns["aic_mac_ratio" if platform.split else "mac_ratio"]) > 0
        columns["cube_utilization(%)"] = np.where(used, core.utilization_percent(duration_us), 0.0)
    return columns | {name: np.full(kernels, np.nan) for name in columns if name in platform.files.blank_columns}


def _side(
    time_name: str, prefix: str, columns: Sequence[MetricColumn], core: CoreCounters, bandwidth_mhz: float
) -> Columns:
    result: Columns = {
        time_name: core.core_time_us,
        f"{prefix}total_cycles": np.asarray(core.total_cycles, np.int64),
    }
    return result | {f"{prefix}{column.name}": core.values(column, bandwidth_mhz) for column in columns}


def _stored(ratio: F64) -> F64:
    """Return a ratio as the toolkit's databases hold it, from which it goes on computing (cann_msprof.md 4.2)."""
    rounded: F64 = np.round(ratio, _STORED_DECIMALS)
    return rounded


def core_columns(metrics: str, platform: Platform, events: Sequence[int]) -> tuple[MetricColumn, ...]:
    """
    Return the columns of *metrics* on a core that counts *events*, in order.

    Raises
    ------
    OptionError
        The platform has no group *metrics*.
    """
    return tuple(column for column in counter_group(metrics, platform).sampled if _whole(column, events))


def absent_columns(metrics: str, platform: Platform) -> tuple[str, ...]:
    """
    Return the columns of units that a kind of core lacks, but whose events it is told to count, which are 0 there.

    op_summary leaves them out; there are none where all cores are of one kind.

    Raises
    ------
    OptionError
        The platform has no group *metrics*.
    """
    group = counter_group(metrics, platform)
    sides = (("aic_", group.cube_events, group.cube), ("aiv_", group.vector_events, group.vector))
    return tuple(
        f"{prefix}{column.name}"
        for prefix, events, shown in (sides if platform.split else ())
        for column in dict.fromkeys((*group.cube, *group.vector))
        if column.name not in {each.name for each in shown} and _whole(column, events)
    )


def core_metrics(metrics: str, platform: Platform, cores: CoreCounters) -> dict[str, F64]:
    """
    Return the value of every column for each core, ``[cores]``; 0 where there is nothing to divide by.

    A bandwidth uses the clock of its own kind of core, unlike in op_summary.

    Raises
    ------
    OptionError
        The platform has no group *metrics*.
    """
    return {column.name: cores.values(column, cores.mhz) for column in core_columns(metrics, platform, cores.events)}


def _whole(column: MetricColumn, events: Sequence[int]) -> bool:
    """Return whether the events of a column are there; ratios and rates may name events of several releases."""
    counted = [code in events for code, _ in column.terms]
    return all(counted) if column.formula in (Formula.TOTAL, Formula.QUOTIENT) else any(counted)
