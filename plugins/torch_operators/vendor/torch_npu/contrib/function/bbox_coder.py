"""The facade of ``torch_npu.contrib.function.bbox_coder``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.detection import (
    npu_bbox_coder_decode_xywh2xyxy,
    npu_bbox_coder_encode_xyxy2xywh,
    npu_bbox_coder_encode_yolo,
)

__all__ = ["npu_bbox_coder_decode_xywh2xyxy", "npu_bbox_coder_encode_xyxy2xywh", "npu_bbox_coder_encode_yolo"]
