"""Grouped matrix products: one product for each expert."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, product
from drynpu_torch_operators.operators._lowbits import mx_factors, mx_row_factors
from drynpu_torch_operators.operators._numbers import saturated, torch_dtype, wide
from drynpu_torch_operators.operators._operator import NpuOperator
from drynpu_torch_operators.operators._values import even_shares
from drynpu_torch_operators.operators.matmul import exact_product, scale_numbers, weights

SCHEMAS = """
npu_grouped_matmul(Tensor[] x, Tensor[] weight, *, Tensor[]? bias=None, Tensor[]? scale=None, Tensor[]? offset=None,
    Tensor[]? antiquant_scale=None, Tensor[]? antiquant_offset=None, Tensor[]? per_token_scale=None,
    Tensor? group_list=None, Tensor[]? activation_input=None, Tensor[]? activation_quant_scale=None,
    Tensor[]? activation_quant_offset=None, int? split_item=0, int? group_type=None, int? group_list_type=0,
    int? act_type=0, int[]? tuning_config=None, int? output_dtype=None, int? x_dtype=None, int? weight_dtype=None,
    int? scale_dtype=None, int? per_token_scale_dtype=None) -> Tensor[]
npu_grouped_matmul.List(Tensor[] x, Tensor[] weight, *, Tensor[]? bias=None, Tensor[]? scale=None,
    Tensor[]? offset=None, Tensor[]? antiquant_scale=None, Tensor[]? antiquant_offset=None,
    Tensor[]? per_token_scale=None, int[]? group_list=None, Tensor[]? activation_input=None,
    Tensor[]? activation_quant_scale=None, Tensor[]? activation_quant_offset=None, int? split_item=0,
    int? group_type=None, int? group_list_type=0, int? act_type=0, ScalarType? output_dtype=None) -> Tensor[]
npu_grouped_matmul_add_(Tensor(a!) self, Tensor x, Tensor weight, Tensor group_list, *, bool transpose_x=True,
    bool transpose_weight=False, int group_type=2, int? group_list_type=0) -> Tensor(a!)
