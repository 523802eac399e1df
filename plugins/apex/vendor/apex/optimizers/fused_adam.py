"""The facade of ``apex.optimizers.fused_adam``."""

from __future__ import annotations

from drynpu_apex.optimizers import (
    FusedAdam,
)

__all__ = [
    "FusedAdam",
]
