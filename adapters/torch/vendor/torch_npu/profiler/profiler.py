"""``torch_npu.profiler.profiler``: where the vendor keeps the classes and the offline ``analyse``."""

from __future__ import annotations

from drynpu_torch.profiler import _KinetoProfile, analyse, profile, supported_activities, tensorboard_trace_handler

__all__ = ["_KinetoProfile", "analyse", "profile", "supported_activities", "tensorboard_trace_handler"]
