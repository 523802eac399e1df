"""``torch_npu.profiler.dynamic_profile``: the vendor's functions, answered by ``drynpu_torch.profiler.dynamic``."""

from __future__ import annotations

from drynpu_torch.profiler.dynamic import init, set_state, start, step

__all__ = ["init", "set_state", "start", "step"]
