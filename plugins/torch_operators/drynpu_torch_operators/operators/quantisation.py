"""Quantisation: scales that follow from the numbers, given scales, packed integers, and gates that quantise."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._hifloat8 import LARGEST, hifloat8_codes
from drynpu_torch_operators.operators._launch import no_kernels, vector
from drynpu_torch_operators.operators._lowbits import HIFLOAT8, mx_quantised, packed_int4, unpacked_int4
from drynpu_torch_operators.operators._numbers import saturated, torch_dtype, wide
from drynpu_torch_operators.operators._operator import NpuOperator

SCHEMAS = """
npu_dynamic_quant(Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None, int? dst_type=None,
    str quant_mode="pertoken", float dst_type_max=0.0) -> (Tensor, Tensor)
npu_dynamic_quant_asymmetric(Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None,
    int? dst_type=None, str quant_mode="pertoken", float dst_type_max=0.0) -> (Tensor, Tensor, Tensor)
npu_quantize(Tensor self, Tensor scales, Tensor? zero_points, int dtype, int axis=1, bool div_mode=True) -> Tensor
npu_trans_quant_param(Tensor scale, Tensor? offset=None, int? round_mode=0) -> Tensor
npu_anti_quant(Tensor x, Tensor scale, *, Tensor? offset=None, int? dst_dtype=None, int? src_dtype=None) -> Tensor
npu_convert_weight_to_int4pack(Tensor weight, int inner_k_tiles=0) -> Tensor
npu_swiglu_quant(Tensor x, *, Tensor? smooth_scales=None, Tensor? offsets=None, Tensor? group_index=None,
    bool activate_left=False, int quant_mode=0, int group_list_type=0, ScalarType? dst_type=None) -> (Tensor, Tensor)
npu_dynamic_block_quant(Tensor x, *, float min_scale=0.0, str round_mode="rint", int dst_type=1,
    int row_block_size=1, int col_block_size=128, float dst_type_max=0.0) -> (Tensor y, Tensor scale)
npu_dynamic_mx_quant(Tensor input, *, int axis=-1, str round_mode="rint", int dst_type=296, int block_size=32,
    int? scale_alg=0, float dst_type_max=0.0, float max_low_bound=0.0) -> (Tensor, Tensor)
npu_dynamic_mx_quant_with_dual_axis(Tensor input, *, str round_mode="rint", int dst_type=296, int scale_alg=0,
    float dst_type_max=0.0) -> (Tensor, Tensor, Tensor, Tensor)
