"""The collector's spellings of the neutral words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from drynpu.options._values import BlockTrace, GraphApi, HostSystem, HostUsage, Level, MetricGroup, Metrics

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
