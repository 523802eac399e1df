"""The facade of ``apex.optimizers.fused_sgd``."""

from __future__ import annotations

from drynpu_apex.optimizers import (
    FusedSGD,
)

__all__ = [
    "FusedSGD",
]
