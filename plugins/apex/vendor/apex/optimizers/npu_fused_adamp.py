"""The facade of ``apex.optimizers.npu_fused_adamp``."""

from __future__ import annotations

from drynpu_apex.optimizers import (
    NpuFusedAdamP,
)

__all__ = [
    "NpuFusedAdamP",
]
