"""The facade of ``apex.optimizers.npu_fused_rmsprop``."""

from __future__ import annotations

from drynpu_torch.apex.optimizers import (
    NpuFusedRMSprop,
)

__all__ = [
    "NpuFusedRMSprop",
]
