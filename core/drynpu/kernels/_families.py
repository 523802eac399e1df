"""Which metric groups, events and columns a chip has."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu._errors import OptionError
from drynpu._spelling import did_you_mean
from drynpu.kernels._groups import GROUPS_310B, GROUPS_310P, GROUPS_910, GROUPS_A2_A3
from drynpu.kernels._groups_950 import GROUPS_950
from drynpu.kernels._registers import MetricGroup, total
from drynpu.options import CustomEvents
from drynpu.options.profiling_options import ChipFamily
from drynpu.platforms import Chip, find_platform

__all__ = [
    "METRIC_COLUMNS",
    "METRIC_GROUPS",
    "PMU_SLOTS",
    "custom_events",
    "family_of",
    "is_split",
    "metric_column_names",
    "metric_group",
    "platform_family",
    "pmu_slots",
]

PMU_SLOTS = 8
"""Counters that one record holds on the chips before the 950."""
_PMU_SLOTS_950 = 10

_SPLIT = frozenset({ChipFamily.ASCEND_A2_A3, ChipFamily.ASCEND_950})

METRIC_GROUPS: Mapping[ChipFamily, Mapping[str, MetricGroup]] = MappingProxyType(
    {
        ChipFamily.ASCEND_310: GROUPS_910,
        ChipFamily.ASCEND_910: GROUPS_910,
        ChipFamily.ASCEND_310P: GROUPS_310P,
        ChipFamily.ASCEND_A2_A3: GROUPS_A2_A3,
        ChipFamily.ASCEND_310B: GROUPS_310B,
        ChipFamily.ASCEND_950: GROUPS_950,
    }
)
"""Groups of each family under their name in sample.json."""


def is_split(family: ChipFamily) -> bool:
    """Return whether cube and vector cores are separate, so that columns carry ``aic_``/``aiv_``."""
    return family in _SPLIT


def pmu_slots(family: ChipFamily) -> int:
    """Return how many counters one record of the family holds (Ascend/msprof ``profiling_bean/stars/``)."""
    return _PMU_SLOTS_950 if family is ChipFamily.ASCEND_950 else PMU_SLOTS


def platform_family(platform_version: str, *, split: bool) -> ChipFamily:
    """
    Return the family whose counters a platform has.

    A platform that no source describes is taken for A2/A3 if it is *split*, for the 910 otherwise.
    """
    return ChipFamily(find_platform(platform_version, split=split).family)


def family_of(chip: Chip) -> ChipFamily:
    """Return the family whose counters *chip* has."""
    return platform_family(chip.platform_version, split=chip.split)


def custom_events(metrics: str) -> tuple[int, ...]:
    """
    Return the events of ``Custom:0x49,0x4a``; () for a named group.

    Raises
    ------
    OptionError
        The list is none, or has too many or impossible numbers.
    """
    return CustomEvents.from_text(metrics).events if metrics.casefold().startswith("custom") else ()


def metric_group(metrics: str, family: ChipFamily) -> MetricGroup:
    """
    Return events and columns of a metric group, or of a list of custom events.

    A custom event has one column per core, ``r`` and its number, with the count as it is.

    Raises
    ------
    OptionError
        The family has no group *metrics*.
    """
    events = custom_events(metrics)
    if events:
        columns = tuple(total(f"r{code:x}", (code, 1.0)) for code in events)
        if not is_split(family):
            return MetricGroup(cube_events=events, cube=columns)
        return MetricGroup(cube_events=events, vector_events=events, cube=columns, vector=columns)
    groups = METRIC_GROUPS[family]
    if metrics not in groups:
        known = ", ".join(groups)
        near = did_you_mean(metrics, groups)
        raise OptionError([f"aic_metrics: {family.label} has no counters for {metrics!r}; available: {known}.{near}"])
    return groups[metrics]


def metric_column_names(metrics: str, family: ChipFamily) -> tuple[str, ...]:
    """
    Return the counter columns of op_summary, in order.

    Raises
    ------
    OptionError
        The family has no group *metrics*.
    """
    return _names(metric_group(metrics, family), split=is_split(family))


def _names(group: MetricGroup, *, split: bool) -> tuple[str, ...]:
    if not split:
        return "aicore_time(us)", "total_cycles", *(column.name for column in group.cube), *group.tail
    cube = "aicore_time(us)", "aic_total_cycles", *(f"aic_{column.name}" for column in group.cube)
    vector = "aiv_time(us)", "aiv_total_cycles", *(f"aiv_{column.name}" for column in group.vector)
    return *cube, *vector, *group.tail


METRIC_COLUMNS: Mapping[tuple[str, ChipFamily], tuple[str, ...]] = MappingProxyType(
    {
        (metrics, family): _names(group, split=is_split(family))
        for family, groups in METRIC_GROUPS.items()
        for metrics, group in groups.items()
    }
)
"""Counter columns of op_summary per metric group and chip family (cann_msprof.md 4.2), in order."""
