"""What the collector notes about the options in ``sample.json``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu.options._request import ProfilingRequest
from drynpu.options._values import CustomEvents, Level, MetricGroup, Metrics
from drynpu.options.profiling_options._chips import ChipFamily, metric_groups, resolve_family
from drynpu.options.profiling_options._names import SAMPLE_LEVELS, metrics_text

# cann_msprof.md 1.8, column "PMU events (non-v6)". What it leaves open, the chip-specific groups of the 310B, is from
# hicann/runtime profimpl/platform/platform_interface.h and mini_v3_platform.cpp, those of the 950 from
# hicann/oam-tools profimpl/platform/david_platform.cpp.
_EVENTS: Mapping[MetricGroup, tuple[int, ...]] = MappingProxyType(
    {
        MetricGroup.ARITHMETIC_UTILIZATION: (0x49, 0x4A, 0x4B, 0x4C, 0x4D, 0x4E, 0x4F),
        MetricGroup.PIPE_UTILIZATION: (0x8, 0xA, 0x9, 0xB, 0xC, 0xD, 0x54, 0x55),
        MetricGroup.MEMORY: (0x15, 0x16, 0x31, 0x32, 0xF, 0x10, 0x12, 0x13),
        MetricGroup.MEMORY_L0: (0x1B, 0x1C, 0x21, 0x22, 0x27, 0x28, 0x29, 0x2A),
        MetricGroup.MEMORY_UB: (0x10, 0x13, 0x37, 0x38, 0x3D, 0x3E, 0x43, 0x44),
        MetricGroup.RESOURCE_CONFLICT_RATIO: (0x64, 0x65, 0x66),
        MetricGroup.L2_CACHE: (0x500, 0x502, 0x504, 0x506, 0x508, 0x50A),
        MetricGroup.MEMORY_ACCESS: (0x32, 0x3D, 0x3E, 0x206, 0x20C, 0x50C, 0x50D, 0x50E),
    }
)
_EVENTS_310B: Mapping[MetricGroup, tuple[int, ...]] = MappingProxyType(
    {
        MetricGroup.PIPELINE_EXECUTE_UTILIZATION: (0x12C, 0x49, 0x4A, 0x9, 0x302, 0xC, 0xD, 0x303),
        MetricGroup.MEMORY_UB: (0x37, 0x38, 0x1A5, 0x1A6, 0x17F, 0x180, 0x191),
    }
)
_EVENTS_950: Mapping[MetricGroup, tuple[int, ...]] = MappingProxyType(
    {
        MetricGroup.ARITHMETIC_UTILIZATION: (0x323, 0x324),
        MetricGroup.PIPE_UTILIZATION: (0x501, 0x301, 0x1, 0x701, 0x202, 0x203, 0x34, 0x35, 0x714),
        MetricGroup.MEMORY: (0x400, 0x401, 0x56F, 0x571, 0x570, 0x572, 0x707, 0x709),
        MetricGroup.MEMORY_L0: (0x304, 0x703, 0x306, 0x705, 0x712, 0x30A, 0x308),
        MetricGroup.MEMORY_UB: (0x3, 0x5, 0x70C, 0x206, 0x204, 0x571, 0x572),
        MetricGroup.RESOURCE_CONFLICT_RATIO: (0x540, 0x556, 0x502, 0x528),
        MetricGroup.L2_CACHE: (0x424, 0x425, 0x426, 0x42A, 0x42B, 0x42C),
    }
)
_MS_PER_S, _US_PER_S = 1000, 1_000_000
_CUBE_PIPE_EVENTS = (0x416, 0x417, 0x9, 0x302, 0xC, 0x303, 0x54, 0x55)


def pmu_events(metrics: Metrics, chip: str, *, cube: bool) -> tuple[int, ...]:
    """
    Return the counter events of *metrics* in the order in which ``ffts_profile`` carries them.

    *cube* asks for the cube cores: on A2/A3 pipe utilisation has events of its own there (cann_msprof.md 1.8).
    Empty for no counters and for groups that the chip lacks.
    """
    family = resolve_family(chip)
    if isinstance(metrics, CustomEvents):
        return metrics.events
    if metrics not in metric_groups(family):
        return ()
    if family is ChipFamily.ASCEND_950:
        return _EVENTS_950[metrics]
    if family is ChipFamily.ASCEND_310B and metrics in _EVENTS_310B:
        return _EVENTS_310B[metrics]
    if cube and family is ChipFamily.ASCEND_A2_A3 and metrics is MetricGroup.PIPE_UTILIZATION:
        return _CUBE_PIPE_EVENTS
    return _EVENTS[metrics]


def sample_parameters(request: ProfilingRequest, chip: str) -> dict[str, object]:
    """
    Return the ``sample.json`` entries that follow from the options (cann_msprof.md 2.4).

    ``prof_level``, ``llc_profiling`` and, for the AI Core and the vector core, whether counters are on, how, which
    group and which events; the interval of every sampled item that is asked for (names of the collector's own dump,
    hicann/runtime ``data_check.h``). On A2/A3 the cube's ``PipeUtilization`` is written as ``PipeUtilizationExct``.
    """
    sampled_hz = request.sampling.ai_core_hz
    on = request.aic_metrics is not MetricGroup.NONE and (request.level >= Level.L1 or sampled_hz is not None)
    name = metrics_text(request.aic_metrics) if on else ""
    exact = on and pmu_events(request.aic_metrics, chip, cube=True) == _CUBE_PIPE_EVENTS
    parameters: dict[str, object] = {
        "prof_level": SAMPLE_LEVELS[request.level],
        "llc_profiling": request.sampling.llc.value,
    }
    for prefix, cube in (("ai_core", True), ("aiv", False)):
        events = pmu_events(request.aic_metrics, chip, cube=cube) if on else ()
        parameters[f"{prefix}_profiling"] = "on" if on else "off"
        parameters[f"{prefix}_profiling_mode"] = "task-based" if sampled_hz is None else "sample-based"
        parameters[f"{prefix}_metrics"] = "PipeUtilizationExct" if cube and exact else name
        parameters[f"{prefix}_profiling_events"] = ",".join(f"{event:#x}" for event in events)
    return {**parameters, **_intervals(request)}


def _intervals(request: ProfilingRequest) -> dict[str, object]:
    """Return how often the sampled items are read, in the unit of each (cann_msprof.md 1.3 "Conversions")."""
    sampling = request.sampling
    found: dict[str, object] = {}
    if sampling.ai_core_hz is not None:
        found["aicore_sampling_interval"] = found["aiv_sampling_interval"] = _MS_PER_S // sampling.ai_core_hz
    if sampling.hardware_memory_hz is not None:
        found["hardware_mem_sampling_interval"] = _US_PER_S // sampling.hardware_memory_hz
        found["ddr_profiling_events"] = found["hbm_profiling_events"] = "read,write"
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
            found[name] = _MS_PER_S // rate_hz
    if sampling.low_power_hz is not None:
        found["sysLpFreq"] = _US_PER_S // sampling.low_power_hz
    if sampling.instruction_cycles is not None:
        found["instrProfilingFreq"] = sampling.instruction_cycles
    return found
