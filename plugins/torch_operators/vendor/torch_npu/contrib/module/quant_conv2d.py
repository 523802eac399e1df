"""The facade of ``torch_npu.contrib.module.quant_conv2d``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.quantised import QuantConv2d

__all__ = ["QuantConv2d"]
