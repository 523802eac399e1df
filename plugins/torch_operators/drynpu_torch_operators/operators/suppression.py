"""Boxes that suppress others which they overlap."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import vector
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import FLOATS, NpuOperator
from drynpu_torch_operators.operators.boxes import overlaps

SCHEMAS = """
npu_batch_nms(Tensor self, Tensor scores, float score_threshold, float iou_threshold, int max_size_per_class,
    int max_total_size, bool change_coordinate_frame=False, bool transpose_box=False) ->
    (Tensor, Tensor, Tensor, Tensor)
npu_nms_v4(Tensor self, Tensor scores, Scalar max_output_size, Tensor iou_threshold, Tensor scores_threshold,
    bool pad_to_max_output_size=False) -> (Tensor, Tensor)
npu_nms_with_mask(Tensor input, Scalar iou_threshold) -> (Tensor, Tensor, Tensor)
"""


def _kept(boxes: Tensor, scores: Tensor, limit: float, count: int) -> Tensor:
    """Return the indices of boxes [boxes, 4] that no better one overlaps by more than *limit*, best first."""
    left = scores.argsort(descending=True, stable=True)
    kept: list[Tensor] = []
    while len(left) and len(kept) < count:
        kept.append(left[0])
        inter, union = overlaps(boxes[left[0]], boxes[left[1:]])
        left = left[1:][inter <= limit * union]
    return torch.stack(kept) if kept else left[:0]


def _batch_nms(call: Call) -> tuple[Tensor, ...]:
    text = "The input tensor [self] is an empty tensor."
    errors.require(call["self"].numel() > 0, text)
    images = [
        _best(wide(boxes), wide(scores), call) for boxes, scores in zip(call["self"], call["scores"], strict=True)
    ]
    dtype, total = call["self"].dtype, call["max_total_size"]
    boxes, scores, classes = (
        torch.stack([torch.nn.functional.pad(t, (*([0] * (2 * t.dim() - 2)), 0, total - len(t))) for t in tensors])
        for tensors in zip(*images, strict=True)
    )
    counts = torch.tensor([len(scores) for _, scores, _ in images], dtype=torch.int32, device=boxes.device)
    return boxes.to(dtype), scores.to(dtype), classes.to(dtype), counts


def _best(boxes: Tensor, scores: Tensor, call: Call) -> tuple[Tensor, Tensor, Tensor]:
    """Return boxes, scores and classes of one image [boxes, 1 or classes, 4], best first."""
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    for kind in range(scores.shape[1]):
        candidates = boxes[:, min(kind, boxes.shape[1] - 1)]
        high = (scores[:, kind] > call["score_threshold"]).nonzero().flatten()
        chosen = high[_kept(candidates[high], scores[high, kind], call["iou_threshold"], call["max_size_per_class"])]
        parts.append((candidates[chosen], scores[chosen, kind], torch.full_like(scores[chosen, kind], kind)))
    best, values, classes = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
    order = values.argsort(descending=True, stable=True)[: call["max_total_size"]]
    return best[order], values[order], classes[order]


def _batch_nms_shapes(call: Call) -> tuple[Tensor, ...]:
    x, total = call["self"], call["max_total_size"]
    scores = [x.new_empty(x.shape[0], total) for _ in range(2)]
    return x.new_empty(x.shape[0], total, 4), *scores, x.new_empty(x.shape[0], dtype=torch.int32)


def _nms(call: Call) -> tuple[Tensor, Tensor]:
    boxes, scores, count = wide(call["self"]), wide(call["scores"]), int(call["max_output_size"])
    high = (scores > call["scores_threshold"]).nonzero().flatten()
    kept = high[_kept(boxes[high], scores[high], float(call["iou_threshold"]), count)].int()
    number = torch.tensor(len(kept), dtype=torch.int32, device=boxes.device)
    return torch.nn.functional.pad(kept, (0, count - len(kept))), number


def _nms_shapes(self: Tensor, max_output_size: int) -> tuple[Tensor, Tensor]:
    return self.new_empty(int(max_output_size), dtype=torch.int32), self.new_empty((), dtype=torch.int32)


def _nms_mask(input_: Tensor, iou_threshold: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return boxes with scores, their numbers, and 1 for those that stay; rows are sorted by score."""
    rows = wide(input_[:, :5])
    kept = _kept(rows[:, :4], torch.arange(len(rows), 0, -1, dtype=rows.dtype), float(iou_threshold), len(rows))
    mask = torch.zeros(len(rows), dtype=torch.uint8, device=rows.device)
    mask[kept] = 1
    return input_[:, :5].clone(), torch.arange(len(rows), dtype=torch.int32, device=rows.device), mask


def _nms_mask_shapes(input_: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    rows = len(input_)
    return (
        input_.new_empty(rows, 5),
        input_.new_empty(rows, dtype=torch.int32),
        input_.new_empty(rows, dtype=torch.uint8),
    )


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_batch_nms": NpuOperator(
        compute=_batch_nms,
        shapes=_batch_nms_shapes,
        kernels=vector("BatchMultiClassNonMaxSuppression", cost=64),
        left_out=("change_coordinate_frame", "transpose_box"),
        dtypes=FLOATS,
    ),
    "npu_nms_v4": NpuOperator(
        compute=_nms, shapes=_nms_shapes, kernels=vector("NonMaxSuppressionV4", cost=64), dtypes=FLOATS
    ),
    "npu_nms_with_mask": NpuOperator(
        compute=_nms_mask, shapes=_nms_mask_shapes, kernels=vector("NMSWithMask", cost=64), dtypes=FLOATS
    ),
}
