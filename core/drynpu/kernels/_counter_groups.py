"""Which events and columns a counter group has on a platform."""

from __future__ import annotations

from drynpu._errors import OptionError
from drynpu._spelling import did_you_mean
from drynpu.options import CustomEvents
from drynpu.platforms import CounterGroup, Formula, MetricColumn, Platform


def custom_events(metrics: str) -> tuple[int, ...]:
    """
    Return the events of ``Custom:0x49,0x4a``; () for a named group.

    Raises
    ------
    OptionError
        The list is none, or has too many or impossible numbers.
    """
    return CustomEvents.from_text(metrics).events if metrics.casefold().startswith("custom") else ()


def counter_group(metrics: str, platform: Platform) -> CounterGroup:
    """
    Return events and columns of a counter group, or of a list of custom events.

    A custom event has one column per core, ``r`` and its number, with the count as it is.

    Raises
    ------
    OptionError
        The platform has no group *metrics*.
    """
    events = custom_events(metrics)
    if events:
        columns = tuple(MetricColumn(f"r{code:x}", Formula.TOTAL, ((code, 1.0),)) for code in events)
        if not platform.split:
            return CounterGroup(cube_events=events, cube=columns, sampled=columns)
        return CounterGroup(cube_events=events, vector_events=events, cube=columns, vector=columns, sampled=columns)
    groups = platform.counter_groups
    if metrics not in groups:
        known = ", ".join(groups)
        near = did_you_mean(metrics, groups)
        raise OptionError([f"aic_metrics: {platform.label} has no counters for {metrics!r}; available: {known}.{near}"])
    return groups[metrics]


def metric_column_names(metrics: str, platform: Platform) -> tuple[str, ...]:
    """
    Return the counter columns of op_summary, in order (cann_msprof.md 4.2).

    Raises
    ------
    OptionError
        The platform has no group *metrics*.
    """
    group = counter_group(metrics, platform)
    if not platform.split:
        return "aicore_time(us)", "total_cycles", *(column.name for column in group.cube), *group.tail
    cube = "aicore_time(us)", "aic_total_cycles", *(f"aic_{column.name}" for column in group.cube)
    vector = "aiv_time(us)", "aiv_total_cycles", *(f"aiv_{column.name}" for column in group.vector)
    return *cube, *vector, *group.tail
