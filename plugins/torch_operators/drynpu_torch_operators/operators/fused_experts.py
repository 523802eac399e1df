"""Grouped products with what stands around them: quantisation of rows, gates, the sum over experts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, product
from drynpu_torch_operators.operators._numbers import quantised_by_row, saturated, wide
from drynpu_torch_operators.operators._operator import Launches, NpuOperator
from drynpu_torch_operators.operators.grouped import group_sizes
from drynpu_torch_operators.operators.matmul import exact_product, scale_numbers

SCHEMAS = """
npu_grouped_matmul_swiglu_quant(Tensor x, Tensor weight, Tensor group_list, Tensor weight_scale, Tensor x_scale, *,
    Tensor? bias=None, Tensor? offset=None) -> (Tensor, Tensor, Tensor)
npu_grouped_matmul_swiglu_quant_v2(Tensor x, Tensor[] weight, Tensor[] weight_scale, Tensor x_scale,
    Tensor group_list, *, Tensor? smooth_scale=None, Tensor[]? weight_assist_matrix=None, Tensor? bias=None,
    int? dequant_mode=0, int? dequant_dtype=0, int? quant_mode=0, int? quant_dtype=1, int? group_list_type=0,
    int[]? tuning_config=None, int? x_dtype=None, int? weight_dtype=None, int? weight_scale_dtype=None,
    int? x_scale_dtype=None) -> (Tensor, Tensor)
npu_grouped_matmul_finalize_routing(Tensor x, Tensor w, Tensor group_list, *, Tensor? scale=None,
    Tensor? bias=None, Tensor? offset=None, Tensor? pertoken_scale=None, Tensor? shared_input=None,
    Tensor? logit=None, Tensor? row_index=None, ScalarType? dtype=None, float? shared_input_weight=1.0,
    int? shared_input_offset=0, int? output_bs=0, int? group_list_type=1, int[]? tuning_config=None,
    int? x_dtype=None, int? w_dtype=None, int? scale_dtype=None, int? pertoken_scale_dtype=None) -> Tensor
npu_quant_grouped_matmul_dequant(Tensor x, Tensor quantized_weight, Tensor weight_scale, Tensor group_list, *,
    Tensor? bias=None, Tensor? x_scale=None, Tensor? x_offset=None, Tensor? smooth_scale=None,
    str? quant_mode='pertoken') -> Tensor
npu_quant_matmul_dequant(Tensor x, Tensor quantized_weight, Tensor weight_scale, *, Tensor? bias=None,
    Tensor? x_scale=None, Tensor? x_offset=None, Tensor? smooth_scale=None, str? quant_mode='pertoken') -> Tensor
"""

_INT8 = 127.0
_FLOAT32 = 6
"""PyTorch's number of FP32; 0, which is UINT8's, is the default and means it, too."""
_PER_TOKEN = "pertoken"


def _gated(x: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return first * first.sigmoid() * second


def _gated_products(x: Tensor, sizes: Sequence[int], weight: Tensor, scale: Tensor, rows: Tensor) -> Tensor:
    """Return swiglu of the scaled products of each group's rows; rows behind the last group are left out."""
    parts, begin = [], 0
    for number, size in enumerate(sizes):
        part = slice(begin, begin + size)
        output = exact_product(x[part], weight[number]).float() * scale_numbers(scale[number])
        parts.append(_gated(output * rows.float()[part].reshape(-1, 1)))
        begin += size
    return torch.cat(parts)


def _padded(rows: Tensor, length: int) -> Tensor:
    return torch.cat((rows, rows.new_zeros(length - rows.shape[0], *rows.shape[1:])))


