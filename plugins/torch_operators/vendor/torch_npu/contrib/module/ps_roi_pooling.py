"""The facade of ``torch_npu.contrib.module.ps_roi_pooling``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.regions import PSROIPool

__all__ = ["PSROIPool"]
