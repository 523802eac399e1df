"""``torch_npu.profiler._flops_registry``: formulas that a script adds to ``with_flops``."""

from __future__ import annotations

from drynpu_torch.profiler import register_npu_flop

__all__ = ["register_npu_flop"]
