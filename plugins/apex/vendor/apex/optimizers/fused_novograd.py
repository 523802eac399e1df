"""The facade of ``apex.optimizers.fused_novograd``."""

from __future__ import annotations

from drynpu_torch.apex.optimizers import (
    FusedNovoGrad,
)

__all__ = [
    "FusedNovoGrad",
]
