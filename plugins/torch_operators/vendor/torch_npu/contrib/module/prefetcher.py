"""The facade of ``torch_npu.contrib.module.prefetcher``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.layers import Prefetcher

__all__ = ["Prefetcher"]
