"""Functions of detection networks: overlaps of boxes, their codes, the anchors in charge, and suppression."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from drynpu_torch_operators.contrib._checks import deprecated, floats, require

_INSTEAD = "Please use torch_npu.{} as a replacement."


def npu_iou(
    boxes1: Tensor, boxes2: Tensor, mode: str = "ptiou", is_normalized: bool = False, normalized_scale: float = 100.0
) -> Tensor:
    """Return intersection over union of each of *boxes1* [n, 4] with each of *boxes2* [m, 4]: [n, m]."""
    deprecated("npu_iou", _INSTEAD.format("npu_iou or torch_npu.npu_ptiou"))
    require(mode in ("iou", "ptiou"), "Expected mode in [iou, ptiou]")
    factor = normalized_scale if is_normalized else 1.0
    first, second = floats(boxes1), floats(boxes2)
    if is_normalized:
        first, second = first * factor, second * factor
    operator = torch.ops.npu.npu_iou if mode == "iou" else torch.ops.npu.npu_ptiou
    return operator(second, first)  # type: ignore[no-any-return]


npu_ptiou = npu_iou


def npu_giou(boxes1: Tensor, boxes2: Tensor, is_permuted: bool = True) -> Tensor:
    """Return the generalised overlap [n, 1] of boxes with centres and sizes, [n, 4] or, not *is_permuted*, [4, n]."""
    deprecated("npu_giou", _INSTEAD.format("npu_giou"))
    require(boxes1.shape == boxes2.shape, "Expected boxes1.shape == boxes2.shape")
    first, second = floats(boxes1), floats(boxes2)
    if is_permuted:
        first, second = first.permute(1, 0), second.permute(1, 0)
    return torch.ops.npu.npu_giou(first, second, trans=True, is_cross=False)  # type: ignore[no-any-return]


def npu_diou(boxes1: Tensor, boxes2: Tensor, trans: bool = True, is_cross: bool = False, mode: int = 0) -> Tensor:
    """Return the distance form of the overlap [1, n] of boxes [4, n]."""
    deprecated("function.npu_diou", _INSTEAD.format("npu_diou"))
    return torch.ops.npu.npu_diou(boxes1, boxes2, trans, is_cross, mode)  # type: ignore[no-any-return]


def npu_ciou(boxes1: Tensor, boxes2: Tensor, trans: bool = True, is_cross: bool = False, mode: int = 0) -> Tensor:
    """Return the complete form of the overlap [1, n] of boxes [4, n]."""
    deprecated("function.npu_ciou", _INSTEAD.format("npu_ciou"))
    return torch.ops.npu.npu_ciou(boxes1, boxes2, trans, is_cross, mode, True)  # type: ignore[no-any-return]


def npu_multiclass_nms(
    multi_bboxes: Tensor,
    multi_scores: Tensor,
    score_thr: float = 0.05,
    nms_thr: float = 0.45,
    max_num: int = 50,
    score_factors: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the best boxes with scores [max_num, 5] and their classes; the last score of a box is the background's."""
    factors = None if score_factors is None else score_factors.unsqueeze(0)
    boxes, labels = npu_batched_multiclass_nms(
        multi_bboxes.unsqueeze(0), multi_scores.unsqueeze(0), score_thr, nms_thr, max_num, factors
    )
    return boxes.reshape(boxes.shape[1:]), labels.reshape(labels.shape[1])


def npu_batched_multiclass_nms(
    multi_bboxes: Tensor,
    multi_scores: Tensor,
    score_thr: float = 0.05,
    nms_thr: float = 0.45,
    max_num: int = 50,
    score_factors: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the best boxes with scores [batch, max_num, 5] and their classes [batch, max_num], in FP16."""
    scores = multi_scores[..., :-1]
    scores = scores if score_factors is None else scores * score_factors[..., None]
    batch, count = scores.shape[:2]
    boxes = multi_bboxes.reshape(batch, count, multi_bboxes.numel() // 4 // count // batch, 4)
    best, values, classes, _ = torch.ops.npu.npu_batch_nms(
        boxes.half(), scores.half(), score_thr, nms_thr, max_num, max_num
    )
    return torch.cat([best, values[..., None]], -1), classes


def npu_single_level_responsible_flags(
    featmap_size: Sequence[int], gt_bboxes: Tensor, stride: Sequence[int], num_base_anchors: int
) -> Tensor:
    """Return 1 for the anchors of the cells that hold the centre of a box."""
    find = torch.ops.npu.npu_anchor_response_flags
    return find(floats(gt_bboxes), featmap_size, stride, num_base_anchors)  # type: ignore[no-any-return]


def _check_pair(bboxes: Tensor, others: Tensor, name: str) -> None:
    require(bboxes.size(0) == others.size(0), f"Expected bboxes.size(0) == {name}.size(0)")
    require(bboxes.size(-1) == others.size(-1) == 4, f"Expected bboxes.size(-1) == {name}.size(-1) == 4")


def npu_bbox_coder_encode_yolo(bboxes: Tensor, gt_bboxes: Tensor, stride: Tensor) -> Tensor:
    """Return ground truths [n, 4] relative to boxes: the place in the cell of *stride* [n] and logarithms of ratios."""
    _check_pair(bboxes, gt_bboxes, "gt_bboxes")
    encode = torch.ops.npu.npu_yolo_boxes_encode
    return encode(floats(bboxes), floats(gt_bboxes), stride.int(), performance_mode=False)  # type: ignore[no-any-return]


def npu_bbox_coder_encode_xyxy2xywh(
    bboxes: Tensor,
    gt_bboxes: Tensor,
    means: Sequence[float] | None = None,
    stds: Sequence[float] | None = None,
    is_normalized: bool = False,
    normalized_scale: float = 10000.0,
) -> Tensor:
    """Return ground truths [n, 4] as shifts and logarithms of ratios relative to boxes."""
    _check_pair(bboxes, gt_bboxes, "gt_bboxes")
    first, second = floats(bboxes), floats(gt_bboxes)
    if is_normalized:
        first, second = first * normalized_scale, second * normalized_scale
    encode = torch.ops.npu.npu_bounding_box_encode
    return encode(first, second, *(means or [0.0] * 4), *(stds or [1.0] * 4))  # type: ignore[no-any-return]


def npu_bbox_coder_decode_xywh2xyxy(
    bboxes: Tensor,
    pred_bboxes: Tensor,
    means: Sequence[float] | None = None,
    stds: Sequence[float] | None = None,
    max_shape: Sequence[int] | None = None,
    wh_ratio_clip: float = 16 / 1000,
) -> Tensor:
    """Return the corners [n, 4] of boxes that are coded relative to others, inside an image of *max_shape*."""
    _check_pair(bboxes, pred_bboxes, "pred_bboxes")
    scaling = [*(means or [0.0] * 4), *(stds or [1.0] * 4)]
    decode = torch.ops.npu.npu_bounding_box_decode
    shape = list(max_shape or [9999, 9999])
    return decode(floats(bboxes), floats(pred_bboxes), *scaling, shape, wh_ratio_clip)  # type: ignore[no-any-return]
