"""The facade of ``apex.optimizers.npu_fused_lamb``."""

from __future__ import annotations

from drynpu_apex.optimizers import (
    NpuFusedLamb,
)

__all__ = [
    "NpuFusedLamb",
]
