"""``mindspore.profiler.common.constant``: the enumerations of the profiler."""

from __future__ import annotations

from drynpu_mindspore.profiler import (
    AicoreMetrics,
    DeviceTarget,
    ExportType,
    HostSystem,
    ProfilerActivity,
    ProfilerLevel,
)

__all__ = ["AicoreMetrics", "DeviceTarget", "ExportType", "HostSystem", "ProfilerActivity", "ProfilerLevel"]
