"""The profiler surface of PyTorch on Ascend; the facade ``torch_npu.profiler`` re-exports it."""

from __future__ import annotations

from drynpu_torch.profiler._analyse import analyse, tensorboard_trace_handler
from drynpu_torch.profiler._collection import ProcessRecording, listen, start_collection
from drynpu_torch.profiler._config import _ExperimentalConfig
from drynpu_torch.profiler._flops import register_npu_flop
from drynpu_torch.profiler._one_step import StepProfile
from drynpu_torch.profiler._process import ProfPathCreator
from drynpu_torch.profiler._profile import _KinetoProfile, profile
from drynpu_torch.profiler._schedule import schedule
from drynpu_torch.profiler._unattended import start_unattended
from drynpu_torch.profiler._values import (
    AiCMetrics,
    ExportType,
    HostSystem,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
    supported_activities,
    supported_ai_core_metrics,
    supported_export_type,
    supported_profiler_level,
)
from drynpu_torch.profiler.checking import start_check

__all__ = [
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "ProcessRecording",
    "ProfPathCreator",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "StepProfile",
    "_ExperimentalConfig",
    "_KinetoProfile",
    "analyse",
    "listen",
    "profile",
    "register_npu_flop",
    "schedule",
    "start_check",
    "start_collection",
    "start_unattended",
    "supported_activities",
    "supported_ai_core_metrics",
    "supported_export_type",
    "supported_profiler_level",
    "tensorboard_trace_handler",
]