npu_groupmatmul_add_fp32(Tensor x, Tensor weight, Tensor group_list, Tensor(a!) C) -> ()
"""

_PAIRS, _ROWS, _INNER = -1, 0, 2
_CUMULATIVE, _COUNTS, _INDEXED = 0, 1, 2
_ACTIVATIONS: Mapping[int, Callable[[Tensor], Tensor]] = {
    0: lambda y: y,
    1: torch.relu,
    2: lambda y: torch.nn.functional.gelu(y, approximate="tanh"),
    4: lambda y: y * (1.702 * y).sigmoid(),
    5: torch.nn.functional.silu,
}


def group_sizes(group_list: Any, kind: int, groups: int, rows: int) -> list[int]:
    """
    Return how many rows each group has, of cumulative ends, counts, or pairs of a group's number and its count.

    Without values, in a run that computes nothing, the *rows* are spread evenly.
    """
    if isinstance(group_list, Tensor) and group_list.device.type == "meta":
        return even_shares(rows, group_list.shape[0])
    values = group_list.tolist() if isinstance(group_list, Tensor) else list(group_list)
    if kind == _INDEXED:
        counts = [0] * groups
        for number, count in values:
            counts[number] += count
        return counts
    if kind == _COUNTS:
        return [int(value) for value in values]
    sizes = []
    for place, (before, end) in enumerate(zip([0, *values], values, strict=False)):
        text = f"group_list[{place}] - group_list[{place - 1}] should be larger than or equal to 0, but now is "
        errors.require(end >= before, f"{text}{end - before}.")
        sizes.append(int(end - before))
    return sizes


def _check(call: Call) -> None:
    kind, split = call["group_type"], call["split_item"]
    errors.require(kind is not None, "Requires manual passing group_type, current is None.")
    errors.require(kind in (_PAIRS, _ROWS, _INNER), f"The group type must be -1, 0 or 2, but now is [{kind}]")
    errors.require(bool(call["x"]) and bool(call["weight"]), "Invalid inputs: neither x nor weight could be empty.")
    text = f"Invalid value of split_item [{split}], which should only be one of 0/1/2/3."
    errors.require(split in (0, 1, 2, 3), text)
    errors.require(call["act_type"] in _ACTIVATIONS, f"act_type {call['act_type']} is not supported by drynpu")
    if kind == _INNER and split in (2, 3):
        text = "When group_list is 2(K_SPLIT) and split_item is 2/3, the length of weight must equal x."
        errors.require(len(call["weight"]) == len(call["x"]), text)


def _expert(call: Call, name: str, number: int) -> Tensor | None:
    """Return the part of an optional list for one group: a tensor of its own, or a row where weights are stacked."""
    tensors = call[name]
    if not tensors:
        return None
    stacked = call["weight"][0].dim() > 2
    tensor: Tensor = tensors[0][number] if stacked else tensors[number]
    return tensor


def _experts(call: Call) -> int:
    weight = call["weight"]
    return len(weight) if len(weight) > 1 or weight[0].dim() == 2 else int(weight[0].shape[0])


def _weight(call: Call, number: int) -> Tensor:
    weight = call["weight"]
    matrix: Tensor = weight[number] if len(weight) > 1 or weight[0].dim() == 2 else weight[0][number]
    return matrix


def _pieces(call: Call) -> Sequence[tuple[int, Tensor, Tensor, Tensor | None]]:
    """Return number, rows, weight and scales of rows for each group."""
    x, kind, rows = call["x"], call["group_type"], call["per_token_scale"]
    if kind == _PAIRS:
        return [(i, a, b, rows[i] if rows else None) for i, (a, b) in enumerate(zip(x, call["weight"], strict=True))]
    if kind == _INNER:
        pieces, begin = [], 0
        for number, size in enumerate(group_sizes(call["group_list"], call["group_list_type"] or 0, 0, x[0].shape[1])):
            pieces.append((number, x[0][:, begin : begin + size], call["weight"][0][begin : begin + size], None))
            begin += size
        return pieces
    experts = _experts(call)
    if len(x) > 1:
        return [(i, part, _weight(call, i), rows[i] if rows else None) for i, part in enumerate(x)]
    sizes = group_sizes(call["group_list"], call["group_list_type"] or 0, experts, x[0].shape[0])
    pieces, begin = [], 0
    for number, size in enumerate(sizes):
        part = slice(begin, begin + size)
        pieces.append((number, x[0][part], _weight(call, number), rows[0][part] if rows else None))
        begin += size
    return pieces


_OPTIONS = ("scale", "bias", "antiquant_scale", "antiquant_offset")


def _multiplied(call: Call, number: int, x: Tensor, weight: Tensor, rows: Tensor | None) -> Tensor:
    """Return one product with its scales and bias, before it is rounded to its type."""
    scale, bias, small, offset = (_expert(call, n, number) for n in _OPTIONS)
    if small is not None:
        output = wide(x) @ wide(weights(weight, small, offset, x.dtype, x.shape[-1]))
    elif scale is not None and scale.dtype is torch.uint8:
        assert rows is not None
        output = (wide(x) * mx_row_factors(rows, x.shape[-1])) @ (wide(weight) * mx_factors(scale, x.shape[-1]))
        scale = rows = None
    else:
        output = exact_product(x, weight)
    if bias is not None and bias.dtype is torch.int32:
        output, bias = output + bias, None
    output = output if scale is None else output * scale_numbers(scale)
    output = output if rows is None else output * rows.float().reshape(-1, 1)
    return _ACTIVATIONS[call["act_type"]](output if bias is None else output + wide(bias))


def _result_dtype(call: Call) -> torch.dtype:
    return torch_dtype(call["output_dtype"], call["x"][0].dtype)


def _grouped_matmul(call: Call) -> list[Tensor]:
    _check(call)
    dtype, single = _result_dtype(call), call["split_item"] in (2, 3)
    parts = [_multiplied(call, *piece) for piece in _pieces(call)]
    parts = [part.to(dtype) if dtype.is_floating_point else saturated(part, dtype) for part in parts]
    if not single:
        return parts
    if call["group_type"] == _INNER:
        return [torch.stack(parts)]
    rows = torch.cat(parts)
    missing = sum(t.shape[0] for t in call["x"]) - rows.shape[0]
    # The vendor leaves rows behind the last group as they are; here they are 0.
    return [torch.cat((rows, rows.new_zeros(missing, rows.shape[1])))]


def _grouped_shapes(call: Call) -> list[Tensor]:
    _check(call)
    x, weight, kind, dtype = call["x"], call["weight"], call["group_type"], _result_dtype(call)
    columns = [w.shape[-1] * (8 if w.dtype is torch.int32 else 1) for w in weight]
    make = x[0].new_empty
    if kind == _PAIRS:
        shapes = [(*a.shape[:-1], n) for a, n in zip(x, columns, strict=True)]
        return [make(shape, dtype=dtype) for shape in shapes]
    if kind == _INNER:
        groups = len(call["group_list"])
        if call["split_item"] in (2, 3):
            return [make((groups, x[0].shape[0], columns[0]), dtype=dtype)]
        return [make((x[0].shape[0], columns[0]), dtype=dtype) for _ in range(groups)]
    if call["split_item"] in (2, 3):
        return [make((sum(t.shape[0] for t in x), columns[0]), dtype=dtype)]
    return [make((t.shape[0], columns[0]), dtype=dtype) for t in x]


def _grouped_kernels(call: Call) -> Iterable[Launch]:
    sides, read = [], 0
    for _, x, weight, _ in _pieces(call):
        columns = weight.shape[-1] * (8 if weight.dtype is torch.int32 else 1)
        sides.append((x.shape[0], x.shape[1], columns))
        read += weight.numel() * weight.element_size() if x.numel() else 0  # experts without rows are not read
    stored = {id(t) for t in call["weight"]}
    others = sum(t.numel() * t.element_size() for t in call.inputs if id(t) not in stored)
    inner = "aclnnGroupedMatmulV5"
    yield product("GroupedMatmul", call.inputs, call.outputs, sides, api=inner, read=read + others)


def _grouped_matmul_add(
    self: Tensor, x: Tensor, weight: Tensor, group_list: Tensor, transpose_x: bool, group_list_type: int | None
) -> Tensor:
    left = x.t() if transpose_x else x
    begin, total = 0, self.view(-1, left.shape[0], weight.shape[-1])
    for number, size in enumerate(group_sizes(group_list, group_list_type or 0, total.shape[0], weight.shape[0])):
        part = slice(begin, begin + size)
        total[number].add_(wide(left[:, part]) @ wide(weight[part]))
        begin += size
    return self


def _grouped_add_fp32(x: Tensor, weight: Tensor, group_list: Tensor, C: Tensor) -> None:  # noqa: N803 - vendor's name
    _grouped_matmul_add(C, x, weight, group_list, transpose_x=True, group_list_type=0)


def _grouped_add_kernels(call: Call) -> Iterable[Launch]:
    x, weight = call.tensors("x", "weight")
    total = call["self"] if "self" in call.arguments else call["C"]
    kind = call.arguments.get("group_list_type") or 0
    edge = x.shape[1] if call.arguments.get("transpose_x", True) else x.shape[0]
    sizes = group_sizes(call["group_list"], kind, total.shape[0], weight.shape[0])
    sides = [(edge, size, weight.shape[-1]) for size in sizes]
    yield product("GroupedMatmulAdd", call.inputs, [total], sides)


_TYPES = "float32, float16, bfloat16, int8, float8 and mx scales; weights int8, int4 in int32"
# tuning_config changes how fast the device is, no value.
_GROUPED = NpuOperator(
    compute=_grouped_matmul,
    shapes=_grouped_shapes,
    kernels=_grouped_kernels,
    dtypes=_TYPES,
    left_out=("offset", "activation_input", "activation_quant_scale", "activation_quant_offset"),
)
_ADD = "float16, bfloat16 into float32"

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_grouped_matmul": _GROUPED,
    "npu_grouped_matmul.List": _GROUPED,
    "npu_grouped_matmul_add_": NpuOperator(
        compute=_grouped_matmul_add,
        shapes=lambda self: self,
        kernels=_grouped_add_kernels,
        dtypes=_ADD,
        left_out=("transpose_weight", "group_type"),
    ),
    "npu_groupmatmul_add_fp32": NpuOperator(
        compute=_grouped_add_fp32, shapes=lambda: None, kernels=_grouped_add_kernels, dtypes=_ADD
    ),
}
