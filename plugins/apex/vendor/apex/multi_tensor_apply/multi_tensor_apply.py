"""The facade of ``apex.multi_tensor_apply.multi_tensor_apply``."""

from __future__ import annotations

from drynpu_apex.kernels import (
    MultiTensorApply,
)

__all__ = [
    "MultiTensorApply",
]
