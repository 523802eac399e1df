"""The facade of ``torch_npu.contrib.module.linear_quant``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.quantised import LinearQuant

__all__ = ["LinearQuant"]
