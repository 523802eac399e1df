"""The facade of ``torch_npu.contrib.module.linear_weight_quant``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.quantised import LinearWeightQuant

__all__ = ["LinearWeightQuant"]
