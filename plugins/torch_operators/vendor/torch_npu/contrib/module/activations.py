"""The facade of ``torch_npu.contrib.module.activations``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.activations import Mish, SiLU, Swish

__all__ = ["Mish", "SiLU", "Swish"]
