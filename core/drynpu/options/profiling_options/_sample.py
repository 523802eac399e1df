"""What the collector notes about the options in ``sample.json``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu.options._request import ProfilingRequest
from drynpu.options._values import CustomEvents, Level, MetricGroup, Metrics
from drynpu.options.profiling_options._chips import ChipFamily, resolve_family
from drynpu.options.profiling_options._names import PROF_LEVELS, metrics_text

__all__ = ["pmu_events", "sample_parameters"]

# cann_msprof.md 1.8, column "PMU events (non-v6)"; PipelineExecuteUtilization is chip specific and not given there.
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
_CUBE_PIPE_EVENTS = (0x416, 0x417, 0x9, 0x302, 0xC, 0x303, 0x54, 0x55)


def pmu_events(metrics: Metrics, chip: str, *, cube: bool) -> tuple[int, ...]:
    """
    Return the counter events of *metrics* in the order in which ``ffts_profile`` carries them.

    *cube* asks for the cube cores: on A2/A3 pipe utilisation has events of its own there (cann_msprof.md 1.8).
    Empty where the reference gives none (no counters, 950, chip-specific groups).
    """
    family = resolve_family(chip)
    if isinstance(metrics, CustomEvents):
        return metrics.events
    if family is ChipFamily.ASCEND_950:
        return ()
    if cube and family is ChipFamily.ASCEND_A2_A3 and metrics is MetricGroup.PIPE_UTILIZATION:
        return _CUBE_PIPE_EVENTS
    return _EVENTS.get(metrics, ())


def sample_parameters(request: ProfilingRequest, chip: str) -> dict[str, object]:
    """
    Return the ``sample.json`` entries that follow from the options (cann_msprof.md 2.4).

    ``prof_level``, ``llc_profiling`` and, for the AI Core and the vector core, whether counters are on, how, which
    group and which events. On A2/A3 the cube's ``PipeUtilization`` is written as ``PipeUtilizationExct``.
    """
    on = request.aic_metrics is not MetricGroup.NONE and request.level >= Level.L1
    name = metrics_text(request.aic_metrics) if on else ""
    exact = on and pmu_events(request.aic_metrics, chip, cube=True) == _CUBE_PIPE_EVENTS
    parameters: dict[str, object] = {
        "prof_level": PROF_LEVELS[request.level],
        "llc_profiling": request.sampling.llc.value,
    }
    for prefix, cube in (("ai_core", True), ("aiv", False)):
        events = pmu_events(request.aic_metrics, chip, cube=cube) if on else ()
        parameters[f"{prefix}_profiling"] = "on" if on else "off"
        parameters[f"{prefix}_profiling_mode"] = "task-based"
        parameters[f"{prefix}_metrics"] = "PipeUtilizationExct" if cube and exact else name
        parameters[f"{prefix}_profiling_events"] = ",".join(f"{event:#x}" for event in events)
    return parameters
