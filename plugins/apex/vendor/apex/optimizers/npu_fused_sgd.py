"""The facade of ``apex.optimizers.npu_fused_sgd``."""

from __future__ import annotations

from drynpu_apex.optimizers import (
    NpuFusedSGD,
)

__all__ = [
    "NpuFusedSGD",
]
