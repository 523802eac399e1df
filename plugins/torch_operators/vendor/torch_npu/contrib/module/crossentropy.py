"""The facade of ``torch_npu.contrib.module.crossentropy``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.activations import LabelSmoothingCrossEntropy

__all__ = ["LabelSmoothingCrossEntropy"]
