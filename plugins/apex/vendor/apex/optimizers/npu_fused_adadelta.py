"""The facade of ``apex.optimizers.npu_fused_adadelta``."""

from __future__ import annotations

from drynpu_torch.apex.optimizers import (
    NpuFusedAdadelta,
)

__all__ = [
    "NpuFusedAdadelta",
]
