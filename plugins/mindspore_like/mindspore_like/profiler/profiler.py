"""``mindspore.profiler.profiler``: the profilers, their handlers and the analysis of many runs."""

from __future__ import annotations

from mindspore_like._runtime import RUNTIME

__all__ = ["Profile", "Profiler", "analyse", "tensor_board_trace_handler", "tensorboard_trace_handler"]

Profile = RUNTIME.surface.profile
Profiler = RUNTIME.surface.Profiler
analyse = RUNTIME.surface.analyse
tensor_board_trace_handler = RUNTIME.surface.tensor_board_trace_handler
tensorboard_trace_handler = RUNTIME.surface.tensorboard_trace_handler
