"""What the collector notes about the options in ``sample.json``."""

from __future__ import annotations

from drynpu.options._request import ProfilingRequest
from drynpu.options._values import CustomEvents, Level, MetricGroup, Metrics
from drynpu.options.profiling_options._names import SAMPLE_LEVELS, metrics_text
from drynpu.platforms import Platform

_MS_PER_S, _US_PER_S = 1000, 1_000_000


def pmu_events(metrics: Metrics, platform: Platform, *, cube: bool) -> tuple[int, ...]:
    """
    Return the counter events of *metrics* in the order in which ``ffts_profile`` carries them.

    *cube* asks for the cube cores: on A2/A3 pipe utilisation has events of its own there (cann_msprof.md 1.8).
    Empty for no counters and for groups that the platform lacks.
    """
    if isinstance(metrics, CustomEvents):
        return metrics.events
    group = platform.counter_groups.get(metrics_text(metrics))
    if group is None:
        return ()
    return group.cube_events if cube else group.vector_events or group.cube_events


def sample_parameters(request: ProfilingRequest, platform: Platform) -> dict[str, object]:
    """
    Return the ``sample.json`` entries that follow from the options (cann_msprof.md 2.4).

    ``prof_level``, ``llc_profiling`` and, for the AI Core and the vector core, whether counters are on, how, which
    group and which events; the interval of every sampled item that is asked for (names of the collector's own dump,
    hicann/runtime ``data_check.h``). On A2/A3 the cube's ``PipeUtilization`` is written as ``PipeUtilizationExct``.
    """
    sampled_hz = request.sampling.ai_core_hz
    on = request.aic_metrics is not MetricGroup.NONE and (request.level >= Level.L1 or sampled_hz is not None)
    name = metrics_text(request.aic_metrics) if on else ""
    of_cube, of_vector = (pmu_events(request.aic_metrics, platform, cube=cube) if on else () for cube in (True, False))
    cube_name = name if of_cube == of_vector else f"{name}Exct"
    parameters: dict[str, object] = {
        "prof_level": SAMPLE_LEVELS[request.level],
        "llc_profiling": request.sampling.llc.value,
    }
    for prefix, group, events in (("ai_core", cube_name, of_cube), ("aiv", name, of_vector)):
        parameters[f"{prefix}_profiling"] = "on" if on else "off"
        parameters[f"{prefix}_profiling_mode"] = "task-based" if sampled_hz is None else "sample-based"
        parameters[f"{prefix}_metrics"] = group
        parameters[f"{prefix}_profiling_events"] = ",".join(f"{event:#x}" for event in events)
    return {**parameters, **_intervals(request)}


def _intervals(request: ProfilingRequest) -> dict[str, object]:
    """Return how often the sampled items are read, in the unit of each (cann_msprof.md 1.3 "Conversions")."""
    sampling = request.sampling
    intervals: dict[str, object] = {}
    if sampling.ai_core_hz is not None:
        intervals["aicore_sampling_interval"] = intervals["aiv_sampling_interval"] = _MS_PER_S // sampling.ai_core_hz
    if sampling.hardware_memory_hz is not None:
        intervals["hardware_mem_sampling_interval"] = _US_PER_S // sampling.hardware_memory_hz
        intervals["ddr_profiling_events"] = intervals["hbm_profiling_events"] = "read,write"
    for name, rate_hz in (
        ("io_sampling_interval", sampling.io_hz),
        ("interconnection_sampling_interval", sampling.interconnection_hz),
        ("cpu_sampling_interval", sampling.cpu_hz),
        ("dvpp_sampling_interval", sampling.dvpp_hz),
        ("sys_sampling_interval", sampling.device_system_hz),
        ("pid_sampling_interval", sampling.device_process_hz),
        ("hostProfilingSamplingInterval", sampling.host_usage_hz if sampling.host_usage else None),
    ):
        if rate_hz is not None:
            intervals[name] = _MS_PER_S // rate_hz
    if sampling.low_power_hz is not None:
        intervals["sysLpFreq"] = _US_PER_S // sampling.low_power_hz
    if sampling.instruction_cycles is not None:
        intervals["instrProfilingFreq"] = sampling.instruction_cycles
    return intervals
