"""The facade of ``torch_npu.contrib.module.fusedcolorjitter``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.layers import FusedColorJitter

__all__ = ["FusedColorJitter"]
