"""``mindspore.profiler``, with the names of MindSpore 2.7; ``schedule`` and ``mstx`` are classes, as they are there."""

from __future__ import annotations

from mindspore_like.profiler.common.constant import (
    AicoreMetrics,
    ExportType,
    HostSystem,
    ProfilerActivity,
    ProfilerLevel,
)
from mindspore_like.profiler.dynamic_profiler import DynamicProfilerMonitor
from mindspore_like.profiler.envprofiler import EnvProfiler
from mindspore_like.profiler.experimental_config import _ExperimentalConfig
from mindspore_like.profiler.mstx import Mstx as mstx  # noqa: N813
from mindspore_like.profiler.profiler import Profile as profile  # noqa: N813
from mindspore_like.profiler.profiler import Profiler, tensor_board_trace_handler, tensorboard_trace_handler
from mindspore_like.profiler.schedule import Schedule as schedule  # noqa: N813

__all__ = [
    "AicoreMetrics",
    "DynamicProfilerMonitor",
    "EnvProfiler",
    "ExportType",
    "HostSystem",
    "Profiler",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "mstx",
    "profile",
    "schedule",
    "tensor_board_trace_handler",
    "tensorboard_trace_handler",
]
