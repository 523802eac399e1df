"""The facade of ``apex.optimizers.fused_lamb``."""

from __future__ import annotations

from drynpu_apex.optimizers import (
    FusedLAMB,
)

__all__ = [
    "FusedLAMB",
]
