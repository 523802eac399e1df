"""``torch_npu.profiler``: the vendor's names (torch_npu_profiler.md 1.1), answered by ``drynpu_torch.profiler``."""

from __future__ import annotations

from torch_npu.profiler import _profiler_path_creator as _profiler_path_creator
from torch_npu.profiler import dynamic_profile as dynamic_profile
from torch_npu.profiler import experimental_config as experimental_config
from torch_npu.profiler import profiler as profiler
from torch_npu.profiler import profiler_interface as profiler_interface
from torch_npu.profiler import scheduler as scheduler

from drynpu_torch.profiler import (
    AiCMetrics,
    ExportType,
    HostSystem,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
    _KinetoProfile,  # noqa: F401 - reachable in the vendor's package without being in __all__
    profile,
    schedule,
    supported_activities,
    supported_ai_core_metrics,
    supported_export_type,
    supported_profiler_level,
    tensorboard_trace_handler,
)
from drynpu_torch.profiler.dynamic import NonIntrusiveProfile as _NonIntrusiveProfile  # noqa: F401 - as above

__all__ = [
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "profile",
    "schedule",
    "supported_activities",
    "supported_ai_core_metrics",
    "supported_export_type",
    "supported_profiler_level",
    "tensorboard_trace_handler",
]
