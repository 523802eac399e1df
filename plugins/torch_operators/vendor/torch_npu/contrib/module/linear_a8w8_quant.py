"""The facade of ``torch_npu.contrib.module.linear_a8w8_quant``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.quantised import LinearA8W8Quant

__all__ = ["LinearA8W8Quant"]
