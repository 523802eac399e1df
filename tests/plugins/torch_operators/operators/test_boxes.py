"""Overlaps and codes of boxes, against loops over corners and published results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]

FIRST = torch.tensor([[10.0, 55, 85, 160], [0, 0, 10, 10]])
SECOND = torch.tensor([[18.0, 45, 80, 130], [38, 85, 70, 230], [0, 0, 10, 20]])


def _corners(box: list[float]) -> tuple[float, ...]:
    x, y, width, height = box
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _shares(one: tuple[float, ...], two: tuple[float, ...]) -> dict[str, float]:
    """Return the forms of the overlap of two boxes by their published formulas."""
    inner = [max(0.0, min(one[i + 2], two[i + 2]) - max(one[i], two[i])) for i in range(2)]
    outer = [max(one[i + 2], two[i + 2]) - min(one[i], two[i]) for i in range(2)]
    sizes = [(b[2] - b[0], b[3] - b[1]) for b in (one, two)]
    inter, enclosing = math.prod(inner), math.prod(outer)
    union = sum(map(math.prod, sizes)) - inter
    iou = inter / union
    centres = sum((one[i] + one[i + 2] - two[i] - two[i + 2]) ** 2 / 4 for i in range(2))
    diou = iou - centres / sum(side**2 for side in outer)
    ratio = 4 / math.pi**2 * (math.atan(sizes[1][0] / sizes[1][1]) - math.atan(sizes[0][0] / sizes[0][1])) ** 2
    weight = ratio / (1 - iou + ratio)
    return {
        "iou": iou,
        "giou": iou - (enclosing - union) / enclosing,
        "diou": diou,
        "ciou": diou - weight * ratio,
    }


def _columns(boxes: list[list[float]]) -> torch.Tensor:
    return torch.tensor(boxes).T.contiguous()


@pytest.mark.parametrize("name", ["npu_iou", "npu_ptiou"])
def test_intersection_over_union(check: Check, name: str) -> None:
    expected = torch.tensor([[_shares(tuple(a), tuple(b))["iou"] for a in FIRST.tolist()] for b in SECOND.tolist()])
    (kernel,) = check(name, (FIRST, SECOND), expected, tolerance=3e-3)  # 0.01 more for each side
    assert kernel.op_type == "Iou"
    assert npu.npu_iou(FIRST, SECOND)[:2, 0].tolist() == pytest.approx([0.5474, 0.2373], abs=5e-5)
    assert npu.npu_iou(torch.zeros(1, 4), torch.zeros(1, 4)).item() == 0


def test_small_boxes_show_what_is_added_to_their_sides() -> None:
    """The numbers of op-plugin's test_iou.py."""
    boxes = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], dtype=torch.float16)
    for mode, share in ((0, 0.9805), (1, 0.9902)):
        expected = torch.tensor([[share, 0, 0], [0, share, 0]])
        assert torch.allclose(npu.npu_ptiou(boxes, boxes[:2], mode).float(), expected, atol=1e-3)
    boxes = torch.tensor([[0, 0, 10, 10], [10, 10, 20, 20], [32, 32, 38, 42]], dtype=torch.float16)
    truths = torch.tensor([[0, 0, 10, 20], [0, 10, 10, 10], [10, 10, 20, 20]], dtype=torch.float16)
    for mode, shares in ((0, (0.4985, 0.9961)), (1, (0.4990, 0.9980))):
        expected = torch.tensor([[shares[0], 0, 0], [0, 0, 0], [0, shares[1], 0]])
        assert torch.allclose(npu.npu_iou(boxes, truths, mode).float(), expected, atol=1e-3)


BOXES = [[5.0, 4, 6, 7], [1, 2, 3, 5], [9, 9, 2, 4]]
OTHERS = [[6.0, 5, 4, 9], [1.5, 2, 4, 3], [4, 5, 3, 3]]


@pytest.mark.parametrize("form", ["giou", "diou", "ciou"])
def test_forms_of_the_overlap(check: Check, form: str) -> None:
    pairs = zip(map(_corners, BOXES), map(_corners, OTHERS), strict=True)
    expected = torch.tensor([[_shares(*pair)[form] for pair in pairs]], dtype=torch.double)
    expected = expected.T if form == "giou" else expected
    args = (_columns(BOXES), _columns(OTHERS))
    (kernel,) = check(f"npu_{form}", args, expected, trans=True, is_cross=False)
    assert kernel.op_type == f"{form[0].upper()}IoU"


