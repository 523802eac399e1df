"""
The profiler surface of MindSpore on Ascend: parameters, schedule, state machine, messages.

Neither a framework nor files: :func:`build_surface` makes the names for a :class:`Host`, which is real MindSpore or a
package like it, and a :class:`Backend`, which records.
"""

from __future__ import annotations

from drynpu_mindspore._variables import API_VARIABLE, OPTIONS_VARIABLE
from drynpu_mindspore.profiler._backend import Analysis, Backend, RunRequest
from drynpu_mindspore.profiler._controller import RunHandle
from drynpu_mindspore.profiler._generation import Generation, generation_of
from drynpu_mindspore.profiler._host import Host, Log, UserLog
from drynpu_mindspore.profiler._legacy import V22_DEFAULTS
from drynpu_mindspore.profiler._parameters import Parameters
from drynpu_mindspore.profiler._schedule import Schedule
from drynpu_mindspore.profiler._surface import Surface, build_surface
from drynpu_mindspore.profiler._values import (
    AicoreMetrics,
    AnalysisMode,
    DeviceTarget,
    ExportType,
    HostSystem,
    JitLevel,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
)
from drynpu_mindspore.profiler._values import _ExperimentalConfig as ExperimentalConfig

__all__ = [
    "API_VARIABLE",
    "OPTIONS_VARIABLE",
    "V22_DEFAULTS",
    "AicoreMetrics",
    "Analysis",
    "AnalysisMode",
    "Backend",
    "DeviceTarget",
    "ExperimentalConfig",
    "ExportType",
    "Generation",
    "Host",
    "HostSystem",
    "JitLevel",
    "Log",
    "Parameters",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "RunHandle",
    "RunRequest",
    "Schedule",
    "Surface",
    "UserLog",
    "build_surface",
    "generation_of",
]
