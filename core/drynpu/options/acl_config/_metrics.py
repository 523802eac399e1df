"""The codes of the counter groups (pyacl_prof.md 3, "aicore metrics")."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu._errors import OptionError
from drynpu.options._problems import shown
from drynpu.options._values import CustomEvents, MetricGroup, Metrics
from drynpu.options.profiling_options import METRIC_NAMES, metric_groups
from drynpu.platforms import DEFAULT_CHIP, resolve_platform

AICORE_METRICS: Mapping[int, MetricGroup] = MappingProxyType(
    {
        0: MetricGroup.ARITHMETIC_UTILIZATION,
        1: MetricGroup.PIPE_UTILIZATION,
        2: MetricGroup.MEMORY,
        3: MetricGroup.MEMORY_L0,
        4: MetricGroup.RESOURCE_CONFLICT_RATIO,
        5: MetricGroup.MEMORY_UB,
        6: MetricGroup.L2_CACHE,
        7: MetricGroup.PIPELINE_EXECUTE_UTILIZATION,
        8: MetricGroup.MEMORY_ACCESS,
        0xFF: MetricGroup.NONE,
    }
)
"""Code -> group."""

_CODES = {group: code for code, group in AICORE_METRICS.items()}


def metric_group(code: int, chip: str = DEFAULT_CHIP) -> MetricGroup:
    """
    Return the group of *code*.

    Raises
    ------
    OptionError
        When no group has that code, or *chip* lacks the group.
    """
    group = AICORE_METRICS.get(code) if isinstance(code, int) else None
    if group is None:
        allowed = ", ".join(f"{known:#x}" if known > 9 else str(known) for known in AICORE_METRICS)
        raise OptionError([f"aicore_metrics: {shown(code)} is no group of counters; allowed: {allowed}."])
    platform = resolve_platform(chip)
    if group is not MetricGroup.NONE and group not in metric_groups(platform):
        name = METRIC_NAMES[group]
        raise OptionError([f"aicore_metrics: {code} ({name}) does not exist on {platform.label}."])
    return group


def metrics_code(metrics: Metrics) -> int:
    """Return the code of a group. Raises `OptionError` for hand-picked events, which these calls cannot ask for."""
    if isinstance(metrics, CustomEvents):
        raise OptionError([f"aic_metrics: {metrics.text} has no code; the ACL calls take named groups only."])
    return _CODES[metrics]
