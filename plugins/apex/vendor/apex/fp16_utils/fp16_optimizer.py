"""The facade of ``apex.fp16_utils.fp16_optimizer``."""

from __future__ import annotations

from drynpu_apex.kernels import (
    HalfOptimizer as FP16_Optimizer,
)

__all__ = [
    "FP16_Optimizer",
]
