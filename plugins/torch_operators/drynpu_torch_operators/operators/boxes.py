"""Boxes of detection: how far they overlap, and how they are coded relative to others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import vector
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import Gradient, NpuOperator
from drynpu_torch_operators.operators._vjp import pulled_back

SCHEMAS = """
npu_iou(Tensor bboxes, Tensor gtboxes, int mode=0) -> Tensor
npu_ptiou(Tensor bboxes, Tensor gtboxes, int mode=0) -> Tensor
npu_giou(Tensor self, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0) -> Tensor
npu_giou_backward(Tensor grad, Tensor bboxes, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0) ->
    (Tensor, Tensor)
npu_diou(Tensor self, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0) -> Tensor
npu_diou_backward(Tensor grad, Tensor bboxes, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0) ->
    (Tensor, Tensor)
npu_ciou(Tensor self, Tensor gtboxes, bool trans=False, bool is_cross=True, int mode=0, bool atan_sub_flag=False) ->
    Tensor
npu_ciou_backward(Tensor grad, Tensor bboxes, Tensor gtboxes, Tensor? atan_sub, bool trans=False,
    bool is_cross=True, int mode=0) -> (Tensor, Tensor)
npu_bounding_box_encode(Tensor anchor_box, Tensor ground_truth_box, float means0, float means1, float means2,
    float means3, float stds0, float stds1, float stds2, float stds3) -> Tensor
npu_bounding_box_decode(Tensor rois, Tensor deltas, float means0, float means1, float means2, float means3,
    float stds0, float stds1, float stds2, float stds3, int[1] max_shape, float wh_ratio_clip) -> Tensor
