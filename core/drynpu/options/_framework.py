"""What the toolkit collects for a profiler of a framework (torch_npu_profiler.md 1.6, "C-layer meaning")."""

from __future__ import annotations

from typing import Any

from drynpu.options._table import fixed_hz
from drynpu.options._values import Level, MetricGroup
from drynpu.options.profiling_options import metric_groups
from drynpu.platforms import Platform


def framework_switches(level: Level, *, profile_memory: bool) -> dict[str, Any]:
    """Return path -> value of the switches that nobody gives there: they follow from the level and from memory."""
    return {
        "switches.acl_api": level >= Level.L0,
        "switches.communication": level >= Level.L1,
        "switches.runtime_api": level >= Level.L2,
        "switches.aicpu": level >= Level.L2,
        "switches.task_memory": profile_memory,
    }


def framework_rates(*, memory: bool, io: bool, interconnection: bool) -> dict[str, Any]:
    """Return path -> rate of the items that are only switched on there; ``None`` where they are off."""
    switched = {"hardware_memory_hz": memory, "io_hz": io, "interconnection_hz": interconnection}
    return {f"sampling.{name}": fixed_hz(f"sampling.{name}") if on else None for name, on in switched.items()}


def framework_counters(group: MetricGroup, level: Level, platform: Platform) -> MetricGroup:
    """Return the counters that are collected: none below L1, the default in place of a group that a chip lacks."""
    if level < Level.L1 or group is MetricGroup.NONE:
        return MetricGroup.NONE
    return group if group in metric_groups(platform) else MetricGroup.PIPE_UTILIZATION
