"""Columns of the counters of single cores, summed over the samples of a recording (cann_msprof.md 4.4)."""

from __future__ import annotations

from collections.abc import Sequence

from drynpu.arrays import F64
from drynpu.kernels._core import CoreCounters
from drynpu.kernels._counter_groups import counter_group
from drynpu.platforms import Formula, MetricColumn, Platform


def core_columns(metrics: str, platform: Platform, events: Sequence[int]) -> tuple[MetricColumn, ...]:
    """
    Return the columns of *metrics* on a core that counts *events*, in order.

    Raises
    ------
    OptionError
        The platform has no group *metrics*.
    """
    return tuple(column for column in counter_group(metrics, platform).sampled if _whole(column, events))


def core_metrics(metrics: str, platform: Platform, cores: CoreCounters) -> dict[str, F64]:
    """
    Return the value of every column for each core, ``[cores]``; 0 where there is nothing to divide by.

    The clock of a bandwidth is that of the kind of core itself, other than in op_summary.

    Raises
    ------
    OptionError
        The platform has no group *metrics*.
    """
    return {column.name: cores.values(column, cores.mhz) for column in core_columns(metrics, platform, cores.events)}


def _whole(column: MetricColumn, events: Sequence[int]) -> bool:
    """Return whether the events of a column are there; ratios and rates may name those of several releases."""
    counted = [code in events for code, _ in column.terms]
    return all(counted) if column.formula in (Formula.TOTAL, Formula.QUOTIENT) else any(counted)
