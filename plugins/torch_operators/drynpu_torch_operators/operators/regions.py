"""Parts of feature maps, pooled inside boxes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._bilinear import bilinear
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import vector
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import FLOATS, Gradient, NpuOperator
from drynpu_torch_operators.operators._vjp import pulled_back

SCHEMAS = """
npu_roi_align(Tensor self, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, int sample_num,
    int roi_end_mode) -> Tensor
npu_roi_alignbk(Tensor self, Tensor rois, int[] xdiff_shape, int pooled_width, int pooled_height,
    float spatial_scale, int sample_num, int? roi_end_mode=None) -> Tensor
npu_ps_roi_pooling(Tensor self, Tensor rois, float spatial_scale, int group_size, int output_dim) -> Tensor
npu_ps_roi_pooling_backward(Tensor output_grad, Tensor rois, float spatial_scale, int group_size, int output_dim,
    SymInt[] input_size) -> Tensor
"""

_LEGACY, _WITH_END, _ALIGNED = 0, 1, 3
"""
Values of ``roi_end_mode``: boxes of at least one pixel, those that include the pixel at their end, or shifted by half a
pixel. 0 and 3 come from contrib/module/roi_align.py; 1 follows from the numbers of op-plugin's
test_roi_align_backward.py, which leaves the mode out.
"""


def _steps(start: Tensor, length: Tensor, bins: int, samples: int) -> Tensor:
    """Return the middles of *samples* equal parts of each bin: [bins, samples]."""
    each = length / bins
    inner = (torch.arange(samples, dtype=each.dtype, device=each.device) + 0.5) / samples
    return start + (torch.arange(bins, dtype=each.dtype, device=each.device).unsqueeze(1) + inner) * each


def _aligned_region(maps: Tensor, box: Tensor, call: Call) -> Tensor:
    """Return [channels, pooled height, pooled width] of one box, the mean of samples in every bin."""
    mode = _mode(call)
    end = torch.tensor([0.0, 0.0, 1.0, 1.0]) if mode == _WITH_END else 0.0
    corners = (box + end) * call["spatial_scale"] - (0.5 if mode == _ALIGNED else 0.0)
    size = corners[2:] - corners[:2]
    size = size if mode == _ALIGNED else size.clamp(min=1)
    bins = (call["pooled_height"], call["pooled_width"])
    samples = [call["sample_num"] or max(1, math.ceil(float(size[1 - i]) / bins[i])) for i in range(2)]
    rows, columns = (_steps(corners[1 - i], size[1 - i], bins[i], samples[i]) for i in range(2))
    height, width = maps.shape[-2:]
    # Samples within a pixel around the map count as its edge, those further away as 0 (He et al. 2017).
    near = [(at >= -1) & (at <= limit) for at, limit in ((rows, height), (columns, width))]
    y, x = rows.clamp(0, height - 1), columns.clamp(0, width - 1)
    values = bilinear(maps, y[:, :, None, None].expand(*y.shape, *x.shape), x.expand(*y.shape, *x.shape))
    return (values * (near[0][:, :, None, None] & near[1])).mean((2, 4))


def _mode(call: Call) -> int:
    mode: int | None = call["roi_end_mode"]
    return _WITH_END if mode is None else mode


def _check_mode(call: Call) -> None:
    mode = _mode(call)
    text = f"drynpu computes roi_end_mode 0, 1 and 3, not {mode}; the vendor's pages do not say what it does"
    errors.require(mode in (_LEGACY, _WITH_END, _ALIGNED), text, errors.NOT_SUPPORTED)


def _roi_align(call: Call) -> Tensor:
    _check_mode(call)
    maps, rois = wide(call["self"]), wide(call["rois"])
    regions = [_aligned_region(maps[int(roi[0])], roi[1:], call) for roi in rois]
    return (torch.stack(regions) if regions else _roi_align_shapes(call)).to(call["self"].dtype)


def _roi_align_shapes(call: Call) -> Tensor:
    x = call["self"]
    shape = (call["rois"].shape[0], x.shape[1], call["pooled_height"], call["pooled_width"])
    return x.new_empty(shape)  # type: ignore[no-any-return]


def _roi_align_backward(call: Call) -> Tensor:
    _check_mode(call)
    grad = wide(call["self"])
    maps = grad.new_zeros(tuple(call["xdiff_shape"]))

    def forward(x: Tensor) -> Tensor:
        return torch.stack([_aligned_region(x[int(roi[0])], roi[1:], call) for roi in wide(call["rois"])])

    return pulled_back(forward, (maps,), grad)[0].to(call["self"].dtype) if len(grad) else maps


def _bins(rois: Tensor, scale: float, group: int, size: tuple[int, int]) -> tuple[Tensor, ...]:
    """Return top, bottom [rois, group, 1], left and right [rois, 1, group] of the bins of boxes [rois, 5]."""
    start = rois[:, 1:3].round() * scale
    length = ((rois[:, 3:].round() + 1) * scale - start).clamp(min=0.1) / group
    steps = torch.arange(group, dtype=rois.dtype, device=rois.device)
    edges = []
    for axis, limit in ((1, size[0]), (0, size[1])):
        for offset, rounded in ((0, torch.floor), (1, torch.ceil)):
            at = rounded(start[:, axis, None] + (steps + offset) * length[:, axis, None])
            edges.append(at.clamp(0, limit).long())
    top, bottom, left, right = edges
    return top.unsqueeze(2), bottom.unsqueeze(2), left.unsqueeze(1), right.unsqueeze(1)


def _ps_pooled(maps: Tensor, rois: Tensor, scale: float, group: int, channels: int) -> Tensor:
    """Return position-sensitive means [batch * rois, channels, group, group] (Dai et al. 2016)."""
    batch, _, height, width = maps.shape
    boxes = rois.transpose(1, 2).reshape(-1, 5)
    sums = torch.nn.functional.pad(maps.double().cumsum(-1).cumsum(-2), (1, 0, 1, 0))
    sums = sums.reshape(batch, channels, group, group, height + 1, width + 1)
    top, bottom, left, right = _bins(boxes, scale, group, (height, width))
    image = boxes[:, 0].long()
    known = (image >= 0) & (image < batch)
    cells = torch.arange(group, device=maps.device)
    place = (image.clamp(0, batch - 1)[:, None, None], slice(None), cells[:, None], cells)
    area = (bottom - top).clamp(min=0) * (right - left).clamp(min=0) * known[:, None, None]
    corners = ((bottom, right), (top, right), (bottom, left), (top, left))
    ends = [sums[place + corner] for corner in corners]
    total = ends[0] - ends[1] - ends[2] + ends[3]
    means = torch.where(area.unsqueeze(-1) > 0, total / area.clamp(min=1).unsqueeze(-1), torch.zeros_like(total))
    return means.permute(0, 3, 1, 2).to(maps.dtype)


def _ps_roi_pooling(self: Tensor, rois: Tensor, spatial_scale: float, group_size: int, output_dim: int) -> Tensor:
    text = f"rois only supports at least 3D tensors, rois got: {rois.dim()}D"
    errors.require(rois.dim() >= 3, text)
    return _ps_pooled(wide(self), wide(rois), spatial_scale, group_size, output_dim).to(self.dtype)


def _ps_roi_pooling_shapes(self: Tensor, rois: Tensor, group_size: int, output_dim: int) -> Tensor:
    return self.new_empty(rois.shape[0] * rois.shape[2], output_dim, group_size, group_size)


def _ps_roi_pooling_backward(call: Call) -> Tensor:
    grad, rois = wide(call["output_grad"]), wide(call["rois"])
    options = (call["spatial_scale"], call["group_size"], call["output_dim"])
    maps = grad.new_zeros(_ps_maps(call))
    return pulled_back(lambda x: _ps_pooled(x, rois, *options), (maps,), grad)[0].to(call["output_grad"].dtype)


def _ps_maps(call: Call) -> tuple[int, ...]:
    channels = call["group_size"] ** 2 * call["output_dim"]
    return (call["rois"].shape[0], channels, *call["input_size"][:2])


def _ps_gradient(call: Call, grad: Tensor) -> Mapping[str, Tensor | None]:
    options = (call["spatial_scale"], call["group_size"], call["output_dim"], call["self"].shape[2:])
    return {"self": torch.ops.npu.npu_ps_roi_pooling_backward(grad, call["rois"], *options)}


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_roi_align": NpuOperator(
        compute=_roi_align, shapes=_roi_align_shapes, kernels=vector("ROIAlign", cost=32), dtypes=FLOATS
    ),
    "npu_roi_alignbk": NpuOperator(
        compute=_roi_align_backward,
        shapes=lambda self, xdiff_shape: self.new_empty(tuple(xdiff_shape)),
        kernels=vector("ROIAlignGrad", cost=32),
        dtypes=FLOATS,
    ),
    "npu_ps_roi_pooling": NpuOperator(
        compute=_ps_roi_pooling,
        shapes=_ps_roi_pooling_shapes,
        kernels=vector("PSROIPoolingV2", cost=8),
        gradient=Gradient(compute=_ps_gradient, keeps=("self", "rois")),
        dtypes=FLOATS,
    ),
    "npu_ps_roi_pooling_backward": NpuOperator(
        compute=_ps_roi_pooling_backward,
        shapes=lambda call: call["output_grad"].new_empty(_ps_maps(call)),
        kernels=vector("PSROIPoolingGradV2D", cost=8),
        dtypes=FLOATS,
    ),
}
