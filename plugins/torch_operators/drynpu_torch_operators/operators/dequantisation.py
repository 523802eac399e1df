"""Sums of INT8 products that become floating numbers again, with a gate and a new quantisation behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from drynpu.kernels import TaskType
from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, product, vector
from drynpu_torch_operators.operators._numbers import quantised_by_row, saturated, torch_dtype, wide
from drynpu_torch_operators.operators._operator import NpuOperator
from drynpu_torch_operators.operators._values import even_shares, integers
from drynpu_torch_operators.operators.matmul import scale_numbers

SCHEMAS = """
npu_dequant_swiglu_quant(Tensor x, *, Tensor? weight_scale=None, Tensor? activation_scale=None, Tensor? bias=None,
    Tensor? quant_scale=None, Tensor? quant_offset=None, Tensor? group_index=None, bool activate_left=False,
    int quant_mode=0, int? dst_type=None, int? round_mode=None, int? activate_dim=None, int swiglu_mode=0,
    float clamp_limit=7.0, float glu_alpha=1.702, float glu_bias=1.0) -> (Tensor, Tensor)
npu_dequant_bias(Tensor x, Tensor weight_scale, Tensor? activation_scale, Tensor? bias, *,
    ScalarType? output_dtype=None) -> Tensor
npu_quant_conv2d(Tensor input, Tensor weight, Tensor scale, int[2] strides=1, int[2] pads=0, int[2] dilations=1,
    int groups=1, int offset_x=0, str round_mode='rint', int? output_dtype=None, Tensor? bias=None,
    Tensor? offset=None, int? input_dtype=None, int? weight_dtype=None) -> Tensor
