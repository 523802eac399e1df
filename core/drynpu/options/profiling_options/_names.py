"""The collector's spellings of the neutral words, and which of them a platform has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from drynpu.options._table import Kind
from drynpu.options._values import BlockTrace, GraphApi, HostSystem, HostUsage, Level, LlcMode, MetricGroup, Metrics
from drynpu.platforms import Platform, known_series

LEVEL_NAMES: Mapping[Level, str] = MappingProxyType(
    {Level.NONE: "off", Level.L0: "l0", Level.L1: "l1", Level.L2: "l2", Level.L3: "l3"}
)
"""Level -> ``task_time``."""

SAMPLE_LEVELS: Mapping[Level, str] = MappingProxyType(
    {Level.NONE: "off", Level.L0: "level0", Level.L1: "level1", Level.L2: "level2", Level.L3: "level3"}
)
"""Level -> ``prof_level`` of sample.json (cann_msprof.md 1.3)."""

LEVEL_WORDS: Mapping[str, Level] = MappingProxyType(
    {"on": Level.L1, **{name: level for level, name in LEVEL_NAMES.items()}}
)
"""Text of ``task_time`` -> level, ``l3`` where the chip has it."""

SWITCH_WORDS: Mapping[str, bool] = MappingProxyType({"on": True, "off": False})
GRAPH_API_WORDS: Mapping[str, GraphApi] = MappingProxyType({word.value: word for word in GraphApi})
BLOCK_WORDS: Mapping[str, BlockTrace] = MappingProxyType(
    {word.value: word for word in (BlockTrace.ALL, BlockTrace.ON, BlockTrace.OFF)}
)

METRIC_NAMES: Mapping[MetricGroup, str] = MappingProxyType(
    {
        # Units are written in capitals: L0, L2, UB.
        group: "".join(part.upper() if len(part) == 2 else part.capitalize() for part in group.value.split("_"))
        for group in MetricGroup
        if group is not MetricGroup.NONE
    }
)
"""Group -> ``aic_metrics`` (cann_msprof.md 1.8); ``NONE`` has no spelling there."""

MAX_METRICS_LENGTH = 70
"""Longest text of ``aic_metrics`` (cann_msprof.md 1.3)."""
MAX_OP_TYPES_LENGTH = 256
"""Longest list of operator types (cann_msprof.md 1.3)."""

HOST_SYSTEM_NAMES: Mapping[HostSystem, str] = MappingProxyType(
    {
        HostSystem.CPU: "cpu",
        HostSystem.MEMORY: "mem",
        HostSystem.DISK: "disk",
        HostSystem.NETWORK: "network",
        HostSystem.OS_RUNTIME: "osrt",
        HostSystem.NUMA: "numa",
    }
)
HOST_SYSTEM_WORDS: Mapping[str, HostSystem] = MappingProxyType(
    {name: system for system, name in HOST_SYSTEM_NAMES.items()}
)

HOST_USAGE_NAMES: Mapping[HostUsage, str] = MappingProxyType({HostUsage.CPU: "cpu", HostUsage.MEMORY: "mem"})
HOST_USAGE_WORDS: Mapping[str, HostUsage] = MappingProxyType({name: usage for usage, name in HOST_USAGE_NAMES.items()})


def metrics_text(metrics: Metrics) -> str:
    """Return ``aic_metrics`` as the collector spells it; ``""`` for no counters."""
    if isinstance(metrics, MetricGroup):
        return METRIC_NAMES.get(metrics, "")
    return "Custom:" + ",".join(f"{event:#x}" for event in metrics.events)


def listed_words(words: Iterable[str]) -> str:
    """Return *words* as messages list them: ``'on', 'off' or 'l0'``."""
    *first, last = map(repr, words)
    return f"{', '.join(first)} or {last}"


def series_among(
    platforms: Collection[Any] | None = None, not_platforms: Collection[Any] | None = None
) -> frozenset[str]:
    """Return the series of chips among *platforms*, or all but *not_platforms*; without either, all."""
    # YAML reads 310 as a number.
    if platforms is not None:
        return frozenset(map(str, platforms))
    return frozenset(known_series()) - set(map(str, not_platforms or ()))


def default_metric_group(platform: Platform) -> MetricGroup:
    """Return the group that acl.json and the msprof command collect when none is named (cann_msprof.md 1.6)."""
    return next(group for group, name in METRIC_NAMES.items() if name == platform.options.default_metric_group)


def metric_groups(platform: Platform) -> tuple[MetricGroup, ...]:
    """Return the counter groups that *platform* has, in the order of cann_msprof.md 1.8, without ``NONE``."""
    groups = {name: group for group, name in METRIC_NAMES.items()}
    return tuple(groups[name] for name in platform.counter_groups)


def words_on(platform: Platform, kind: Kind) -> dict[str, Any]:
    """Return the texts that *platform* takes for an option of a *kind* that has words, in the order of messages."""
    if kind is Kind.LLC:
        return {name: LlcMode(name) for name in platform.options.llc_modes}
    lacking = None if platform.options.level_l3 else Level.L3
    return {text: value for text, value in _WORDS[kind].items() if value is not lacking}


# Kinds of options whose values are words; words of the cache sampler depend on the platform alone.
_WORDS: Mapping[Kind, Mapping[str, Any]] = {
    Kind.SWITCH: SWITCH_WORDS,
    Kind.LEVEL: LEVEL_WORDS,
    Kind.GRAPH_API: GRAPH_API_WORDS,
    Kind.BLOCK: BLOCK_WORDS,
    Kind.HOST_SYSTEMS: HOST_SYSTEM_WORDS,
    Kind.HOST_USAGE: HOST_USAGE_WORDS,
}
