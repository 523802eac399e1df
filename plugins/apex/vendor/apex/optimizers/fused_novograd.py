"""The facade of ``apex.optimizers.fused_novograd``."""

from __future__ import annotations

from drynpu_apex.optimizers import (
    FusedNovoGrad,
)

__all__ = [
    "FusedNovoGrad",
]
