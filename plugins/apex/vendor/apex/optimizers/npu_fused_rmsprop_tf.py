"""The facade of ``apex.optimizers.npu_fused_rmsprop_tf``."""

from __future__ import annotations

from drynpu_apex.optimizers import (
    NpuFusedRMSpropTF,
)

__all__ = [
    "NpuFusedRMSpropTF",
]