"""


def _dequant_swiglu_quant(call: Call) -> tuple[Tensor, Tensor]:
    x, axis = wide(call["x"]), call["activate_dim"]
    text = "drynpu gates along the last axis; leave activate_dim out"
    errors.require(axis in (None, -1, x.dim() - 1), text, errors.NOT_SUPPORTED)
    rows = x.reshape(-1, x.shape[-1])
    group = _groups_of_rows(call["group_index"], rows.shape[0])
    if call["bias"] is not None and call["bias"].dtype is torch.int32:
        rows = rows + _of_groups(call["bias"], group)
    if call["weight_scale"] is not None:
        rows = rows * _of_groups(call["weight_scale"], group)
    if call["activation_scale"] is not None:
        rows = rows * wide(call["activation_scale"]).reshape(-1, 1)
    if call["bias"] is not None and call["bias"].dtype is not torch.int32:
        rows = rows + _of_groups(call["bias"], group)
    y = _glu(call, rows)
    scale, offset = call["quant_scale"], call["quant_offset"]
    shape = (*x.shape[:-1], x.shape[-1] // 2)
    if call["quant_mode"] == 0:
        y = y if scale is None else y * _of_groups(scale, group)
        y = y if offset is None else y + _of_groups(offset, group)
        return saturated(y, torch.int8).reshape(shape), y.new_zeros(shape[:-1], dtype=torch.float32)
    smoothed = y if scale is None else y * _of_groups(scale, group)
    values, scales = quantised_by_row(smoothed, torch.int8)
    return values.reshape(shape), scales.reshape(shape[:-1])


def _glu(call: Call, rows: Tensor) -> Tensor:
    """Return gate times linear part; mode 1 has them in turns, limits both and adds a bias to the linear one."""
    if call["swiglu_mode"] == 1:
        gate, linear = rows[:, ::2], rows[:, 1::2]
        limit = call["clamp_limit"]
        gate, linear = gate.clamp(max=limit), linear.clamp(-limit, limit)
        alpha: float = call["glu_alpha"]
        bias: float = call["glu_bias"]
        return gate * (alpha * gate).sigmoid() * (linear + bias)
    first, second = rows.chunk(2, -1)
    gate, linear = (first, second) if call["activate_left"] else (second, first)
    return gate * gate.sigmoid() * linear


def _groups_of_rows(counts: Tensor | None, rows: int) -> Tensor | None:
    """Return the group of each row; those behind the last group belong to it."""
    if counts is None:
        return None
    sizes = integers(counts, even_shares(rows, counts.numel()))
    groups = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    return torch.cat((groups, groups.new_full((rows - len(groups),), len(sizes) - 1)))


def _of_groups(numbers: Tensor, group: Tensor | None) -> Tensor:
    """Return numbers [columns] or [groups, columns] as rows, one for each row of the input."""
    values = wide(numbers)
    if values.dim() < 2:
        return (
            values.reshape(1, -1)
            if group is None or values.numel() != int(group.max()) + 1
            else values[group].unsqueeze(1)
        )
    return values[0].unsqueeze(0) if group is None else values[group.to(values.device)]


def _dequant_shapes(x: Tensor) -> tuple[Tensor, Tensor]:
    values = x.new_empty(*x.shape[:-1], x.shape[-1] // 2, dtype=torch.int8)
    return values, x.new_empty(x.shape[:-1], dtype=torch.float32)


def _dequant_bias(
    x: Tensor,
    weight_scale: Tensor,
    activation_scale: Tensor | None,
    bias: Tensor | None,
    output_dtype: torch.dtype | None,
) -> Tensor:
    dtype = output_dtype or torch.float16
    text = "Only supported output_dtype is float16 and bfloat16"
    errors.require(dtype in (torch.float16, torch.bfloat16), text, errors.NOT_SUPPORTED)
    rows, late = wide(x), bias
    if bias is not None and bias.dtype is torch.int32:
        rows, late = rows + bias, None
    rows = rows * wide(weight_scale)
    rows = rows if activation_scale is None else rows * wide(activation_scale).reshape(-1, 1)
    return (rows if late is None else rows + wide(late)).to(dtype)


def _quant_conv2d(call: Call) -> Tensor:
    """Return a convolution of INT8 numbers, with the bias added to the exact sums; *offset_x* fills the margin."""
    errors.require(call["round_mode"] == "rint", f"round_mode should be rint, but got {call['round_mode']}")
    x, weight, (down, right) = call["input"].double(), call["weight"].double(), call["pads"]
    padded = torch.nn.functional.pad(x, (right, right, down, down), value=call["offset_x"])
    places = (list(call["strides"]), 0, list(call["dilations"]), call["groups"])
    sums = torch.nn.functional.conv2d(padded, weight, None, *places)
    bias = call["bias"]
    exact = sums if bias is None else sums + bias.double().reshape(-1, 1, 1)
    scaled = exact.float() * scale_numbers(call["scale"]).reshape(-1, 1, 1)
    return scaled.to(torch_dtype(call["output_dtype"], torch.float16))


def _quant_conv2d_kernels(call: Call) -> Iterable[Launch]:
    (out,) = call.outputs
    sides = [(out[:, 0].numel(), call["weight"][0].numel(), out.shape[1])]
    yield product("QuantConv2D", call.inputs, [out], sides, api="aclnnQuantConvolution", task=TaskType.AI_CORE)


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_dequant_swiglu_quant": NpuOperator(
        compute=_dequant_swiglu_quant,
        shapes=_dequant_shapes,
        kernels=vector("DequantSwigluQuant", "aclnnDequantSwigluQuantV2", cost=18),
        left_out=("dst_type", "round_mode"),
        dtypes="int32, float16, bfloat16",
    ),
    "npu_dequant_bias": NpuOperator(
        compute=_dequant_bias, kernels=vector("DequantBias", cost=4), dtypes="int32 into float16, bfloat16"
    ),
    "npu_quant_conv2d": NpuOperator(
        compute=_quant_conv2d,
        kernels=_quant_conv2d_kernels,
        left_out=("offset", "input_dtype", "weight_dtype"),
        dtypes="int8",
    ),
}
