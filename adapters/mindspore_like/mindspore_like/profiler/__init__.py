"""``mindspore.profiler``, with the names of MindSpore 2.7."""

from __future__ import annotations

from drynpu_mindspore.profiler import (
    AicoreMetrics,
    ExportType,
    HostSystem,
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
)

# The submodules first: `schedule` and `mstx` are names of a module and, for scripts, of a class.
from mindspore_like.profiler import (
    common,
    dynamic_profiler,
    envprofiler,
    experimental_config,
    mstx,
    profiler,
    schedule,
)
from mindspore_like.profiler.dynamic_profiler import DynamicProfilerMonitor
from mindspore_like.profiler.envprofiler import EnvProfiler
from mindspore_like.profiler.mstx import Mstx as mstx  # noqa: F811, N813
from mindspore_like.profiler.profiler import (
    Profile as profile,  # noqa: N813
)
from mindspore_like.profiler.profiler import (
    Profiler,
    tensor_board_trace_handler,
    tensorboard_trace_handler,
)
from mindspore_like.profiler.schedule import Schedule as schedule  # noqa: F811, N813

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
    "tensorboard_trace_handler",
]
