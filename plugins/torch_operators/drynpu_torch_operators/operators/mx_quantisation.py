"""Quantisation with scales for blocks of 32 numbers: of groups of rows, of square blocks, and behind norms."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._launch import vector
from drynpu_torch_operators.operators._lowbits import BLOCK, in_mx_type, mx_exponents, mx_quantised, packed_int4
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import NpuOperator
from drynpu_torch_operators.operators._values import even_shares, integers, running_ends

SCHEMAS = """
npu_grouped_dynamic_mx_quant(Tensor x, Tensor group_index, *, str round_mode="rint", int dst_type=23,
    int blocksize=32, int? scale_alg=0, float? dst_type_max=0.0) -> (Tensor, Tensor)
npu_dynamic_block_mx_quant(Tensor input, *, str round_mode="rint", int dst_type=296, int scale_alg=0,
    float dst_type_max=0.0) -> (Tensor, Tensor, Tensor)
npu_rms_norm_dynamic_mx_quant(Tensor x, Tensor gamma, *, Tensor? beta=None, float epsilon=1e-06, int scale_alg=0,
    str round_mode="rint", int dst_type=296) -> (Tensor, Tensor, Tensor)
npu_add_rms_norm_dynamic_mx_quant(Tensor x1, Tensor x2, Tensor gamma, *, Tensor? beta=None, float epsilon=1e-06,
    int scale_alg=0, str round_mode="rint", int dst_type=296) -> (Tensor, Tensor, Tensor, Tensor)
npu_kronecker_quant(Tensor x, Tensor kronecker_p1, Tensor kronecker_p2, float? clip_ratio=None,
    int? dst_dtype=None, float? dst_type_max=None) -> (Tensor out, Tensor quant_scale)
