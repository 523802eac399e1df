"""A profiler's parameters as the core's request (mindspore_profiler.md 2, 3)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from drynpu.options import (
    Activity,
    ExportType,
    Filters,
    HostSystem,
    Level,
    MetricGroup,
    Output,
    ProfilingRequest,
    Sampling,
    Switches,
)
from drynpu.options.profiling_options import metric_groups
from drynpu.platforms import Chip
from drynpu_mindspore.profiler import Parameters, ProfilerActivity, ProfilerLevel, RunRequest

__all__ = ["WHOLE_GRAPH", "profiling_request"]

WHOLE_GRAPH = "O2"
"""The jit level at which the graph engine has a whole graph; its iterations have a trace of their own."""

_LEVELS: Mapping[ProfilerLevel, Level] = {
    ProfilerLevel.LevelNone: Level.NONE,
    ProfilerLevel.Level0: Level.L0,
    ProfilerLevel.Level1: Level.L1,
    ProfilerLevel.Level2: Level.L2,
}
_GROUPS: Mapping[str, MetricGroup] = {
    "PipeUtilization": MetricGroup.PIPE_UTILIZATION,
    "ArithmeticUtilization": MetricGroup.ARITHMETIC_UTILIZATION,
    "Memory": MetricGroup.MEMORY,
    "MemoryL0": MetricGroup.MEMORY_L0,
    "MemoryUB": MetricGroup.MEMORY_UB,
    "ResourceConflictRatio": MetricGroup.RESOURCE_CONFLICT_RATIO,
    "L2Cache": MetricGroup.L2_CACHE,
    "MemoryAccess": MetricGroup.MEMORY_ACCESS,
    "None": MetricGroup.NONE,
}
_HOST_SYSTEMS: Mapping[str, HostSystem] = {
    "cpu": HostSystem.CPU,
    "mem": HostSystem.MEMORY,
    "disk": HostSystem.DISK,
    "network": HostSystem.NETWORK,
    "osrt": HostSystem.OS_RUNTIME,
}
_MEMORY_HZ, _IO_HZ, _INTERCONNECTION_HZ = 50, 100, 50
"""Rates that the toolkit samples at when a profiler of a framework asks (as torch_npu's does)."""
_FORWARD, _BACKWARD = "PROFILING_FP_START", "PROFILING_BP_END"


def profiling_request(run: RunRequest, chip: Chip) -> ProfilingRequest:
    """
    Return the request of a run.

    Counters that the chip does not have become PipeUtilization. ``PROFILING_FP_START`` and ``PROFILING_BP_END`` name
    the operators of the iteration trace's points.
    """
    given = run.parameters
    level = _LEVELS[given.profiler_level]
    forward, backward = os.environ.get(_FORWARD, ""), os.environ.get(_BACKWARD, "")
    return ProfilingRequest(
        level=level,
        activities=_activities(given),
        aic_metrics=_metrics(given, level, chip),
        switches=Switches(
            record_shapes=given.record_shapes,
            profile_memory=given.profile_memory,
            with_stack=given.with_stack,
            l2_cache=given.l2_cache,
            tx=given.mstx,
            aicpu=level >= Level.L2,
            communication=level >= Level.L1,
            runtime_api=level >= Level.L2,
            acl_api=level >= Level.L0,
            task_memory=given.profile_memory,
            training_trace=bool(forward or backward) or run.jit_level == WHOLE_GRAPH,
        ),
        filters=Filters(
            first_forward_op=forward,
            last_backward_op=backward,
            tx_domains_include=given.mstx_domain_include,
            tx_domains_exclude=given.mstx_domain_exclude,
        ),
        sampling=Sampling(
            hardware_memory_hz=_MEMORY_HZ if given.profile_memory or given.hbm_ddr else None,
            io_hz=_IO_HZ if given.sys_io else None,
            interconnection_hz=_INTERCONNECTION_HZ if given.sys_interconnection or given.pcie else None,
            host_systems=tuple(_HOST_SYSTEMS[system.value] for system in given.host_sys),
        ),
        output=Output(
            export=tuple(ExportType(form.value) for form in given.export_type),
            data_simplification=given.data_simplification,
        ),
    )


def _activities(given: Parameters) -> tuple[Activity, ...]:
    """Return the sides that are recorded; what asks for none of ours (GPU alone) still has the host."""
    sides = {ProfilerActivity.CPU: Activity.HOST, ProfilerActivity.NPU: Activity.DEVICE}
    return tuple(sides[each] for each in given.activities if each in sides) or (Activity.HOST,)


def _metrics(given: Parameters, level: Level, chip: Chip) -> MetricGroup:
    group = _GROUPS[given.aic_metrics.value]
    if level < Level.L1 or group is MetricGroup.NONE:
        return MetricGroup.NONE
    return group if group in metric_groups(chip.platform) else MetricGroup.PIPE_UTILIZATION
