"""The facade of ``apex.optimizers.npu_fused_adamw``."""

from __future__ import annotations

from drynpu_apex.optimizers import (
    NpuFusedAdamW,
)

__all__ = [
    "NpuFusedAdamW",
]
