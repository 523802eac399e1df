"""The facade of ``apex.optimizers.npu_fused_adadelta``."""

from __future__ import annotations

from drynpu_apex.optimizers import (
    NpuFusedAdadelta,
)

__all__ = [
    "NpuFusedAdadelta",
]
