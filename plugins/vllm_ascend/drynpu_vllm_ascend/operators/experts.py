"""Experts in one kernel: grouped products with their gates and quantisation, and the whole of it over all ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import torch
import torch.distributed as dist
from torch import Tensor

from drynpu import CaptureError
from drynpu_vllm_ascend.operators._int8 import exact_product, numbers, quantised_by_row, size_bytes
from drynpu_vllm_ascend.served import Arguments, ServedOperator, Work

_COUNTS: Final = 1
"""Type of a list of groups that has the number of rows of each, instead of where each ends."""
_GATE_OPS: Final = 12
"""Element operations for each number that is gated and quantised; assumed."""
_NO_LIMIT: Final = 1e-8


def _each(weights: Tensor | Sequence[Tensor]) -> list[Tensor]:
    """Return the tensor of each expert: of a list of them, or of a list of one with all of them."""
    if isinstance(weights, Tensor):
        return list(weights)
    return list(weights[0]) if len(weights) == 1 and weights[0].dim() > 2 else list(weights)


def _scales(scales: Tensor | Sequence[Tensor], experts: int) -> list[Tensor]:
    each = list(scales) if isinstance(scales, Tensor) or len(scales) == experts else list(scales[0])
    return [numbers(scale).reshape(-1) for scale in each]


def _sizes(group_list: Tensor, kind: int, experts: int, rows: int) -> list[int]:
    """Return the rows of each group; equal shares where there are no values."""
    if group_list.is_meta:
        return [rows // experts + (number < rows % experts) for number in range(experts)]
    counts = group_list if kind == _COUNTS else group_list.diff(prepend=group_list.new_zeros(1))
    return [int(count) for count in counts.tolist()]


def _gated(x: Tensor, limit: float) -> Tensor:
    first, second = x.chunk(2, -1)
    if limit > _NO_LIMIT:
        first, second = first.clamp(max=limit), second.clamp(-limit, limit)
    return first * first.sigmoid() * second


def _only_int8(name: str, weights: Sequence[Tensor], *refused: object) -> None:
    if any(weight.dtype is not torch.int8 for weight in weights) or any(each is not None for each in refused):
        raise CaptureError(f"torch.ops._C_ascend.{name}: drynpu computes weights in INT8 without bias and offset")


def _gate_and_quantise(
    x: Tensor, weights: list[Tensor], scales: list[Tensor], rows: Tensor, sizes: list[int], limit: float
) -> tuple[Tensor, Tensor]:
    """Return the gated products of each group's rows in INT8, and their scales; rows behind the groups are zero."""
    values = x.new_zeros(len(x), weights[0].shape[-1] // 2, dtype=torch.int8)
    steps, begin = x.new_zeros(len(x), dtype=torch.float32), 0
    for weight, scale, size in zip(weights, scales, sizes, strict=True):
        part = slice(begin, begin + size)
        product = exact_product(x[part], weight).float() * scale * rows[part].float().reshape(-1, 1)
        if size:
            values[part], steps[part] = quantised_by_row(_gated(product, limit))
        begin += size
    return values, steps


def _grouped(name: str, *, offsets: bool) -> tuple[Callable[..., object], Callable[..., object]]:
    """Return what computes an operator whose groups say where they end, and what makes its shapes."""

    def compute(arguments: Arguments) -> tuple[Tensor, Tensor, Tensor]:
        weights = _each(arguments["weight"])
        _only_int8(name, weights, arguments["bias"], arguments["offset"])
        sizes = _sizes(arguments["group_list"], 0, len(weights), len(arguments["x"]))
        scales = _scales(arguments["weight_scale"], len(weights))
        values, steps = _gate_and_quantise(
            arguments["x"], weights, scales, arguments["x_scale"], sizes, arguments["swiglu_limit"]
        )
        return values, steps, steps.new_zeros(len(steps) if offsets else ())

    def shapes(arguments: Arguments) -> tuple[Tensor, Tensor, Tensor]:
        x, weight = arguments["x"], arguments["weight"]
        columns = (weight if isinstance(weight, Tensor) else weight[0]).shape[-1]
        steps = x.new_empty(x.shape[0], dtype=torch.float32)
        values = x.new_empty(x.shape[0], columns // 2, dtype=torch.int8)
        return values, steps, steps.new_empty(steps.shape if offsets else ())

    return compute, shapes


def _second(arguments: Arguments) -> tuple[Tensor, Tensor]:
    weights = _each(arguments["weight"])
    if arguments["transpose_weight"]:
        weights = [weight.t() for weight in weights]
    _only_int8(
        "grouped_matmul_swiglu_quant_v2",
        weights,
        arguments["weight_assist_matrix"],
        arguments["bias"],
        arguments["smooth_scale"],
    )
    sizes = _sizes(arguments["group_list"], arguments["group_list_type"], len(weights), len(arguments["x"]))
    scales = _scales(arguments["weight_scale"], len(weights))
    return _gate_and_quantise(arguments["x"], weights, scales, arguments["x_scale"], sizes, arguments["swiglu_limit"])


def _second_shapes(x: Tensor, weight_scale: list[Tensor]) -> tuple[Tensor, Tensor]:
    values = x.new_empty(x.shape[0], weight_scale[0].shape[-1] // 2, dtype=torch.int8)
    return values, x.new_empty(x.shape[0], dtype=torch.float32)


def _grouped_work(arguments: Arguments) -> Work:
    """Return the work: the products of the groups that have rows, whose weights alone are read."""
    weights = _each(arguments["weight"])
    x = arguments["x"]
    sizes = _sizes(arguments["group_list"], arguments.get("group_list_type", 0), len(weights), len(x))
    turned = arguments.get("transpose_weight", False)
    inner, columns = weights[0].shape[::-1] if turned else weights[0].shape
    used = sum(size_bytes(weight) for weight, size in zip(weights, sizes, strict=True) if size)
    return Work(
        vector_ops=_GATE_OPS * sum(sizes) * columns,
        sides=[(size, inner, columns) for size in sizes if size],
        read=size_bytes(x, arguments["x_scale"]) + used,
    )


def _dispatch_ffn_combine(arguments: Arguments) -> tuple[Tensor, Tensor]:
    """Write the sum over each token's experts, weighted, and how many rows each expert of this rank got."""
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        raise CaptureError(
            "torch.ops._C_ascend.dispatch_ffn_combine: drynpu computes it on one rank; set enable_fused_mc2 to 0"
        )
    x, first, second = arguments["x"], _each(arguments["weight1"]), _each(arguments["weight2"])
    chosen = arguments["expert_idx"].long()
    if arguments["x_active_mask"] is not None:
        chosen = torch.where(arguments["x_active_mask"].bool().unsqueeze(-1), chosen, -1)
    run = _expert_in_int8 if first[0].dtype is torch.int8 else _expert
    if first[0].dtype is torch.int32:
        raise CaptureError("torch.ops._C_ascend.dispatch_ffn_combine: drynpu does not compute weights in INT4")
    total = torch.zeros(x.shape, dtype=torch.float32)
    for number, (up, down) in enumerate(zip(first, second, strict=True)):
        tokens, places = (chosen == number).nonzero(as_tuple=True)
        output = run(x[tokens], up, down, number, arguments)
        total.index_add_(0, tokens, output * arguments["probs"][tokens, places].float().unsqueeze(-1))
        arguments["expert_token_nums"].view(-1)[number] = len(tokens)
    arguments["out"].copy_(total)
    return arguments["out"], arguments["expert_token_nums"]


def _expert(x: Tensor, up: Tensor, down: Tensor, number: int, arguments: Arguments) -> Tensor:
    del number
    hidden = _gated(x.float() @ up.float(), arguments["swiglu_limit"]).to(x.dtype)
    return hidden.float() @ down.float()


def _expert_in_int8(x: Tensor, up: Tensor, down: Tensor, number: int, arguments: Arguments) -> Tensor:
    for weight, scales in ((up, arguments["scale1"]), (down, arguments["scale2"])):
        values, rows = quantised_by_row(x) if len(x) else (x.to(torch.int8), x.new_zeros(0))
        scale = _scales(scales, len(_each(arguments["weight1"])))[number]
        x = exact_product(values, weight).float() * scale * rows.float().unsqueeze(-1)
        x = _gated(x, arguments["swiglu_limit"]) if weight is up else x
    return x


def _combined(out: Tensor, expert_token_nums: Tensor) -> tuple[Tensor, Tensor]:
    return out, expert_token_nums


def _combine_work(x: Tensor, weight1: list[Tensor], weight2: list[Tensor], expert_idx: Tensor) -> Work:
    """Return the work of a rank that gets as many rows as it sends, in equal shares; the links are not in it."""
    first, second = _each(weight1), _each(weight2)
    rows, experts = expert_idx.numel(), len(first)
    shares = [share for share in (rows // experts + (number < rows % experts) for number in range(experts)) if share]
    sides = [(share, *weight[0].shape) for weight in (first, second) for share in shares]
    read = size_bytes(x, *first[: len(shares)], *second[: len(shares)])
    return Work(vector_ops=_GATE_OPS * rows * first[0].shape[-1], sides=sides, read=read)


def _combine_kernel(weight1: list[Tensor]) -> str:
    return "DispatchFFNCombine" if weight1[0].dtype is torch.int8 else "DispatchFFNCombineBF16"


_ROWS: Final = "Tensor x_scale, Tensor group_list, *, Tensor? bias=None, Tensor? offset=None, float swiglu_limit=0.0"
_RESULTS: Final = "(Tensor output, Tensor output_scale, Tensor output_offset)"


def _grouped_operator(name: str, weights: str, kernel: str, *, offsets: bool) -> ServedOperator:
    compute, shapes = _grouped(name, offsets=offsets)
    return ServedOperator(
        schema=f"{name}(Tensor x, {weights} weight, {weights} weight_scale, {_ROWS}) -> {_RESULTS}",
        compute=compute,
        kernel=kernel,
        cost=_grouped_work,
        shapes=shapes,
    )


_NAME: Final = "grouped_matmul_swiglu_quant"

OPERATORS: Final = (
    _grouped_operator(_NAME, "Tensor", "GroupedMatmulSwigluQuant", offsets=False),
    _grouped_operator(f"{_NAME}_weight_nz", "Tensor", "GroupedMatmulSwigluQuant", offsets=False),
    _grouped_operator(
        f"{_NAME}_weight_nz_tensor_list", "Tensor[]", "GroupedMatmulSwigluQuantWeightNzTensorList", offsets=True
    ),
    ServedOperator(
        schema=f"{_NAME}_v2(Tensor x, Tensor[] weight, Tensor[] weight_scale, Tensor x_scale, Tensor group_list,"
        " Tensor? smooth_scale=None, Tensor[]? weight_assist_matrix=None, Tensor? bias=None, int? dequant_mode=0,"
        " int? dequant_dtype=0, int? quant_mode=0, int? quant_dtype=0, bool transpose_weight=False,"
        " int group_list_type=0, int[2] tuning_config=[], float swiglu_limit=0.0)"
        " -> (Tensor output, Tensor output_scale)",
        compute=_second,
        kernel="GroupedMatmulSwigluQuantV2",
        cost=_grouped_work,
        shapes=_second_shapes,
    ),
    ServedOperator(
        schema="dispatch_ffn_combine(Tensor x, Tensor[] weight1, Tensor[] weight2, Tensor expert_idx, Tensor[] scale1,"
        " Tensor[] scale2, Tensor[] bias1, Tensor[] bias2, Tensor probs, str group, int max_output_size,"
        " Tensor(a!) out, Tensor(b!) expert_token_nums, Tensor? x_active_mask=None, float swiglu_limit=1000000.0)"
        " -> (Tensor(a!), Tensor(b!))",
        compute=_dispatch_ffn_combine,
        kernel=_combine_kernel,
        cost=_combine_work,
        shapes=_combined,
    ),
)