"""

_COST, _NORM_COST, _INT4_LIMIT = 8, 13, 7
"""Element operations of finding a scale, scaling and rounding, as in quantisation; with a norm before it."""


def _check_groups(x: Tensor, group_index: Tensor, block: int) -> None:
    errors.require(x.dim() == 2, f"Input x must be 2-dimensional, got dimNum {x.dim()}", errors.VALUE)
    dims = group_index.dim()
    errors.require(dims == 1, f"Input group_index must be 1-dimensional, got dimNum {dims}", errors.VALUE)
    errors.require(block == BLOCK, f"Parameter blocksize only supports 32,  got {block}")


def _grouped(
    x: Tensor, group_index: Tensor, dst_type: int, blocksize: int, scale_alg: int | None
) -> tuple[Tensor, Tensor]:
    """Quantise blocks of 32 rows that end with their group; the scales of each group begin in a row of their own."""
    _check_groups(x, group_index, blocksize)
    ends = integers(group_index, running_ends(even_shares(x.shape[0], group_index.numel())))
    scales = x.new_zeros(x.shape[0] // (2 * BLOCK) + len(ends), x.shape[1], 2, dtype=torch.uint8)
    parts, begin = [], 0
    for number, end in enumerate(ends):
        values, codes = mx_quantised(x[begin:end], 0, dst_type, scale_alg or 0)
        parts.append(values)
        first = begin // (2 * BLOCK) + number
        scales[first : first + codes.shape[0]] = codes
        begin = end
    rest = x[begin:]
    parts.append(in_mx_type(torch.zeros_like(rest, dtype=torch.float32), dst_type))
    return torch.cat([part.view(torch.uint8) for part in parts]).view(parts[0].dtype), scales


def _split(x: Tensor, axis: int, size: int) -> Tensor:
    """Return *x* with an axis, counted from behind, as two: places, and *size* neighbours in each."""
    place = axis % x.dim()
    return x.reshape(*x.shape[:place], -1, size, *x.shape[place + 1 :])


def _squares(input_: Tensor, dst_type: int, scale_alg: int) -> tuple[Tensor, Tensor, Tensor]:
    """Quantise blocks of 32 by 32; the scales are given for blocks along the last axis, and along the one before."""
    rows, columns = input_.shape[-2:]
    padded = torch.nn.functional.pad(input_.float(), (0, -columns % BLOCK, 0, -rows % BLOCK))
    blocks = _split(_split(padded, -1, BLOCK), -3, BLOCK)
    exponents, codes = mx_exponents(blocks.abs().amax((-3, -1)), dst_type, scale_alg)
    spread = exponents.repeat_interleave(BLOCK, -2).repeat_interleave(BLOCK, -1)[..., :rows, :columns]
    values = in_mx_type(torch.ldexp(input_.float(), -spread), dst_type)
    by_row = codes.repeat_interleave(BLOCK, -2)[..., :rows, :]
    by_column = codes.repeat_interleave(BLOCK, -1)[..., :columns]
    by_row = torch.nn.functional.pad(by_row, (0, by_row.shape[-1] % 2))
    by_column = torch.nn.functional.pad(by_column, (0, 0, 0, by_column.shape[-2] % 2))
    return values, _split(by_row, -1, 2).contiguous(), _split(by_column, -2, 2).movedim(-2, -1).contiguous()


def _normed(x: Tensor, gamma: Tensor, beta: Tensor | None, epsilon: float) -> tuple[Tensor, Tensor]:
    rstd = x.square().mean(-1, keepdim=True).add(epsilon).rsqrt()
    y = x * rstd * wide(gamma)
    return (y if beta is None else y + wide(beta)), rstd


def _rms_norm(
    x: Tensor, gamma: Tensor, beta: Tensor | None, epsilon: float, scale_alg: int, dst_type: int
) -> tuple[Tensor, Tensor, Tensor]:
    y, rstd = _normed(wide(x), gamma, beta, epsilon)
    return *mx_quantised(y.to(x.dtype), -1, dst_type, scale_alg), rstd


def _add_rms_norm(
    x1: Tensor, x2: Tensor, gamma: Tensor, beta: Tensor | None, epsilon: float, scale_alg: int, dst_type: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    total = (wide(x1) + wide(x2)).to(x1.dtype)
    y, rstd = _normed(wide(total), gamma, beta, epsilon)
    values, scales = mx_quantised(y.to(x1.dtype), -1, dst_type, scale_alg)
    return values, total, scales, rstd


def _kronecker(
    x: Tensor, kronecker_p1: Tensor, kronecker_p2: Tensor, clip_ratio: float | None
) -> tuple[Tensor, Tensor]:
    """Quantise P1 x P2 to 4 bits; towards zero, as op-plugin's test of the operator does."""
    errors.require(x.shape[-1] % 8 == 0, "last dim of input x must be divisible by 8", errors.NOT_SUPPORTED)
    inner = wide((wide(x) @ wide(kronecker_p2)).to(x.dtype))
    turned = wide((wide(kronecker_p1) @ inner).to(x.dtype))
    largest = _INT4_LIMIT * (1.0 if clip_ratio is None else clip_ratio)
    scale = turned.abs().amax((1, 2)) / largest
    divided = turned / torch.where(scale == 0, 1.0, scale).reshape(-1, 1, 1)
    return packed_int4(divided.half().trunc().clamp(-_INT4_LIMIT - 1, _INT4_LIMIT)), scale.float()


_LIMITS = ("round_mode", "dst_type_max")
_TYPES = "float16, bfloat16 into float8 and 4-bit floats"

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_grouped_dynamic_mx_quant": NpuOperator(
        compute=_grouped, kernels=vector("GroupedDynamicMxQuant", cost=_COST), left_out=_LIMITS, dtypes=_TYPES
    ),
    "npu_dynamic_block_mx_quant": NpuOperator(
        compute=_squares, kernels=vector("DynamicBlockMxQuant", cost=_COST), left_out=_LIMITS, dtypes=_TYPES
    ),
    "npu_rms_norm_dynamic_mx_quant": NpuOperator(
        compute=_rms_norm,
        kernels=vector("RmsNormDynamicMxQuant", cost=_NORM_COST),
        left_out=("round_mode",),
        dtypes=_TYPES,
    ),
    "npu_add_rms_norm_dynamic_mx_quant": NpuOperator(
        compute=_add_rms_norm,
        kernels=vector("AddRmsNormDynamicMxQuant", cost=_NORM_COST),
        left_out=("round_mode",),
        dtypes=_TYPES,
    ),
    "npu_kronecker_quant": NpuOperator(
        compute=_kronecker,
        kernels=vector("FlatQuant", cost=_COST),
        left_out=("dst_dtype", "dst_type_max"),
        dtypes="float16, bfloat16 into int4 in int32",
    ),
}
