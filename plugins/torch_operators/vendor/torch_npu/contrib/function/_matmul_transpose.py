"""The facade of ``torch_npu.contrib.function._matmul_transpose``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.functions import MatmulApply

__all__ = ["MatmulApply"]
