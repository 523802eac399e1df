"""Quantisation into tensors that are there, and with a scale for each group of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._launch import vector
from drynpu_torch_operators.operators._numbers import saturated, torch_dtype, wide
from drynpu_torch_operators.operators._operator import NpuOperator
from drynpu_torch_operators.operators._values import integers
from drynpu_torch_operators.operators.caches import update_in_place

SCHEMAS = """
_npu_quantize_per_tensor(Tensor x, Tensor scale, Tensor zero_point, Tensor(a!) y) -> ()
_npu_quant_rms_norm(Tensor self, Tensor gamma, Tensor beta, Tensor scale, Tensor offset, Tensor(a!) output,
    float eps=1e-05) -> ()
npu_group_quant(Tensor x, Tensor scale, Tensor group_index, *, Tensor? offset=None, ScalarType? dst_dtype=None) ->
    Tensor
npu_quant_scatter(Tensor self, Tensor indices, Tensor updates, Tensor quant_scales, Tensor? quant_zero_points=None,
    int axis=-2, int quant_axis=-1, str reduce='update', int? dst_type=None, str? round_mode='rint') -> Tensor
npu_quant_scatter_(Tensor(a!) self, Tensor indices, Tensor updates, Tensor quant_scales,
    Tensor? quant_zero_points=None, int axis=-2, int quant_axis=-1, str reduce='update', int? dst_type=None,
    str? round_mode='rint') -> Tensor(a!)
"""

_MOST_DIMENSIONS = 8
_QUANTISED, _NORMED = 5, 13
"""Element operations: scaling, shifting and rounding to INT8; those behind a norm and its weights."""


def _check_dimensions(*tensors: Tensor) -> None:
    for tensor in tensors:
        text = f"ATB tensor supports at most {_MOST_DIMENSIONS} dimensions, but got {tensor.dim()}"
        errors.require(tensor.dim() <= _MOST_DIMENSIONS, text)


def _per_tensor(x: Tensor, scale: Tensor, zero_point: Tensor, y: Tensor) -> None:
    """Write x / scale + zero point; an empty zero point is none."""
    _check_dimensions(x, scale, zero_point, y)
    scaled = (wide(x) / wide(scale)).round()
    y.copy_(saturated(scaled + wide(zero_point) if zero_point.numel() else scaled, torch.int8))


def _rms_norm(
    self: Tensor, gamma: Tensor, beta: Tensor, scale: Tensor, offset: Tensor, output: Tensor, eps: float
) -> None:
    _check_dimensions(self, gamma, beta, scale, offset, output)
    x = wide(self)
    y = x * x.square().mean(-1, keepdim=True).add(eps).rsqrt() * wide(gamma) + wide(beta)
    output.copy_(saturated(y / wide(scale) + wide(offset), torch.int8))


def _nothing() -> None:
    """Return what an operator returns that only writes."""


def _group_quant(
    x: Tensor, scale: Tensor, group_index: Tensor, offset: Tensor | None, dst_dtype: torch.dtype | None
) -> Tensor:
    """Return rows times the scale of their group, whose ends are *group_index*, in INT8."""
    _check_type(dst_dtype)
    ends: Sequence[int] = integers(group_index, [x.shape[0]] * group_index.numel())
    groups = torch.bucketize(torch.arange(x.shape[0]), torch.tensor(ends), right=True).to(x.device)
    scaled = wide(x) * wide(scale)[groups.clamp(max=scale.shape[0] - 1)]
    return saturated(scaled if offset is None else scaled + wide(offset), torch.int8)


def _group_quant_shapes(x: Tensor, dst_dtype: torch.dtype | None) -> Tensor:
    _check_type(dst_dtype)
    return x.new_empty(x.shape, dtype=torch.int8)


def _check_type(dst_dtype: torch.dtype | None) -> None:
    text = f"drynpu computes npu_group_quant to INT8, not to {dst_dtype}"
    errors.require(dst_dtype in (None, torch.int8, torch.qint8), text, errors.NOT_SUPPORTED)


def _scattered(
    self: Tensor,
    indices: Tensor,
    updates: Tensor,
    quant_scales: Tensor,
    quant_zero_points: Tensor | None,
    axis: int,
    reduce: str,
    dst_type: int | None,
) -> Tensor:
    """Write updates / scales + zero points into *self*, at *indices* along *axis*."""
    errors.require(reduce == "update", f"reduce should be update, but got {reduce}")
    scaled = wide(updates) / wide(quant_scales)
    shifted = scaled if quant_zero_points is None else scaled + wide(quant_zero_points)
    values = saturated(shifted, torch_dtype(dst_type, self.dtype))
    return update_in_place(self, indices, values, axis)


def _scatter(
    self: Tensor,
    indices: Tensor,
    updates: Tensor,
    quant_scales: Tensor,
    quant_zero_points: Tensor | None,
    axis: int,
    reduce: str,
    dst_type: int | None,
) -> Tensor:
    return _scattered(self.clone(), indices, updates, quant_scales, quant_zero_points, axis, reduce, dst_type)


def _like(self: Tensor) -> Tensor:
    return torch.empty_like(self)


def _itself(self: Tensor) -> Tensor:
    return self


OPERATORS: Mapping[str, NpuOperator] = {
    "_npu_quantize_per_tensor": NpuOperator(
        compute=_per_tensor,
        shapes=_nothing,
        kernels=vector("ElewiseQuantPerChannelKernel", "QuantPerTensorOperation", cost=_QUANTISED, written=("y",)),
        dtypes="float16, bfloat16",
    ),
    "_npu_quant_rms_norm": NpuOperator(
        compute=_rms_norm,
        shapes=_nothing,
        kernels=vector("RmsNormQuantKernel", "QuantRmsNormOperation", cost=_NORMED, written=("output",)),
        dtypes="float16, bfloat16",
    ),
    "npu_group_quant": NpuOperator(
        compute=_group_quant, shapes=_group_quant_shapes, kernels=vector("GroupQuant", cost=_QUANTISED)
    ),
    "npu_quant_scatter": NpuOperator(
        compute=_scatter,
        shapes=_like,
        kernels=vector("QuantUpdateScatter", "aclnnInplaceQuantScatterV2", cost=_QUANTISED),
        dtypes="float16, bfloat16; output int8",
    ),
    "npu_quant_scatter_": NpuOperator(
        compute=_scattered,
        shapes=_itself,
        kernels=vector("QuantUpdateScatter", "aclnnInplaceQuantScatterV2", cost=_QUANTISED, written=("self",)),
        dtypes="float16, bfloat16; output int8",
    ),
}
