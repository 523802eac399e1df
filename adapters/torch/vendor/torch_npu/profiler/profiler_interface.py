"""``torch_npu.profiler.profiler_interface``: where the vendor keeps the function that names the activities."""

from __future__ import annotations

from drynpu_torch.profiler import supported_activities

__all__ = ["supported_activities"]