def _swiglu_quant(
    x: Tensor, weight: Tensor, group_list: Tensor, weight_scale: Tensor, x_scale: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    sizes = group_sizes(group_list, 0, weight.shape[0], x.shape[0])
    values, scales = quantised_by_row(_gated_products(x, sizes, weight, weight_scale, x_scale), torch.int8)
    return _padded(values, x.shape[0]), _padded(scales, x.shape[0]), x.new_zeros((), dtype=torch.float32)


def _swiglu_quant_shapes(x: Tensor, weight_scale: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    rows, make = x.shape[0], x.new_empty
    values = make(rows, weight_scale.shape[-1] // 2, dtype=torch.int8)
    return values, make(rows, dtype=torch.float32), make((), dtype=torch.float32)


def _second_inputs(call: Call) -> tuple[Tensor, Tensor, list[int]]:
    """Return weights, their scales and the sizes of the groups."""
    weight, scale = call["weight"], call["weight_scale"]
    errors.require(len(weight) == len(scale) == 1, "weight and weight_scale should each be a list of one tensor")
    plain = weight[0].dtype is torch.int8 and scale[0].dtype is not torch.uint8
    text = "drynpu computes npu_grouped_matmul_swiglu_quant_v2 with weights in INT8 and a scale for each channel"
    errors.require(plain and weight[0].dim() == 3, text, errors.NOT_SUPPORTED)
    wanted = call["dequant_dtype"]
    text = f"drynpu computes npu_grouped_matmul_swiglu_quant_v2 in FP32 behind the product, not in type number {wanted}"
    errors.require(wanted in (None, 0, _FLOAT32), text, errors.NOT_SUPPORTED)
    sizes = group_sizes(call["group_list"], call["group_list_type"] or 0, weight[0].shape[0], call["x"].shape[0])
    return weight[0], scale[0], sizes


def _swiglu_quant_second(call: Call) -> tuple[Tensor, Tensor]:
    x, (weight, scale, sizes) = call["x"], _second_inputs(call)
    activated = _gated_products(x, sizes, weight, scale, call["x_scale"])
    smooth = call["smooth_scale"]
    if smooth is not None:
        groups = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
        activated = activated * wide(smooth)[groups].reshape(activated.shape[0], -1)
    values, scales = quantised_by_row(activated, torch.int8)
    return _padded(values, x.shape[0]), _padded(scales, x.shape[0])


def _swiglu_quant_second_shapes(call: Call) -> tuple[Tensor, Tensor]:
    x = call["x"]
    values = x.new_empty(x.shape[0], call["weight_scale"][0].shape[-1] // 2, dtype=torch.int8)
    return values, x.new_empty(x.shape[0], dtype=torch.float32)


def _finalize(call: Call) -> Tensor:
    x, weight, out = call["x"], call["w"], _finalize_shapes(call)
    text = "drynpu computes npu_grouped_matmul_finalize_routing of INT8 and of 16-bit floats"
    errors.require(weight.dtype in (torch.int8, torch.float16, torch.bfloat16), text, errors.NOT_SUPPORTED)
    parts, begin = [], 0
    for number, size in enumerate(
        group_sizes(call["group_list"], call["group_list_type"], weight.shape[0], x.shape[0])
    ):
        part = slice(begin, begin + size)
        output = exact_product(x[part], weight[number]).float()
        output = output if call["scale"] is None else output * scale_numbers(call["scale"][number])
        rows = call["pertoken_scale"]
        output = output if rows is None else output * rows.float()[part].reshape(-1, 1)
        parts.append(output if call["bias"] is None else output + wide(call["bias"])[number])
        begin += size
    total = torch.cat(parts)
    total = total if call["logit"] is None else total * wide(call["logit"])[:begin].reshape(-1, 1)
    rows = torch.arange(begin, device=x.device) if call["row_index"] is None else call["row_index"].long()[:begin]
    summed = total.new_zeros(out.shape).index_add_(0, rows, total)
    shared = call["shared_input"]
    if shared is not None:
        first = call["shared_input_offset"]
        summed[first : first + shared.shape[0]] += call["shared_input_weight"] * wide(shared)
    return summed.to(out.dtype)


def _finalize_shapes(call: Call) -> Tensor:
    x: Tensor = call["x"]
    return x.new_empty(call["output_bs"] or x.shape[0], call["w"].shape[-1], dtype=call["dtype"] or torch.float32)


def _quantised_rows(x: Tensor, smooth: Tensor | None, scale: Tensor | None, mode: str | None) -> tuple[Tensor, Tensor]:
    """Return rows in INT8 with their scales, given ones or scales of the largest numbers."""
    text = f"quant_mode should be pertoken or pertensor, but got {mode}"
    errors.require(mode in (_PER_TOKEN, "pertensor"), text)
    values = wide(x) if smooth is None else wide(x) * wide(smooth)
    if scale is None:
        scale = (values.abs().amax(-1) if mode == _PER_TOKEN else values.abs().amax()) / _INT8
    rows = wide(scale).reshape(-1, 1)
    return saturated(values / torch.where(rows == 0, 1.0, rows), torch.int8), rows


def _quant_matmul_dequant(
    x: Tensor,
    quantized_weight: Tensor,
    weight_scale: Tensor,
    bias: Tensor | None,
    x_scale: Tensor | None,
    smooth_scale: Tensor | None,
    quant_mode: str | None,
) -> Tensor:
    """Quantise rows, multiply with weights [columns, inner], and scale back."""
    values, rows = _quantised_rows(x, smooth_scale, x_scale, quant_mode)
    output = exact_product(values, quantized_weight.t())
    output = output if bias is None else output + bias
    return (output.float() * rows * scale_numbers(weight_scale)).to(x.dtype)


def _quant_matmul_dequant_shapes(x: Tensor, weight_scale: Tensor) -> Tensor:
    return x.new_empty(x.shape[0], weight_scale.shape[-1])


def _quant_grouped_dequant(call: Call) -> Tensor:
    x, weight, scale = call["x"], call["quantized_weight"], call["weight_scale"]
    parts, begin = [], 0
    for number, size in enumerate(group_sizes(call["group_list"], 0, weight.shape[0], x.shape[0])):
        part = slice(begin, begin + size)
        scales = call["x_scale"]
        one = scales if scales is None or scales.numel() == 1 else scales[part]
        options = (
            None if call["bias"] is None else call["bias"][number],
            one,
            call["smooth_scale"],
            call["quant_mode"],
        )
        parts.append(_quant_matmul_dequant(x[part], weight[number], scale[number], *options))
        begin += size
    return _padded(torch.cat(parts), x.shape[0])


def _grouped_kernel(kernel: str, api: str, weight: str, *, turned: bool = False) -> Launches:
    """State a kernel of grouped products; weights are [groups, inner, columns], *turned* [groups, columns, inner]."""

    def kernels(call: Call) -> Iterable[Launch]:
        weights = call[weight][0] if isinstance(call[weight], list) else call[weight]
        kind = call.arguments.get("group_list_type") or 0
        sizes = group_sizes(call["group_list"], kind, weights.shape[0], call["x"].shape[0])
        inner, columns = weights.shape[:0:-1] if turned else weights.shape[1:]
        used = sum(weights[0].numel() * weights.element_size() for size in sizes if size)
        others = sum(t.numel() * t.element_size() for t in call.inputs if t is not weights)
        sides = [(size, inner, columns) for size in sizes]
        outputs = [t for t in call.outputs if t.dim()]
        yield product(kernel, call.inputs, outputs, sides, api=api, read=used + others)

    return kernels


def _dequant_kernel(call: Call) -> Iterable[Launch]:
    columns, inner = call["quantized_weight"].shape
    yield product("QuantMatmulDequant", call.inputs, call.outputs, [(call["x"].shape[0], inner, columns)])


_INT8_TYPES = "int8 with scales"
_WIDE_TYPES = (
    *("smooth_scale", "weight_assist_matrix", "bias", "dequant_mode", "quant_mode", "x_dtype"),
    *("weight_dtype", "weight_scale_dtype", "x_scale_dtype"),
)

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_grouped_matmul_swiglu_quant": NpuOperator(
        compute=_swiglu_quant,
        shapes=_swiglu_quant_shapes,
        kernels=_grouped_kernel("GroupedMatmulSwigluQuant", "aclnnGroupedMatmulSwigluQuant", "weight"),
        left_out=("bias", "offset"),
        dtypes=_INT8_TYPES,
    ),
    "npu_grouped_matmul_swiglu_quant_v2": NpuOperator(
        compute=_swiglu_quant_second,
        shapes=_swiglu_quant_second_shapes,
        kernels=_grouped_kernel("GroupedMatmulSwigluQuantV2", "aclnnGroupedMatmulSwigluQuantV2", "weight"),
        left_out=_WIDE_TYPES[1:],
        dtypes=_INT8_TYPES,
    ),
    "npu_grouped_matmul_finalize_routing": NpuOperator(
        compute=_finalize,
        shapes=_finalize_shapes,
        kernels=_grouped_kernel("GroupedMatmulFinalizeRouting", "aclnnGroupedMatmulFinalizeRoutingV3", "w"),
        left_out=("offset", "x_dtype", "w_dtype", "scale_dtype", "pertoken_scale_dtype"),
        dtypes="int8 with scales, float16, bfloat16",
    ),
    "npu_quant_grouped_matmul_dequant": NpuOperator(
        compute=_quant_grouped_dequant,
        shapes=_quant_matmul_dequant_shapes,
        kernels=_grouped_kernel(
            "QuantGroupedMatmulDequant", "aclnnQuantGroupedMatmulDequant", "quantized_weight", turned=True
        ),
        left_out=("x_offset",),
        dtypes="float16; weights int8",
    ),
    "npu_quant_matmul_dequant": NpuOperator(
        compute=_quant_matmul_dequant,
        shapes=_quant_matmul_dequant_shapes,
        kernels=_dequant_kernel,
        left_out=("x_offset",),
        dtypes="float16; weights int8",
    ),
}
