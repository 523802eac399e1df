"""The facade of ``apex.optimizers.npu_fused_rmsprop``."""

from __future__ import annotations

from drynpu_apex.optimizers import (
    NpuFusedRMSprop,
)

__all__ = [
    "NpuFusedRMSprop",
]
