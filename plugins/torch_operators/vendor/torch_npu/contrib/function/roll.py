"""The facade of ``torch_npu.contrib.function.roll``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.functions import roll

__all__ = ["roll"]
