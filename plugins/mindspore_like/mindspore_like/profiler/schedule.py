"""``mindspore.profiler.schedule``: the schedule and its actions."""

from __future__ import annotations

from drynpu_mindspore.profiler import ProfilerAction
from mindspore_like._runtime import RUNTIME

__all__ = ["ProfilerAction", "Schedule"]

Schedule = RUNTIME.surface.schedule
