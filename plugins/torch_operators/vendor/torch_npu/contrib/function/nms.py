"""The facade of ``torch_npu.contrib.function.nms``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.detection import npu_batched_multiclass_nms, npu_multiclass_nms

__all__ = ["npu_batched_multiclass_nms", "npu_multiclass_nms"]
