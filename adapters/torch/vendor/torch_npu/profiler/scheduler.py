"""``torch_npu.profiler.scheduler``: where the vendor keeps schedules and their actions."""

from __future__ import annotations

from drynpu_torch.profiler import ProfilerAction
from drynpu_torch.profiler import schedule as Schedule

__all__ = ["ProfilerAction", "Schedule"]
