"""The facade of ``torch_npu.contrib.function.iou``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.detection import npu_ciou, npu_diou, npu_giou, npu_iou, npu_ptiou

__all__ = ["npu_ciou", "npu_diou", "npu_giou", "npu_iou", "npu_ptiou"]
