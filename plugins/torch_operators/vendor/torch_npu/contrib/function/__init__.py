"""The facade of ``torch_npu.contrib.function``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.attention import npu_fused_attention, npu_fused_attention_with_layernorm
from drynpu_torch_operators.contrib.detection import (
    npu_batched_multiclass_nms,
    npu_bbox_coder_decode_xywh2xyxy,
    npu_bbox_coder_encode_xyxy2xywh,
    npu_bbox_coder_encode_yolo,
    npu_ciou,
    npu_diou,
    npu_giou,
    npu_iou,
    npu_multiclass_nms,
    npu_ptiou,
    npu_single_level_responsible_flags,
)
from drynpu_torch_operators.contrib.functions import (
    dropout_with_byte_mask,
    fuse_add_softmax_dropout,
    matmul_transpose,
    npu_fast_condition_index_put,
    roll,
)

__all__ = [
    "dropout_with_byte_mask",
    "fuse_add_softmax_dropout",
    "matmul_transpose",
    "npu_batched_multiclass_nms",
    "npu_bbox_coder_decode_xywh2xyxy",
    "npu_bbox_coder_encode_xyxy2xywh",
    "npu_bbox_coder_encode_yolo",
    "npu_ciou",
    "npu_diou",
    "npu_fast_condition_index_put",
    "npu_fused_attention",
    "npu_fused_attention_with_layernorm",
    "npu_giou",
    "npu_iou",
    "npu_multiclass_nms",
    "npu_ptiou",
    "npu_single_level_responsible_flags",
    "roll",
]
