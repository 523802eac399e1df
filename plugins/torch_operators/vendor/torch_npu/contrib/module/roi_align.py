"""The facade of ``torch_npu.contrib.module.roi_align``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.regions import ROIAlign

__all__ = ["ROIAlign"]
