"""The facade of ``torch_npu.contrib.function.npu_functional``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.functions import dropout_with_byte_mask

__all__ = ["dropout_with_byte_mask"]
