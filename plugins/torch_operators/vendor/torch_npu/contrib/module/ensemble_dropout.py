"""The facade of ``torch_npu.contrib.module.ensemble_dropout``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.dropouts import NpuCachedDropout, NpuFairseqDropout

__all__ = ["NpuCachedDropout", "NpuFairseqDropout"]
