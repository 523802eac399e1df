"""Counter records: one context record per kernel for its main engine, one block record for the other half."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve

from drynpu.chips import Chip
from drynpu.kernels import TaskType, event_codes, pmu_events
from drynpu.options import Level, MetricGroup, ProfilingRequest
from drynpu.options.profiling_options import METRIC_NAMES as METRIC_SPELLINGS
from drynpu.options.profiling_options import sample_parameters
from drynpu.raw import StarsFunction, family, pack_stars_header
from drynpu.session._host_records import task_numbers
from drynpu.session._rows import join_records
from drynpu.session._simulate import Simulation

__all__ = ["METRIC_NAMES", "counter_records", "metric_name", "sample_metrics"]

I64 = npt.NDArray[np.int64]
Records = npt.NDArray[Any]

METRIC_NAMES: Mapping[MetricGroup, str] = MappingProxyType(
    {group: METRIC_SPELLINGS[group] for group in (MetricGroup.PIPE_UTILIZATION,)}
)
"""Metric groups whose counters are modelled, under their name in sample.json."""
# ffts types and sub-task types that tell a reader which engine a record counts (cann_msprof.md 7.4).
_AIC, _AIV, _MIX = 0, 1, 4
_MIX_AIC, _MIX_AIV = 6, 7
_CORE_AIV = 1
"""Lowest bit of the field that holds the ffts type: which core a block record counted."""
_COUNTED = (TaskType.AI_CORE, TaskType.AI_VECTOR_CORE, TaskType.MIX_AIC, TaskType.MIX_AIV)


def metric_name(request: ProfilingRequest) -> str | None:
    """Return the metric group that is recorded, None when counters are off or the group is not modelled."""
    if request.level < Level.L1 or not isinstance(request.aic_metrics, MetricGroup):
        return None
    return METRIC_NAMES.get(request.aic_metrics)


def counter_records(simulation: Simulation, request: ProfilingRequest, *, device_cntvct: int) -> dict[str, Records]:
    """Return the ``ffts_profile`` records of all kernels that run on AI cores; empty without a metric group."""
    metrics = metric_name(request)
    if metrics is None or not simulation.task_types:
        return {}
    kind = np.array([_COUNTED.index(of) if of in _COUNTED else -1 for of in simulation.task_types])
    launch_kind = kind[simulation.lowered.launch_kernel]
    launches = np.flatnonzero(launch_kind >= 0)
    kinds = launch_kind[launches]
    costs = simulation.costs.take(simulation.lowered.launch_kernel[launches], simulation.factor[launches])
    events = pmu_events(costs, metrics)
    vector_first = np.isin(kinds, [_COUNTED.index(TaskType.AI_VECTOR_CORE), _COUNTED.index(TaskType.MIX_AIV)])
    context = _context(simulation, launches, device_cntvct)
    context["ffts"] = np.array([_AIC, _AIV, _MIX, _MIX])[kinds] << 13
    context["sub_task"] = np.array([0, 0, _MIX_AIC, _MIX_AIV])[kinds]
    context["total_cycles"] = np.where(vector_first, events.aiv_total_cycles, events.aic_total_cycles)
    context["pmu"] = np.where(vector_first[:, None], events.aiv_pmu, events.aic_pmu)
    mixed = np.flatnonzero(np.isin(kinds, [2, 3]))
    block = context[mixed].copy()
    block["header"] = pack_stars_header(int(StarsFunction.BLOCK_PMU), np.arange(len(mixed)))
    other_is_vector = ~vector_first[mixed]
    block["ffts"] |= np.where(other_is_vector, _CORE_AIV, 0).astype(np.uint16)
    block["total_cycles"] = np.where(other_is_vector, events.aiv_total_cycles[mixed], events.aic_total_cycles[mixed])
    block["pmu"] = np.where(other_is_vector[:, None], events.aiv_pmu[mixed], events.aic_pmu[mixed])
    block = block[block["total_cycles"] > 0]
    both = join_records("ffts_profile", [context, block])
    return {"ffts_profile": both[np.argsort(both["end_tick"], kind="stable")]}


def _context(simulation: Simulation, launches: I64, device_cntvct: int) -> Records:
    rows = family("ffts_profile").new(len(launches))
    rows["header"] = pack_stars_header(int(StarsFunction.CONTEXT_PMU), np.arange(len(launches)))
    rows["stream_id"] = simulation.stream[launches]
    rows["task_id"] = task_numbers(simulation)[0][launches]
    rows["start_tick"] = simulation.schedule.kernel_start_ticks[launches] + device_cntvct
    rows["end_tick"] = rows["start_tick"] + simulation.kernel_ticks[launches].astype(np.uint64)
    return rows


def sample_metrics(request: ProfilingRequest, chip: Chip) -> dict[str, object]:
    """
    Return the entries of sample.json that follow from the options.

    They tell a reader which events the counters are, so they name what the records hold: nothing for a group that
    is not modelled, and no vector core where the chip has one kind of core.
    """
    metrics = metric_name(request)
    if metrics is None:
        return sample_parameters(evolve(request, aic_metrics=MetricGroup.NONE), chip.platform_version)
    parameters = sample_parameters(request, chip.platform_version)
    cube, vector = (",".join(f"{code:#x}" for code in codes) for codes in event_codes(metrics, chip))
    parameters |= {"ai_core_profiling_events": cube, "aiv_profiling_events": vector}
    if not vector:
        parameters |= {"aiv_profiling": "off", "aiv_metrics": ""}
    return parameters
