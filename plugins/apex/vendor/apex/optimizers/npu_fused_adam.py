"""The facade of ``apex.optimizers.npu_fused_adam``."""

from __future__ import annotations

from drynpu_apex.optimizers import (
    NpuFusedAdam,
)

__all__ = [
    "NpuFusedAdam",
]
