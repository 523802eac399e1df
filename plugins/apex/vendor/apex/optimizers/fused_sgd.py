"""The facade of ``apex.optimizers.fused_sgd``."""

from __future__ import annotations

from drynpu_torch.apex.optimizers import (
    FusedSGD,
)

__all__ = [
    "FusedSGD",
]