"""

_INT4 = (16, 285)
"""Numbers of the 4-bit integer: torch.quint4x2 and torch_npu.int4."""
_INT4_LIMIT, _ASYMMETRIC_STEPS, _INT8_LOWEST = 7.0, 255.0, -128.0
_ROUNDED_SCALE = 0xFFFFE000
"""Bits of an FP32 scale that the matrix unit keeps."""
_HAS_SCALE, _OFFSET_PLACE, _OFFSET_BITS, _OFFSET_LIMIT = 1 << 46, 37, 0x1FF, 255
_COST, _SWIGLU_COST = 8, 14
"""Element operations of finding a scale, scaling and rounding; with a gate before it. Our count."""


def _limit(dst_type: int | None) -> float:
    """Return the largest number of a type."""
    if dst_type in _INT4:
        return _INT4_LIMIT
    if dst_type == HIFLOAT8:
        return LARGEST
    dtype = torch_dtype(dst_type, torch.int8)
    return torch.finfo(dtype).max if dtype.is_floating_point else float(torch.iinfo(dtype).max)


def _in_type(x: Tensor, dst_type: int | None) -> Tensor:
    """Return rounded *x* in a type by number; eight 4-bit integers to an INT32."""
    if dst_type == HIFLOAT8:
        return hifloat8_codes(x.clamp(-LARGEST, LARGEST))
    if dst_type not in _INT4:
        return saturated(x, torch_dtype(dst_type, torch.int8))
    text = "If dst_dtype is quint4x2, the last dim of input must be divisible by 8"
    errors.require(x.shape[-1] % 8 == 0, text)
    return packed_int4(x.round().clamp(-8, 7))


def _smoothed(x: Tensor, smooth: Tensor | None, group_index: Tensor | None) -> Tensor:
    """Return *x* times the smooth scales; with *group_index* (cumulative ends of rows) each group has its own."""
    errors.require(x.dim() > 1, "Input shape dim should be greater than 1")
    if smooth is None:
        return wide(x)
    if group_index is None:
        return wide(x) * wide(smooth)
    rows = torch.arange(x[..., 0].numel(), device=x.device)
    group = torch.bucketize(rows, group_index.long(), right=True).clamp(max=smooth.shape[0] - 1)
    return wide(x) * wide(smooth)[group].reshape(x.shape)


def _axes(x: Tensor, mode: str) -> tuple[int, ...]:
    return {"pertoken": (-1,), "perchannel": (-2,), "pertensor": tuple(range(x.dim()))}[mode]


def _nonzero(scale: Tensor) -> Tensor:
    return torch.where(scale == 0, 1.0, scale)


def _dynamic_quant(
    input_: Tensor,
    smooth_scales: Tensor | None,
    group_index: Tensor | None,
    dst_type: int | None,
    quant_mode: str,
    dst_type_max: float,
) -> tuple[Tensor, Tensor]:
    x, limit = _smoothed(input_, smooth_scales, group_index), _limit(dst_type)
    axes = _axes(x, quant_mode)
    scale = x.abs().amax(axes, keepdim=True) / (dst_type_max or limit)
    flat = scale.reshape(1) if quant_mode == "pertensor" else scale.squeeze(axes[0])
    return _in_type(x / _nonzero(scale), dst_type), flat.float()


def _dynamic_quant_asymmetric(
    input_: Tensor, smooth_scales: Tensor | None, group_index: Tensor | None, dst_type: int | None, quant_mode: str
) -> tuple[Tensor, Tensor, Tensor]:
    x = _smoothed(input_, smooth_scales, group_index)
    axes = _axes(x, quant_mode)
    half = _limit(dst_type)
    low, high = x.amin(axes, keepdim=True), x.amax(axes, keepdim=True)
    scale = (high - low) / (2 * half + 1)
    offset = -half - 1 - low / _nonzero(scale)
    y = _in_type(x / _nonzero(scale) + offset, dst_type)
    shape = (1,) if quant_mode == "pertensor" else scale.squeeze(axes[0]).shape
    return y, scale.reshape(shape).float(), offset.reshape(shape).float()


def _quantize(
    self: Tensor, scales: Tensor, zero_points: Tensor | None, dtype: int, axis: int, div_mode: bool
) -> Tensor:
    x, shape = wide(self), [1] * self.dim()
    if scales.numel() > 1 and div_mode:
        shape[axis] = scales.numel()
    factor = wide(scales).reshape(shape) if div_mode else wide(scales)
    zero = torch.zeros((), device=self.device) if zero_points is None else wide(zero_points)
    if div_mode:
        return _in_type((x / factor).round() + (zero.reshape(shape) if zero.dim() else zero), dtype)
    return _in_type(x * factor + zero, dtype)


def _trans_quant_param(scale: Tensor, offset: Tensor | None) -> Tensor:
    fits = scale.dim() == 1 or (scale.dim() == 2 and scale.shape[0] == 1)
    errors.require(fits, "the scale shape support only (1, ) and (1, n)")
    bits = scale.float().contiguous().view(torch.int32).long() & _ROUNDED_SCALE
    parameter = bits | _HAS_SCALE
    if offset is not None:
        rounded = offset.float().round().clamp(-_OFFSET_LIMIT - 1, _OFFSET_LIMIT).long()
        parameter = parameter | ((rounded & _OFFSET_BITS) << _OFFSET_PLACE)
    return parameter


def _anti_quant(
    x: Tensor, scale: Tensor, offset: Tensor | None, dst_dtype: int | None, src_dtype: int | None
) -> Tensor:
    packed = x.dtype is torch.int32 or src_dtype in _INT4
    values = unpacked_int4(x) if packed else x.float()
    shifted = values if offset is None else values + offset.float()
    return (shifted * scale.float()).to(torch_dtype(dst_dtype, torch.float16))


def _convert_weight_to_int4pack(weight: Tensor) -> Tensor:
    errors.require(weight.is_contiguous(), "weight should be contiguous")
    errors.require(weight.shape[-1] % 8 == 0, "the last dim of weight should be divisible by 8")
    return packed_int4(weight.round().clamp(-8, 7))


def _swiglu_quant(
    x: Tensor,
    smooth_scales: Tensor | None,
    offsets: Tensor | None,
    group_index: Tensor | None,
    activate_left: bool,
    quant_mode: int,
    group_list_type: int,
    dst_type: torch.dtype | None,
) -> tuple[Tensor, Tensor]:
    text = f"npu_swiglu_quant: drynpu computes results in INT8 alone, not in {dst_type}"
    errors.require(dst_type in (None, torch.int8), text, errors.NOT_SUPPORTED)
    first, second = wide(x).chunk(2, -1)
    gate, linear = (first, second) if activate_left else (second, first)
    y = gate * gate.sigmoid() * linear
    ends = None if group_index is None else group_index.cumsum(0) if group_list_type else group_index
    if quant_mode == 1:
        y = _smoothed(y, smooth_scales, ends if smooth_scales is not None and smooth_scales.dim() > 1 else None)
        # The scale multiplies, unlike in the other operators: upstream's own test has it so, and the vendor's ATB
        # takes its reciprocal behind the call.
        scale = torch.iinfo(torch.int8).max / y.abs().amax(-1)
        return saturated(y * torch.where(scale.isinf(), 0.0, scale).unsqueeze(-1), torch.int8), scale.float()
    scaled = _smoothed(y, smooth_scales, ends)
    shifted = scaled if offsets is None else scaled + wide(offsets)
    return saturated(shifted, torch.int8), y.new_zeros(y.shape[:-1], dtype=torch.float32)


def _dynamic_block_quant(
    x: Tensor, min_scale: float, dst_type: int, row_block_size: int, col_block_size: int, dst_type_max: float
) -> tuple[Tensor, Tensor]:
    errors.require(x.dim() in (2, 3), "x must be 2 or 3 dimensional.")
    limit, (rows, columns) = dst_type_max or _limit(dst_type), x.shape[-2:]
    values = torch.nn.functional.pad(wide(x), (0, -columns % col_block_size, 0, -rows % row_block_size))
    blocks = values.reshape(*x.shape[:-2], -1, row_block_size, values.shape[-1] // col_block_size, col_block_size)
    scale = (blocks.abs().amax((-3, -1), keepdim=True) / limit).clamp(min=min_scale)
    y = (blocks / _nonzero(scale)).reshape(values.shape)[..., :rows, :columns]
    return _in_type(y, dst_type), scale.squeeze(-1).squeeze(-2).float()


def _dynamic_mx_quant(
    input_: Tensor, axis: int, dst_type: int, block_size: int, scale_alg: int | None
) -> tuple[Tensor, Tensor]:
    text = "Param (axis) is out of input dimension range"
    errors.require(-input_.dim() <= axis < input_.dim(), text)
    text = "Param (block_size) must be divisible by 32 and no greater than 1024, greater than 0"
    errors.require(0 < block_size <= 1024 and block_size % 32 == 0, text)
    return mx_quantised(input_, axis, dst_type, scale_alg or 0, block_size)


def _dynamic_mx_quant_with_dual_axis(input_: Tensor, dst_type: int, scale_alg: int) -> tuple[Tensor, ...]:
    return *mx_quantised(input_, -1, dst_type, scale_alg), *mx_quantised(input_, -2, dst_type, scale_alg)


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_dynamic_quant": NpuOperator(compute=_dynamic_quant, kernels=vector("DynamicQuant", cost=_COST)),
    "npu_dynamic_quant_asymmetric": NpuOperator(
        compute=_dynamic_quant_asymmetric,
        kernels=vector("DynamicQuant", "aclnnDynamicQuantV2", cost=_COST),
        left_out=("dst_type_max",),
    ),
    "npu_quantize": NpuOperator(compute=_quantize, kernels=vector("AscendQuantV2", "aclnnAscendQuantV3", cost=4)),
    "npu_trans_quant_param": NpuOperator(
        compute=_trans_quant_param,
        kernels=vector("TransQuantParamV2", "aclnnTransQuantParamV3", cost=2),
        left_out=("round_mode",),
    ),
    "npu_anti_quant": NpuOperator(
        compute=_anti_quant, kernels=vector("AscendAntiQuant", cost=3), dtypes="int8, int4 in int32"
    ),
    "npu_convert_weight_to_int4pack": NpuOperator(
        compute=_convert_weight_to_int4pack, kernels=no_kernels, dtypes="int32, float32"
    ),
    "npu_swiglu_quant": NpuOperator(compute=_swiglu_quant, kernels=vector("SwiGluQuant", cost=_SWIGLU_COST)),
    "npu_dynamic_block_quant": NpuOperator(
        compute=_dynamic_block_quant, kernels=vector("DynamicBlockQuant", cost=_COST), left_out=("round_mode",)
    ),
    "npu_dynamic_mx_quant": NpuOperator(
        compute=_dynamic_mx_quant,
        kernels=vector("DynamicMxQuant", cost=_COST),
        left_out=("round_mode", "dst_type_max", "max_low_bound"),
    ),
    "npu_dynamic_mx_quant_with_dual_axis": NpuOperator(
        compute=_dynamic_mx_quant_with_dual_axis,
        kernels=vector("DynamicMxQuantWithDualAxis", cost=2 * _COST),
        left_out=("round_mode", "dst_type_max"),
    ),
}
