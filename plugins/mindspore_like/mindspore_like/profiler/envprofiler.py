"""``mindspore.profiler.envprofiler``: the profiler of ``MS_PROFILER_OPTIONS``."""

from __future__ import annotations

from mindspore_like._runtime import RUNTIME

__all__ = ["EnvProfiler"]

EnvProfiler = RUNTIME.surface.EnvProfiler