@pytest.mark.parametrize("form", ["diou", "ciou"])
def test_every_box_with_every_other(check: Check, form: str) -> None:
    pairs = [[_shares(_corners(one), _corners(two))[form] for one in BOXES] for two in OTHERS[:2]]
    args = (_columns(BOXES), _columns(OTHERS[:2]))
    check(f"npu_{form}", args, torch.tensor(pairs, dtype=torch.double), trans=True, is_cross=True)


@pytest.mark.parametrize("form", ["giou", "diou"])
def test_gradients_of_the_overlap(form: str) -> None:
    inputs = tuple(_columns(boxes).double().requires_grad_() for boxes in (BOXES, OTHERS))
    assert torch.autograd.gradcheck(lambda a, b: getattr(npu, f"npu_{form}")(a, b, True, False), inputs)


def test_the_weight_of_the_aspect_ratio_is_constant_in_the_gradient() -> None:
    boxes, others = (_columns(each).double().requires_grad_() for each in (BOXES, OTHERS))
    npu.npu_ciou(boxes, others, True, False).sum().backward()
    step, place = 1e-6, (2, 0)
    sides = []
    for sign in (1, -1):
        moved = boxes.detach().clone()
        moved[place] += sign * step
        shares = _shares(_corners(moved[:, 0].tolist()), _corners(OTHERS[0]))
        sides.append((shares["diou"], math.sqrt(max(0.0, shares["diou"] - shares["ciou"]))))
    base = _shares(_corners(BOXES[0]), _corners(OTHERS[0]))
    width, height = BOXES[0][2:]
    angle = math.atan(width / height) - math.atan(OTHERS[0][2] / OTHERS[0][3])
    ratio = 4 / math.pi**2 * angle**2
    weight = ratio / (1 - base["iou"] + ratio)
    slope = 8 / math.pi**2 * angle * height / (width**2 + height**2)
    expected = (sides[0][0] - sides[1][0]) / (2 * step) - weight * slope
    assert boxes.grad[place].item() == pytest.approx(expected, rel=1e-4)


def test_the_generalised_form_takes_centres_and_single_pairs() -> None:
    with pytest.raises(RuntimeError, match="giou backward only support trans==True"):
        npu.npu_giou(_columns(BOXES), _columns(OTHERS))


def test_codes_of_boxes(check: Check) -> None:
    """The numbers of op-plugin's test_bounding_box_encode.py and test_bounding_box_decode.py."""
    boxes = torch.tensor([[1.0, 2, 3, 4], [3, 4, 5, 6]])
    truths = torch.tensor([[5.0, 6, 7, 8], [7, 8, 9, 6]])
    encoded = torch.tensor([[13.3281, 13.3281, 0, 0], [13.3281, 6.6641, 0, math.nan]])
    scaling = (0.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.2, 0.2)
    check("npu_bounding_box_encode", (boxes, truths, *scaling), encoded, tolerance=5e-6)
    deltas = torch.tensor([[5.0, 6, 7, 8], [7, 8, 9, 6]])
    decoded = torch.tensor([[2.5, 6.5, 9, 9], [9, 9, 9, 9]])
    args = (boxes, deltas, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, (10, 10), 0.1)
    check("npu_bounding_box_decode", args, decoded)


def test_codes_in_cells(check: Check) -> None:
    anchors = torch.tensor([[0.0, 0, 4, 8], [2, 2, 6, 4]])
    truths = torch.tensor([[1.0, 2, 5, 6], [2, 2, 2, 8]])
    stride = torch.tensor([4, 2], dtype=torch.int32)
    expected = [[1 / 4 + 0.5, 0.5, 0.0, math.log(0.5)], [1e-6, 1 - 1e-6, math.log(1e-6), math.log(3)]]
    check("npu_yolo_boxes_encode", (anchors, truths, stride), torch.tensor(expected, dtype=torch.double))
    with pytest.raises(RuntimeError, match="int32 strdie tensor expected"):
        npu.npu_yolo_boxes_encode(anchors, truths, stride.long())


def test_anchors_in_charge(check: Check) -> None:
    boxes = torch.tensor([[0.0, 0, 10, 6], [20, 10, 28, 14], [90, 90, 99, 99]])
    cells = torch.zeros(3, 4, 2)
    cells[0, 0] = cells[1, 3] = 1  # centres (5, 3) and (24, 12) in cells of 7 by 8; the third lies outside
    check("npu_anchor_response_flags", (boxes, [3, 4], [7, 8], 2), cells.flatten())
