"""The facade of ``torch_npu.contrib.function.matmul_transpose``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.functions import matmul_transpose

__all__ = ["matmul_transpose"]