npu_yolo_boxes_encode(Tensor self, Tensor gt_bboxes, Tensor stride, bool performance_mode=False) -> Tensor
npu_anchor_response_flags(Tensor self, int[2] featmap_size, int[2] stride, int num_base_anchors) -> Tensor
"""

_IOU_EPSILON = 0.01
"""Added to both sides of a box by the kernel Iou (IouKernelNpu.cpp, and the results in op-plugin's test_iou.py)."""
_EPSILON = 1e-9
"""Added to heights, areas and diagonals against division by 0 (test/test_base_ops of op-plugin)."""
_YOLO_EPSILON = 1e-6
_LARGEST_ANCHORS = 20480


def overlaps(boxes: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
    """Return areas of intersection and union for corners [..., 4] that broadcast; a box without area has none."""
    first, last = torch.maximum(boxes[..., :2], others[..., :2]), torch.minimum(boxes[..., 2:], others[..., 2:])
    inter = (last - first).clamp(min=0).prod(-1)
    areas = [(x[..., 2] - x[..., 0]) * (x[..., 3] - x[..., 1]) for x in (boxes, others)]
    return inter, areas[0] + areas[1] - inter


def _iou(bboxes: Tensor, gtboxes: Tensor, mode: int) -> Tensor:
    """Return [ground truths, boxes], in mode 1 over the area of the ground truth; the device computes in FP16."""
    boxes, truths = wide(bboxes.half()).unsqueeze(0), wide(gtboxes.half()).unsqueeze(1)
    inter, _ = overlaps(boxes, truths)
    first, second = (wide((x[..., 2:] - x[..., :2] + _IOU_EPSILON).half()).prod(-1) for x in (boxes, truths))
    return (inter / (second if mode == 1 else first + second - inter)).half().to(bboxes.dtype)


def _pairs(boxes: Tensor, others: Tensor, trans: bool, is_cross: bool) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return left, top, right, bottom of both as rows that broadcast to the result: [1 or others, boxes]."""
    sides = []
    for tensor, axis in ((boxes, 0), (others, 1 if is_cross else 0)):
        a, b, c, d = wide(tensor)
        corners = (a - c / 2, b - d / 2, a + c / 2, b + d / 2) if trans else (a, b, c, d)
        sides.append(tuple(x.unsqueeze(axis) for x in corners))
    return sides[0], sides[1]


def _generalised(boxes: Tensor, others: Tensor, trans: bool, is_cross: bool) -> Tensor:
    """Return the overlap less the share of the enclosing box that neither covers (Rezatofighi et al. 2019)."""
    one, two = _pairs(boxes, others, trans, is_cross)
    inter, union = _areas(one, two, 0.0)
    width, height = _enclosing(one, two)
    outer = width.abs() * height.abs()
    return inter / union - (outer - union) / outer


def _distance(boxes: Tensor, others: Tensor, trans: bool, is_cross: bool) -> Tensor:
    """Return the overlap less the distance of the centres, relative to the enclosing diagonal (Zheng et al. 2020)."""
    one, two = _pairs(boxes, others, trans, is_cross)
    inter, union = _areas(one, two, _EPSILON)
    width, height = _enclosing(one, two)
    centres = (two[0] + two[2] - one[0] - one[2]) ** 2 + (two[1] + two[3] - one[1] - one[3]) ** 2
    return inter / union - centres / 4 / (width**2 + height**2 + _EPSILON)


def _complete(boxes: Tensor, others: Tensor, trans: bool, is_cross: bool) -> Tensor:
    """Return the distance form less a term of the aspect ratios, whose weight counts as constant."""
    one, two = _pairs(boxes, others, trans, is_cross)
    inter, union = _areas(one, two, _EPSILON)
    angles = [torch.atan((x[2] - x[0]) / (x[3] - x[1] + _EPSILON)) for x in (one, two)]
    ratios = 4 / math.pi**2 * (angles[1] - angles[0]) ** 2
    both = (1 + _EPSILON - inter / union + ratios).detach()
    weight = torch.where(both > 0, ratios.detach() / both, torch.zeros_like(both))
    return _distance(boxes, others, trans, is_cross) - weight * ratios


def _areas(one: Sequence[Tensor], two: Sequence[Tensor], epsilon: float) -> tuple[Tensor, Tensor]:
    width = (torch.minimum(one[2], two[2]) - torch.maximum(one[0], two[0])).clamp(min=0)
    height = (torch.minimum(one[3], two[3]) - torch.maximum(one[1], two[1])).clamp(min=0)
    areas = [(x[2] - x[0]) * (x[3] - x[1] + epsilon) for x in (one, two)]
    return width * height, areas[0] + areas[1] - width * height + epsilon


def _enclosing(one: Sequence[Tensor], two: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    width = torch.maximum(one[2], two[2]) - torch.minimum(one[0], two[0])
    return width, torch.maximum(one[3], two[3]) - torch.minimum(one[1], two[1])


def _giou(self: Tensor, gtboxes: Tensor, trans: bool, is_cross: bool) -> Tensor:
    _check_giou(trans, is_cross)
    return _generalised(self, gtboxes, trans, is_cross).transpose(0, 1).to(self.dtype)


def _check_giou(trans: bool, is_cross: bool) -> None:
    text = "giou backward only support trans==True, is_cross==False, mode==0('iou') current version "
    text += "if you need to back propagation, please ensure your parameter is correct!"
    errors.require(trans and not is_cross, text)


def _diou(self: Tensor, gtboxes: Tensor, trans: bool, is_cross: bool) -> Tensor:
    for name, boxes in (("self", self), ("gtboxes", gtboxes)):
        errors.require(boxes.dim() == 2, f"{name} has to be a 2D Tensor, but got Tensor of dimension {boxes.dim()}")
    return _distance(self, gtboxes, trans, is_cross).to(self.dtype)


def _ciou(self: Tensor, gtboxes: Tensor, trans: bool, is_cross: bool) -> Tensor:
    for name, boxes in (("self", self), ("gtboxes", gtboxes)):
        text = f"ciou expected input in 2D, but input {name} has sizes {boxes.dim()}"
        errors.require(boxes.dim() == 2, text)
    return _complete(self, gtboxes, trans, is_cross).to(self.dtype)


_Formula = Callable[[Tensor, Tensor, bool, bool], Tensor]


def _backward(formula: _Formula, swapped: bool = False) -> Callable[..., tuple[Tensor, Tensor]]:
    """Return the gradient of a formula; *swapped* is one whose operator returns a column."""

    def compute(grad: Tensor, bboxes: Tensor, gtboxes: Tensor, trans: bool, is_cross: bool) -> tuple[Tensor, Tensor]:
        slope = wide(grad.transpose(0, 1) if swapped and grad.dim() == 2 else grad)
        boxes = (wide(bboxes), wide(gtboxes))
        first, second = pulled_back(
            lambda one, two: formula(one, two, trans, is_cross), boxes, slope.reshape(-1, bboxes.shape[1])
        )
        return first.to(bboxes.dtype), second.to(gtboxes.dtype)

    return compute


def _like_boxes(bboxes: Tensor, gtboxes: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(bboxes), torch.empty_like(gtboxes)


def _gradient(name: str) -> Gradient:
    def compute(call: Call, grad: Tensor) -> Mapping[str, Tensor | None]:
        options = {"trans": call["trans"], "is_cross": call["is_cross"], "mode": call["mode"]}
        extra = {"atan_sub": None} if name == "npu_ciou_backward" else {}
        backward = getattr(torch.ops.npu, name)
        first, second = backward(grad, call["self"], call["gtboxes"], **extra, **options)
        return {"self": first, "gtboxes": second}

    return Gradient(compute=compute, keeps=("self", "gtboxes"))


def _scaling(call: Call, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return means and standard deviations of the four numbers."""
    pairs = [like.new_tensor([call[f"{name}{i}"] for i in range(4)]) for name in ("means", "stds")]
    return pairs[0], pairs[1]


def _centres(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Return centres and sizes; the last column and row belong to a box."""
    return (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2] + 1


def _encode(call: Call) -> Tensor:
    """Return shifts in sizes of the anchor and logarithms of ratios; the device rounds to FP16 at every step."""
    anchors, truths = wide(call["anchor_box"]), wide(call["ground_truth_box"])
    means, stds = _scaling(call, anchors)
    (centre, size), (aim, wanted) = _centres(anchors), _centres(truths)
    deltas = torch.cat([(aim - centre) / size, (wanted / size).log()], 1).half()
    return wide((wide(deltas) - means) / stds).half().to(call["anchor_box"].dtype)


def _decode(call: Call) -> Tensor:
    """Return the corners of coded boxes inside an image of *max_shape*: rows, columns."""
    rois, deltas = wide(call["rois"]), wide(call["deltas"])
    means, stds = _scaling(call, rois)
    shape = [*call["max_shape"], *call["max_shape"]][:2]
    shifts = deltas * stds + means
    limit = abs(math.log(call["wh_ratio_clip"]))
    centre, size = _centres(rois)
    aim, wanted = centre + size * shifts[:, :2], size * shifts[:, 2:].clamp(-limit, limit).exp()
    corners = torch.cat([aim - wanted / 2 + 0.5, aim + wanted / 2 - 0.5], 1)
    largest = corners.new_tensor([shape[1] - 1, shape[0] - 1] * 2)
    return torch.minimum(corners.clamp(min=0), largest).to(call["rois"].dtype)


def _yolo_encode(self: Tensor, gt_bboxes: Tensor, stride: Tensor) -> Tensor:
    """Return the place of a centre in its cell, and logarithms of ratios of sizes."""
    for name, boxes in (("anchor_boxes", self), ("gt_bboxes", gt_bboxes)):
        text = f"Non-empty 2D {name} tensor expected but got a tensor with sizes {list(boxes.shape)}"
        errors.require(boxes.dim() == 2 and boxes.shape[1] == 4, text)
    count = self.shape[0]
    errors.require(count <= _LARGEST_ANCHORS, f"anchor_boxes only support max [20480] num, but got num {count}")
    text = f"int32 strdie tensor expected but got a tensor with dtype: {stride.dtype}"
    errors.require(not stride.is_floating_point() and stride.dtype is not torch.int64, text, errors.TYPE)
    anchors, truths, steps = wide(self), wide(gt_bboxes), wide(stride).unsqueeze(1)
    shift = (truths[:, :2] + truths[:, 2:] - anchors[:, :2] - anchors[:, 2:]) / 2
    ratio = (truths[:, 2:] - truths[:, :2]) / (anchors[:, 2:] - anchors[:, :2])
    place = (shift / steps + 0.5).clamp(_YOLO_EPSILON, 1 - _YOLO_EPSILON)
    return torch.cat([place, ratio.clamp(min=_YOLO_EPSILON).log()], 1).to(gt_bboxes.dtype)


def _flags_shape(self: Tensor, featmap_size: Sequence[int], num_base_anchors: int) -> Tensor:
    return self.new_empty(featmap_size[0] * featmap_size[1] * num_base_anchors, dtype=torch.uint8)


def _flags(self: Tensor, featmap_size: Sequence[int], stride: Sequence[int], num_base_anchors: int) -> Tensor:
    """Return 1 for the anchors of the cells that hold the centre of a box."""
    text = f"Non-empty 2D gt_bboxes tensor expected but got a tensor with sizes {list(self.shape)}"
    errors.require(self.dim() == 2 and self.shape[1] == 4, text)
    text = f"float16 or float32 tensor expected but got a tensor with dtype: {self.dtype}"
    errors.require(self.dtype in (torch.float16, torch.float32), text, errors.TYPE)
    boxes = wide(self)
    columns = ((boxes[:, 0] + boxes[:, 2]) * 0.5 / stride[0]).floor().long()
    rows = ((boxes[:, 1] + boxes[:, 3]) * 0.5 / stride[1]).floor().long()
    height, width = featmap_size
    cells = (rows * width + columns)[(rows >= 0) & (columns >= 0) & (rows * width + columns < height * width)]
    flags = self.new_zeros(height * width, dtype=torch.uint8)
    flags[cells] = 1
    return flags.repeat_interleave(num_base_anchors)


_IOF = ("mode",)
"""Intersection over one of the areas: the vendor's pages do not say over which."""

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_iou": NpuOperator(compute=_iou, kernels=vector("Iou", cost=12)),
    "npu_ptiou": NpuOperator(compute=_iou, kernels=vector("Iou", cost=12)),
    "npu_giou": NpuOperator(
        compute=_giou, kernels=vector("GIoU", cost=8), gradient=_gradient("npu_giou_backward"), left_out=_IOF
    ),
    "npu_giou_backward": NpuOperator(
        compute=_backward(_generalised, swapped=True),
        shapes=_like_boxes,
        kernels=vector("GIoUGrad", cost=16),
        left_out=_IOF,
    ),
    "npu_diou": NpuOperator(
        compute=_diou, kernels=vector("DIoU", cost=8), gradient=_gradient("npu_diou_backward"), left_out=_IOF
    ),
    "npu_diou_backward": NpuOperator(
        compute=_backward(_distance), shapes=_like_boxes, kernels=vector("DIoUGrad", cost=16), left_out=_IOF
    ),
    "npu_ciou": NpuOperator(
        compute=_ciou, kernels=vector("CIoU", cost=16), gradient=_gradient("npu_ciou_backward"), left_out=_IOF
    ),
    "npu_ciou_backward": NpuOperator(
        compute=_backward(_complete), shapes=_like_boxes, kernels=vector("CIoUGrad", cost=32), left_out=_IOF
    ),
    "npu_bounding_box_encode": NpuOperator(
        compute=_encode, kernels=vector("BoundingBoxEncode", cost=4), dtypes="float32, float16"
    ),
    "npu_bounding_box_decode": NpuOperator(
        compute=_decode, kernels=vector("BoundingBoxDecode", cost=6), dtypes="float32, float16"
    ),
    "npu_yolo_boxes_encode": NpuOperator(
        compute=_yolo_encode, kernels=vector("YoloBoxesEncode", cost=6), dtypes="float32, float16"
    ),
    "npu_anchor_response_flags": NpuOperator(
        compute=_flags, shapes=_flags_shape, kernels=vector("AnchorResponseFlags", cost=2), dtypes="float32, float16"
    ),
}
