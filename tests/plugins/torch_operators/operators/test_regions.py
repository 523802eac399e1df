"""Pooled regions, deformable convolutions and suppression, against loops, plain convolutions and published results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]


def test_regions_by_samples(check: Check) -> None:
    """The numbers of op-plugin's test_roi_align.py and test_roi_align_backward.py, and of torch_npu's test."""
    maps, rois = torch.arange(1.0, 37).reshape(1, 1, 6, 6), torch.tensor([[0, -2.0, -2, 22, 22]])
    legacy = torch.tensor([[[[4.5, 6.5, 8.5], [16.5, 18.5, 20.5], [28.5, 30.5, 32.5]]]])
    (kernel,) = check("npu_roi_align", (maps, rois, 0.25, 3, 3, 2, 0), legacy)
    assert kernel.op_type == "ROIAlign"
    aligned = torch.tensor([[[[2.75, 4.5, 6.5], [13.25, 15, 17], [25.25, 27, 29]]]])
    check("npu_roi_align", (maps, rois, 0.25, 3, 3, 2, 3), aligned)
    grad = torch.tensor(
        [[0.5625, *[0.375] * 4, 0.1875], *[[0.375, *[0.25] * 4, 0.125]] * 4, [0.1875, *[0.125] * 4, 0.0625]]
    )
    args = (torch.ones(1, 1, 3, 3), rois, [1, 1, 6, 6], 3, 3, 0.25, 2, 3)
    check("npu_roi_alignbk", args, grad.reshape(1, 1, 6, 6))
    with_end = torch.tensor(
        [
            [1.0786, 1.0557, 1.4942, 1.5248, 1.9226, 2.4709],
            [1.0557, 1.0332, 1.4625, 1.4924, 1.8817, 2.4183],
            [3.6872, 3.6087, 4.0380, 4.0679, 4.4572, 5.6097],
            [3.8708, 3.7884, 4.2177, 4.2476, 4.6369, 5.8324],
            [6.2575, 6.1243, 6.5536, 6.5835, 6.9729, 8.7269],
            [8.2847, 8.1084, 8.6403, 8.6774, 9.1598, 11.4575],
        ]
    )
    expected = with_end.reshape(1, 1, 6, 6)
    check("npu_roi_alignbk", (legacy, rois, [1, 1, 6, 6], 3, 3, 0.25, 2), expected, tolerance=1e-4)
    with pytest.raises(RuntimeError, match="roi_end_mode 0, 1 and 3, not 2"):
        npu.npu_roi_align(maps, rois, 0.25, 3, 3, 2, 2)


def test_as_many_samples_as_pixels_in_a_bin(check: Check) -> None:
    maps = torch.arange(24.0).reshape(1, 2, 3, 4)
    rois = torch.tensor([[0, 0.0, 0, 4, 2]])
    # Rows 0.5 and 1.5, with columns 0.5 and 1.5, or 2.5 and 3.5, which counts as 3, the edge.
    expected = torch.tensor([[[[5.0, 6.75]], [[17.0, 18.75]]]])
    check("npu_roi_align", (maps, rois, 1.0, 1, 2, 0, 0), expected)


def _pooled(maps: torch.Tensor, rois: torch.Tensor, scale: float, group: int, channels: int) -> torch.Tensor:
    """Return position-sensitive means by a loop over bins."""
    batch, _, count = rois.shape
    out = torch.zeros(batch * count, channels, group, group, dtype=torch.double)
    for row, (image, *box) in enumerate(rois.transpose(1, 2).reshape(-1, 5).tolist()):
        left, top = round(box[0]) * scale, round(box[1]) * scale
        width, height = (max((round(box[i + 2]) + 1) * scale - edge, 0.1) for i, edge in enumerate((left, top)))
        for y in range(group):
            for x in range(group):
                rows = range(max(0, math.floor(top + y * height / group)), math.ceil(top + (y + 1) * height / group))
                columns = range(max(0, math.floor(left + x * width / group)), math.ceil(left + (x + 1) * width / group))
                cells = [(i, j) for i in rows for j in columns if i < maps.shape[2] and j < maps.shape[3]]
                for channel in range(channels if cells else 0):
                    plane = maps[int(image), (channel * group + y) * group + x]
                    out[row, channel, y, x] = sum(float(plane[cell]) for cell in cells) / len(cells)
    return out


def test_position_sensitive_regions(check: Check) -> None:
    maps = torch.randn(2, 3 * 4, 7, 6, dtype=torch.double)
    rois = torch.tensor([[[0.0, 1, 2, 9, 11], [1, 0, 0, 5, 20]], [[1, 3, 3, 3, 3], [0, 40, 40, 50, 50]]]).transpose(
        1, 2
    )
    (kernel,) = check("npu_ps_roi_pooling", (maps, rois, 0.5, 2, 3), _pooled(maps, rois, 0.5, 2, 3))
    assert kernel.op_type == "PSROIPoolingV2"
    assert torch.autograd.gradcheck(lambda x: npu.npu_ps_roi_pooling(x, rois, 0.5, 2, 3), (maps.requires_grad_(),))
    with pytest.raises(RuntimeError, match="rois only supports at least 3D tensors, rois got: 2D"):
        npu.npu_ps_roi_pooling(maps, rois[0], 0.5, 2, 3)


def _shifted(groups: int, rows: int, columns: int) -> tuple[torch.Tensor, dict[str, Any]]:
    kernel = (2, 3)
    offset = torch.zeros(2, 3 * groups * 6, rows, columns, dtype=torch.double)
    options = {"kernel_size": kernel, "stride": [1, 1, 2, 1], "padding": [1, 1, 2, 2], "dilation": [1, 1, 1, 2]}
    return offset, options | {"deformable_groups": groups}


def test_without_shifts_it_is_a_plain_convolution(check: Check) -> None:
    x, weight, bias = torch.randn(2, 4, 5, 6), torch.randn(3, 4, 2, 3), torch.randn(3)
    expected = torch.nn.functional.conv2d(x.double(), weight.double(), bias.double(), (2, 1), (1, 2), (1, 2))
    offset, options = _shifted(2, *expected.shape[2:])
    offset[:, 2 * 12 :] = 1
    gathered = (torch.float32, (2, 4, expected.shape[2] * 2, expected.shape[3] * 3))
    kernels = check("npu_deformable_conv2d", (x, weight, offset.float(), bias), (expected, gathered), **options)
    assert [kernel.op_type for kernel in kernels] == ["DeformableOffsets", "Conv2D"]
    assert kernels[1].cube_flops == 2 * expected.numel() * weight[0].numel()


def test_shifts_move_points_and_masks_weigh_them() -> None:
    x = torch.arange(20.0).reshape(1, 1, 4, 5)
    offset = torch.zeros(1, 3, 4, 5)
    offset[:, 0], offset[:, 1], offset[:, 2] = 0.25, 1.0, 0.5  # right by a quarter, down by one, halved
    options = {"kernel_size": [1, 1], "stride": [1, 1, 1, 1], "padding": [0, 0, 0, 0]}
    out, _ = npu.npu_deformable_conv2d(x, torch.ones(1, 1, 1, 1), offset, None, **options)
    padded = torch.nn.functional.pad(x, (0, 1, 0, 1))[0, 0, 1:]
    assert torch.allclose(out[0, 0], 0.5 * (0.75 * padded[:, :-1] + 0.25 * padded[:, 1:]))


def test_gradients_of_deformable_convolutions() -> None:
    x, weight = torch.randn(2, 2, 4, 5, dtype=torch.double), torch.randn(3, 2, 2, 3, dtype=torch.double)
    size = torch.nn.functional.conv2d(x, weight, None, (2, 1), (1, 2), (1, 2)).shape[2:]
    offset, options = _shifted(1, *size)
    offset = torch.rand_like(offset) * 0.8 + 0.1  # off the points, where the slope changes
    inputs = tuple(t.requires_grad_() for t in (x, weight, offset, torch.randn(3, dtype=torch.double)))
    assert torch.autograd.gradcheck(lambda *args: npu.npu_deformable_conv2d(*args, **options)[0], inputs)


BOXES = torch.tensor([[0.0, 0, 10, 10], [1, 0, 10, 10], [20, 20, 30, 30], [0, 0, 10, 4]])


def test_suppression(check: Check) -> None:
    scores = torch.tensor([0.5, 0.9, 0.4, 0.8])
    limits = (torch.tensor(0.5), torch.tensor(0.45))
    check("npu_nms_v4", (BOXES, scores, 3, *limits), (torch.tensor([1, 3, 0]), torch.tensor(2)))
    rows = torch.cat([BOXES, torch.tensor([[0.9], [0.8], [0.7], [0.6]])], 1)
    expected = (rows, torch.arange(4), torch.tensor([1, 0, 1, 1]))
    (kernel,) = check("npu_nms_with_mask", (rows, 0.5), expected)
    assert kernel.op_type == "NMSWithMask"


def test_suppression_by_class(check: Check) -> None:
    scores = torch.tensor([[0.5, 0.1], [0.9, 0.6], [0.4, 0.7], [0.0, 0.65]]).unsqueeze(0)
    boxes = torch.stack([BOXES, BOXES[:, [0, 1, 2, 3]]], 1).unsqueeze(0)
    found = torch.tensor([[1, 2, 3, 1, 2, 0]])  # class 0: 1 and 2; class 1: 2, 3 and 1
    expected = (
        torch.cat([BOXES[found[0, :5]], torch.zeros(1, 4)]).unsqueeze(0),
        torch.tensor([[0.9, 0.7, 0.65, 0.6, 0.4, 0.0]]),
        torch.tensor([[0.0, 1, 1, 1, 0, 0]]),
        torch.tensor([5]),
    )
    check("npu_batch_nms", (boxes, scores, 0.3, 0.5, 3, 6), expected)
