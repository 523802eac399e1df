"""The facade of ``apex.optimizers.npu_fused_sgd``."""

from __future__ import annotations

from drynpu_torch.apex.optimizers import (
    NpuFusedSGD,
)

__all__ = [
    "NpuFusedSGD",
]
