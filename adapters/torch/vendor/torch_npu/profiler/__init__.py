"""``torch_npu.profiler``: the vendor's names (torch_npu_profiler.md 1.1), answered by ``drynpu_torch.profiler``."""

from __future__ import annotations

from typing import NoReturn

from torch_npu.profiler import profiler as profiler

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

_NOT_PROVIDED = frozenset({"_NonIntrusiveProfile", "_profiler_path_creator", "dynamic_profile"})


def __getattr__(name: str) -> NoReturn:
    if name in _NOT_PROVIDED:
        raise AttributeError(f"torch_npu.profiler.{name} exists in torch_npu, but drynpu does not provide it yet")
    raise AttributeError(f"module 'torch_npu.profiler' has no attribute {name!r}")
