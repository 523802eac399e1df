"""``mindspore.profiler.dynamic_profiler``: the profiler of a configuration file."""

from __future__ import annotations

from mindspore_like._runtime import RUNTIME

__all__ = ["DynamicProfilerMonitor"]

DynamicProfilerMonitor = RUNTIME.surface.DynamicProfilerMonitor
