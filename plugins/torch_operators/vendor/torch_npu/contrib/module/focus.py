"""The facade of ``torch_npu.contrib.module.focus``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.layers import Conv, Focus

__all__ = ["Conv", "Focus"]
