"""The facade of ``torch_npu.contrib.module.npu_modules``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.activations import DropoutWithByteMask

__all__ = ["DropoutWithByteMask"]
