"""The facade of ``apex.optimizers.fused_adagrad``."""

from __future__ import annotations

from drynpu_apex.optimizers import (
    FusedAdagrad,
)

__all__ = [
    "FusedAdagrad",
]
