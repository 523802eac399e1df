"""The facade of ``apex.optimizers.fused_adam``."""

from __future__ import annotations

from drynpu_torch.apex.optimizers import (
    FusedAdam,
)

__all__ = [
    "FusedAdam",
]
