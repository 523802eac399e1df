"""A profiler's parameters as the core's request (mindspore_profiler.md 2, 3)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from drynpu.options import (
    Activity,
    ExportType,
    Filters,
    Level,
    MetricGroup,
    Output,
    ProfilingRequest,
    Sampling,
    Switches,
    framework_counters,
    framework_rates,
    framework_switches,
    with_values,
)
from drynpu.options.profiling_options import HOST_SYSTEM_WORDS, METRIC_NAMES
from drynpu.platforms import Chip
from drynpu_mindspore.profiler import Parameters, ProfilerActivity, ProfilerLevel, RunRequest

_LEVELS: Mapping[ProfilerLevel, Level] = {
    ProfilerLevel.LevelNone: Level.NONE,
    ProfilerLevel.Level0: Level.L0,
    ProfilerLevel.Level1: Level.L1,
    ProfilerLevel.Level2: Level.L2,
}
_GROUPS = {"None": MetricGroup.NONE, **{name: group for group, name in METRIC_NAMES.items()}}
_FORWARD, _BACKWARD = "PROFILING_FP_START", "PROFILING_BP_END"


def profiling_request(run: RunRequest, chip: Chip) -> ProfilingRequest:
    """
    Return the request of a run.

    Counters that the chip does not have become PipeUtilization. ``PROFILING_FP_START`` and ``PROFILING_BP_END`` name
    the operators of the iteration trace's points.
    """
    parameters = run.parameters
    level = _LEVELS[parameters.profiler_level]
    forward, backward = os.environ.get(_FORWARD, ""), os.environ.get(_BACKWARD, "")
    request = ProfilingRequest(
        level=level,
        activities=_activities(parameters),
        aic_metrics=framework_counters(_GROUPS[parameters.aic_metrics.value], level, chip.platform),
        switches=Switches(
            record_shapes=parameters.record_shapes,
            profile_memory=parameters.profile_memory,
            with_stack=parameters.with_stack,
            l2_cache=parameters.l2_cache,
            tx=parameters.mstx,
            training_trace=True,
        ),
        filters=Filters(
            first_forward_op=forward,
            last_backward_op=backward,
            tx_domains_include=parameters.mstx_domain_include,
            tx_domains_exclude=parameters.mstx_domain_exclude,
        ),
        sampling=Sampling(host_systems=tuple(HOST_SYSTEM_WORDS[system.value] for system in parameters.host_sys)),
        output=Output(
            export=tuple(ExportType(form.value) for form in parameters.export_type),
            data_simplification=parameters.data_simplification,
        ),
    )
    rates = framework_rates(
        memory=parameters.profile_memory or parameters.hbm_ddr,
        io=parameters.sys_io,
        interconnection=parameters.sys_interconnection or parameters.pcie,
    )
    return with_values(request, framework_switches(level, profile_memory=parameters.profile_memory) | rates)


def _activities(parameters: Parameters) -> tuple[Activity, ...]:
    """Return the sides that are recorded; what asks for none of ours (GPU alone) still has the host."""
    sides = {ProfilerActivity.CPU: Activity.HOST, ProfilerActivity.NPU: Activity.DEVICE}
    return tuple(sides[each] for each in parameters.activities if each in sides) or (Activity.HOST,)
