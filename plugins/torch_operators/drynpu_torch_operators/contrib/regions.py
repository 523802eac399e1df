"""Modules of detection networks: pooled regions and deformable convolutions."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.modules.utils import _pair

from drynpu_torch_operators.contrib._checks import require

_ALIGNED_MODE, _LEGACY_MODE = 3, 0
"""Values of ``roi_end_mode``."""


class _RoiAlign(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, rois: Tensor, size: Any, spatial_scale: float, sampling_ratio: int, aligned: bool
    ) -> Tensor:
        ctx.save_for_backward(rois)
        ctx.shape, ctx.size, ctx.options = x.shape, size, (spatial_scale, sampling_ratio)
        ctx.mode = _ALIGNED_MODE if aligned else _LEGACY_MODE
        align = torch.ops.npu.npu_roi_align
        return align(x, rois, spatial_scale, *size, sampling_ratio, ctx.mode)  # type: ignore[no-any-return]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (rois,) = ctx.saved_tensors
        height, width = ctx.size
        gradient = torch.ops.npu.npu_roi_alignbk(grad, rois, ctx.shape, width, height, *ctx.options, ctx.mode)
        return gradient, None, None, None, None, None


class ROIAlign(nn.Module):
    """Means of samples in the bins of regions; *aligned* shifts them by half a pixel."""

    def __init__(self, output_size: Any, spatial_scale: float, sampling_ratio: int, aligned: bool = True) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio
        self.aligned = aligned

    def forward(self, input_tensor: Tensor, rois: Tensor) -> Tensor:
        """Return [regions, channels, *output_size] for maps and regions [n, 5]: image, left, top, right, bottom."""
        text = "Expected rois.dim() == 2 and rois.size(1) == 5"
        require(rois.dim() == 2 and rois.size(1) == 5, text)
        options = (_pair(self.output_size), self.spatial_scale, self.sampling_ratio, self.aligned)
        return _RoiAlign.apply(input_tensor.float(), rois, *options)  # type: ignore[no-any-return, no-untyped-call]

    def extra_repr(self) -> str:
        """Return the settings."""
        scale, ratio = self.spatial_scale, self.sampling_ratio
        return f"output_size={self.output_size}, spatial_scale={scale}, sampling_ratio={ratio}, aligned={self.aligned}"


class PSROIPool(nn.Module):
    """Position-sensitive means of regions: each bin has maps of its own."""

    def __init__(
        self,
        pooled_height: int = 7,
        pooled_width: int = 7,
        spatial_scale: float = 1 / 16.0,
        group_size: int = 7,
        output_dim: int = 22,
    ) -> None:
        super().__init__()
        text = "only pooled_height == pooled_width == group_size supported."
        require(pooled_height == pooled_width == group_size, text)
        self.group_size = group_size
        self.spatial_scale = spatial_scale
        self.output_dim = output_dim

    def forward(self, features: Tensor, rois: Tensor) -> Tensor:
        """Return [batch * regions, output_dim, group_size, group_size] for regions [batch, 5, regions]."""
        pool = torch.ops.npu.npu_ps_roi_pooling
        options = (self.spatial_scale, self.group_size, self.output_dim)
        return pool(features, rois, *options)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        """Return the settings."""
        size = self.group_size
        text = f"pooled_width={size}, pooled_height={size}, spatial_scale={self.spatial_scale}, "
        return f"{text}group_size={size}, output_dim={self.output_dim}"


class ModulatedDeformConv2dFunction(torch.autograd.Function):
    """
    A deformable convolution whose shifts come in turns, row and column of each weight.

    The operator takes all columns, all rows and all weights of the shifts: *there* and *back* order the former.
    """

    @staticmethod
    def forward(
        ctx: Any,
        input_tensor: Tensor,
        offset_ori: Tensor,
        mask: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        with_bias: bool = False,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        deformable_groups: int = 1,
        sort_index_for_npu_fp: Tensor | None = None,
        sort_index_for_npu_bp: Tensor | None = None,
    ) -> Tensor:
        """Return the convolution in FP32."""
        assert sort_index_for_npu_fp is not None
        x = input_tensor.float()
        offset = torch.cat([offset_ori.float().index_select(1, sort_index_for_npu_fp), mask.float()], dim=1)
        ctx.back, ctx.with_bias = sort_index_for_npu_bp, with_bias
        ctx.options = {
            "kernel_size": [weight.shape[2], weight.shape[3]],
            "stride": [1, 1, stride, stride],
            "padding": [padding] * 4,
            "dilation": [1, 1, dilation, dilation],
            "groups": groups,
            "deformable_groups": deformable_groups,
            "modulated": True,
        }
        out, gathered = torch.ops.npu.npu_deformable_conv2d(x, weight, offset, bias, **ctx.options)
        ctx.save_for_backward(x, weight, gathered, offset)
        return out  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of input, shifts, mask, weight and bias."""
        x, weight, gathered, offset = ctx.saved_tensors
        backward = torch.ops.npu.npu_deformable_conv2dbk
        dx, dweight, doffset, dbias = backward(x, grad_output, gathered, weight, offset, **ctx.options)
        shifts = doffset.index_select(1, ctx.back)
        gradients = (dx, shifts, doffset[:, shifts.shape[1] :], dweight, dbias if ctx.with_bias else None)
        return (*gradients, *[None] * 8)


class ModulatedDeformConv(nn.Module):
    """A modulated deformable convolution; *pack* computes shifts and mask from the input, too."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        deformable_groups: int = 1,
        bias: bool = True,
        pack: bool = True,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _pair(kernel_size)
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.groups = groups
        self.deformable_groups = deformable_groups
        self.with_bias = bias
        self.pack = pack
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels // groups, *self.kernel_size))
        self.bias: Tensor = nn.Parameter(torch.zeros(out_channels)) if bias else torch.zeros(out_channels)
        points = deformable_groups * math.prod(self.kernel_size)
        if pack:
            options = {"stride": _pair(stride), "padding": _pair(padding), "bias": True}
            self.conv_offset = nn.Conv2d(in_channels, points * 3, self.kernel_size, **options)
        self.split_num = points * 2
        order = torch.arange(self.split_num, dtype=torch.int32)
        self.sort_index_for_npu_fp = torch.cat([order[1::2], order[::2]])
        self.sort_index_for_npu_bp = self.sort_index_for_npu_fp.argsort().int()
        self.init_param()

    def init_param(self) -> None:
        """Draw the weights, and let shifts begin with 0."""
        limit = 1.0 / math.sqrt(self.in_channels * math.prod(self.kernel_size))
        self.weight.data.uniform_(-limit, limit)
        self.bias.data.zero_()
        if self.pack:
            self.conv_offset.weight.data.zero_()
            if self.conv_offset.bias is not None:
                self.conv_offset.bias.data.zero_()

    def forward(self, x: Any) -> Tensor:
        """Return the convolution of *x*, or without *pack* of the input, shifts and mask in *x*."""
        if self.pack:
            offsets = self.conv_offset(x)
            offset, mask = offsets[:, : self.split_num], torch.sigmoid(offsets[:, self.split_num :])
        else:
            x, offset, mask = x
        there, back = (index.to(x.device) for index in (self.sort_index_for_npu_fp, self.sort_index_for_npu_bp))
        bias = self.bias.to(x.device)
        options = (self.stride, self.padding, self.dilation, self.groups, self.deformable_groups, there, back)
        convolve = ModulatedDeformConv2dFunction.apply
        return convolve(x, offset, mask, self.weight, bias, self.with_bias, *options)  # type: ignore[no-any-return, no-untyped-call]


DCNv2 = ModulatedDeformConv
