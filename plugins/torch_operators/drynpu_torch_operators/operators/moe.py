"""Mixture of experts: gating, permuting tokens by expert, and putting them back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from drynpu.kernels import TaskType
from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, vector
from drynpu_torch_operators.operators._numbers import quantised_by_row, wide
from drynpu_torch_operators.operators._operator import Gradient, Launches, NpuOperator

SCHEMAS = """
npu_moe_token_permute(Tensor tokens, Tensor indices, int? num_out_tokens=None, bool padded_mode=False) ->
    (Tensor, Tensor)
npu_moe_token_permute_grad_v2(Tensor grad_permuted_tokens, Tensor sorted_indices, int tokens_size_0,
    ScalarType tokens_dtype, int num_topK, bool padded_mode=False) -> Tensor
npu_moe_token_unpermute(Tensor permuted_tokens, Tensor sorted_indices, Tensor? probs=None, bool padded_mode=False,
    int[]? restore_shape=None) -> Tensor
npu_moe_token_unpermute_grad_v2(Tensor grad_unpermuted_tokens, Tensor sorted_indices, int permuted_tokens_size_0,
    ScalarType permuted_tokens_dtype, Tensor? probs=None, bool padded_mode=False, int[]? restore_shape=None,
    Tensor? permuted_tokens=None) -> (Tensor, Tensor)
npu_moe_gating_top_k_softmax(Tensor x, Tensor? finished=None, int k=1) -> (Tensor, Tensor, Tensor)
npu_moe_gating_top_k(Tensor x, int k, *, Tensor? bias=None, Tensor? input_ids=None, Tensor? tid2eid=None,
    int k_group=1, int group_count=1, int group_select_mode=0, int renorm=0, int norm_type=0, bool out_flag=False,
    float routed_scaling_factor=1.0, float eps=1e-20) -> (Tensor, Tensor, Tensor)
npu_moe_init_routing(Tensor x, Tensor row_idx, Tensor expert_idx, int active_num) -> (Tensor, Tensor, Tensor)
npu_moe_init_routing_v2(Tensor x, Tensor expert_idx, *, Tensor? scale=None, Tensor? offset=None, int active_num=-1,
    int expert_capacity=-1, int expert_num=-1, int drop_pad_mode=0, int expert_tokens_num_type=0,
    bool expert_tokens_num_flag=False, int quant_mode=-1, int[2] active_expert_range=[], int row_idx_type=0,
    int? x_dtype=None) -> (Tensor, Tensor, Tensor, Tensor)
npu_moe_finalize_routing(Tensor expanded_permuted_rows, Tensor? skip1, Tensor? skip2, Tensor? bias, Tensor? scales,
    Tensor expanded_src_to_dst_row, Tensor? export_for_source_row, int? drop_pad_mode=0, int? k=1) -> Tensor
npu_moe_compute_expert_tokens(Tensor sorted_expert_for_source_row, int num_expert) -> Tensor
"""

_UNQUANTISED, _DYNAMIC = -1, 1
_SOFTMAX, _SIGMOID = 0, 1
_CUMULATIVE, _COUNTS = 0, 1


def _sorted_places(indices: Tensor) -> tuple[Tensor, Tensor]:
    """Return the order that sorts entries by expert, and the place of each entry in it."""
    order = indices.flatten().argsort(stable=True)
    return order, order.argsort()


def _kept_rows(total: int, wanted: int | None) -> int:
    if not wanted:
        return total
    return total + wanted if wanted < 0 else min(wanted, total)


def _permute(tokens: Tensor, indices: Tensor, num_out_tokens: int | None, padded_mode: bool) -> tuple[Tensor, Tensor]:
    dims = tokens.dim()
    text = f"The dims of input tokens should be 2 dimensional, but got {dims}-dimensional."
    errors.require(dims == 2, text)
    errors.require(not padded_mode, "padded_mode is not supported", errors.NOT_SUPPORTED)
    order, places = _sorted_places(indices)
    width = indices.shape[1] if indices.dim() > 1 else 1
    return tokens[order[: _kept_rows(len(order), num_out_tokens)] // width], places.int()


def _permute_grad(
    grad_permuted_tokens: Tensor,
    sorted_indices: Tensor,
    tokens_size_0: int,
    tokens_dtype: torch.dtype,
    num_topK: int,  # noqa: N803
) -> Tensor:
    rows = _rows_at(wide(grad_permuted_tokens), sorted_indices)
    return rows.reshape(tokens_size_0, num_topK, -1).sum(1).to(tokens_dtype)


def _rows_at(rows: Tensor, places: Tensor) -> Tensor:
    """Return rows at *places*; places behind the last row are dropped entries, which give 0."""
    tokens = rows[places.long().clamp(max=max(rows.shape[0] - 1, 0))]
    return torch.where((places < rows.shape[0]).unsqueeze(-1), tokens, 0)


def _permute_gradient(call: Call, grad: Tensor, *others: Tensor) -> Mapping[str, Tensor | None]:
    del others
    tokens, indices = call["tokens"], call["indices"]
    width = indices.shape[1] if indices.dim() > 1 else 1
    options = (tokens.shape[0], tokens.dtype, width)
    return {"tokens": torch.ops.npu.npu_moe_token_permute_grad_v2(grad, call.results[1], *options)}


def _unpermute(permuted_tokens: Tensor, sorted_indices: Tensor, probs: Tensor | None, padded_mode: bool) -> Tensor:
    errors.require(not padded_mode, "padded_mode is not supported", errors.NOT_SUPPORTED)
    width = 1 if probs is None else probs.shape[1]
    rows = _rows_at(wide(permuted_tokens), sorted_indices).reshape(-1, width, permuted_tokens.shape[-1])
    rows = rows if probs is None else rows * wide(probs).unsqueeze(-1)
    return rows.sum(1).to(permuted_tokens.dtype)


def _unpermute_grad(
    grad_unpermuted_tokens: Tensor,
    sorted_indices: Tensor,
    permuted_tokens_size_0: int,
    permuted_tokens_dtype: torch.dtype,
    probs: Tensor | None,
    permuted_tokens: Tensor | None,
) -> tuple[Tensor, Tensor]:
    grad, width = wide(grad_unpermuted_tokens), 1 if probs is None else probs.shape[1]
    spread = grad.unsqueeze(1).expand(-1, width, -1)
    weighted = (spread if probs is None else spread * wide(probs).unsqueeze(-1)).reshape(-1, grad.shape[-1])
    inside = sorted_indices < permuted_tokens_size_0
    rows = grad.new_zeros(permuted_tokens_size_0, grad.shape[-1])
    places = sorted_indices.long().clamp(max=permuted_tokens_size_0 - 1)
    rows.index_add_(0, places, torch.where(inside.unsqueeze(-1), weighted, 0))
    if probs is None or permuted_tokens is None:
        return rows.to(permuted_tokens_dtype), grad.new_empty(0)
    tokens = _rows_at(wide(permuted_tokens), sorted_indices).reshape(spread.shape)
    return rows.to(permuted_tokens_dtype), (tokens * spread).sum(-1).to(probs.dtype)


def _unpermute_gradient(call: Call, grad: Tensor) -> Mapping[str, Tensor | None]:
    rows, probs = call["permuted_tokens"], call["probs"]
    drows, dprobs = torch.ops.npu.npu_moe_token_unpermute_grad_v2(
        grad, call["sorted_indices"], rows.shape[0], rows.dtype, probs, permuted_tokens=rows
    )
    return {"permuted_tokens": drows, "probs": None if probs is None else dprobs}


def _best(values: Tensor, count: int) -> Tensor:
    """Return the columns of the largest values, equal ones in their order."""
    return torch.sort(values, dim=-1, descending=True, stable=True).indices[..., :count]


def _gating_softmax(x: Tensor, finished: Tensor | None, k: int) -> tuple[Tensor, Tensor, Tensor]:
    shares = wide(x).softmax(-1)
    chosen = _best(shares, k)
    experts = chosen if finished is None else torch.where(finished.unsqueeze(-1), x.shape[-1], chosen)
    count = x[..., 0].numel()
    rows = torch.arange(count, device=x.device).unsqueeze(-1) + torch.arange(k, device=x.device) * count
    return shares.gather(-1, chosen).to(x.dtype), experts.int(), rows.reshape(chosen.shape).int()


def _gating(
    x: Tensor,
    k: int,
    bias: Tensor | None,
    tid2eid: Tensor | None,
    k_group: int,
    group_count: int,
    group_select_mode: int,
    renorm: int,
    norm_type: int,
    out_flag: bool,
    routed_scaling_factor: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    text = "drynpu does not route by token ids (tid2eid); use torch.gather on the table"
    errors.require(tid2eid is None, text, errors.NOT_SUPPORTED)
    errors.require(renorm == 0, f"renorm should be 0, but got {renorm}")
    scores = wide(x).sigmoid() if norm_type == _SIGMOID else wide(x).softmax(-1)
    choosing = scores if bias is None else scores + wide(bias)
    if group_count > 1:
        groups = choosing.reshape(*x.shape[:-1], group_count, -1)
        best = groups.amax(-1) if group_select_mode == 0 else groups.topk(2, -1).values.sum(-1)
        kept = torch.zeros_like(best, dtype=torch.bool).scatter(-1, _best(best, k_group), True)
        choosing = torch.where(kept.unsqueeze(-1), groups, -torch.inf).flatten(-2)
    chosen = _best(choosing, k)
    y = scores.gather(-1, chosen)
    y = y / (y.sum(-1, keepdim=True) + eps) if norm_type == _SIGMOID else y
    shown = scores.float() if out_flag else x.new_empty(x.shape, dtype=torch.float32).fill_(0)
    return (y * routed_scaling_factor).to(x.dtype), chosen.int(), shown


def _init_routing(x: Tensor, row_idx: Tensor, expert_idx: Tensor, active_num: int) -> tuple[Tensor, Tensor, Tensor]:
    experts = expert_idx.flatten()
    order = experts.argsort(stable=True)
    source = row_idx.flatten().long()[order]
    places = torch.empty_like(source).scatter_(0, source, torch.arange(len(source), device=x.device))
    rows = min(x.shape[0], active_num) * expert_idx.shape[1]
    return x[source[:rows] % x.shape[0]], places.int(), experts[order].int()


def _check_routing(call: Call) -> tuple[int, int]:
    """Return the range of experts, after refusing what drynpu does not compute."""
    text = "drynpu routes without capacity (drop_pad_mode 0), unquantised or with quant_mode 1"
    plain = call["drop_pad_mode"] == 0 and call["quant_mode"] in (_UNQUANTISED, _DYNAMIC)
    errors.require(plain, text, errors.NOT_SUPPORTED)
    low, high = call["active_expert_range"] or (0, call["expert_num"])
    return low, high


def _init_routing_v2(call: Call) -> tuple[Tensor, ...]:
    low, high = _check_routing(call)
    x, expert_idx, scale = call["x"], call["expert_idx"], call["scale"]
    experts = expert_idx.flatten().long()
    outside = (experts < low) | (experts >= high)
    # Rows of experts before the range come last, after rows of experts behind it, as upstream's own test has them.
    order = torch.where(experts < low, torch.iinfo(torch.int64).max, experts).argsort(stable=True)
    active = int((~outside).sum())
    rows = len(experts) if call["active_num"] <= 0 else min(call["active_num"], len(experts))
    token = order // expert_idx.shape[1]
    valid = torch.arange(rows, device=x.device) < active
    expanded = torch.where(valid.unsqueeze(-1), x[token[:rows]], 0)
    places = torch.where(order.argsort() < min(active, rows), order.argsort(), -1)
    index = places if call["row_idx_type"] == 0 else order
    counts = torch.bincount(experts[~outside] - low, minlength=high - low)
    kind = call["expert_tokens_num_type"]
    pairs = torch.stack((torch.arange(low, high, device=x.device), counts), -1)
    tokens = counts.cumsum(0) if kind == _CUMULATIVE else counts if kind == _COUNTS else pairs
    if call["quant_mode"] == _DYNAMIC:
        smoothed = wide(expanded) * _smoothing(scale, experts[order[:rows]] - low)
        quantised, scales = quantised_by_row(smoothed, torch.int8)
        return quantised, index.int(), tokens, scales
    gathered = x.new_zeros(rows, dtype=torch.float32) if scale is None else torch.where(valid, scale[token[:rows]], 0)
    return expanded, index.int(), tokens, gathered.float()


def _smoothing(scale: Tensor | None, experts: Tensor) -> Tensor | float:
    """Return what rows are multiplied by before they are quantised: ``[experts, h]`` has the factors of each."""
    if scale is None or not len(experts):
        return 1.0
    return wide(scale) if scale.shape[0] == 1 else wide(scale)[experts.clamp(0, scale.shape[0] - 1)]


def _init_routing_v2_shapes(call: Call) -> tuple[Tensor, ...]:
    low, high = _check_routing(call)
    x, total = call["x"], call["expert_idx"].numel()
    rows = total if call["active_num"] <= 0 else min(call["active_num"], total)
    dtype = torch.int8 if call["quant_mode"] == _DYNAMIC else x.dtype
    shape = (high - low, 2) if call["expert_tokens_num_type"] == 2 else (high - low,)
    return (
        x.new_empty(rows, x.shape[1], dtype=dtype),
        x.new_empty(total, dtype=torch.int32),
        x.new_empty(shape, dtype=torch.int64),
        x.new_empty(rows, dtype=torch.float32),
    )


def _finalize(
    expanded_permuted_rows: Tensor,
    skip1: Tensor | None,
    skip2: Tensor | None,
    bias: Tensor | None,
    scales: Tensor | None,
    expanded_src_to_dst_row: Tensor,
    export_for_source_row: Tensor | None,
    drop_pad_mode: int | None,
) -> Tensor:
    rows, mode = expanded_permuted_rows.flatten(0, -2), drop_pad_mode or 0
    width = 1 if scales is None else scales.shape[1]
    places = expanded_src_to_dst_row.long()
    count = places.numel() // width
    table = places.reshape(width, count).t() if mode in (0, 1) else places.reshape(count, width)
    tokens = torch.where((table >= 0).unsqueeze(-1), wide(rows)[table.clamp(min=0)], 0)
    if bias is not None and export_for_source_row is not None:
        tokens = tokens + wide(bias)[export_for_source_row.long()]
    tokens = tokens if scales is None else tokens * wide(scales).unsqueeze(-1)
    total = tokens.sum(1)
    for skip in (skip1, skip2):
        total = total if skip is None else total + wide(skip)
    return total.to(rows.dtype)


def _compute_expert_tokens(sorted_expert_for_source_row: Tensor, num_expert: int) -> Tensor:
    experts = torch.arange(num_expert, device=sorted_expert_for_source_row.device)
    return (sorted_expert_for_source_row.unsqueeze(-1) <= experts).sum(0).int()


def _moving(kernel: str, tokens: str, outputs: Sequence[int] = (0,), *, mixed: bool = False) -> Launches:
    """State a kernel that reads, of the rows *tokens*, as many bytes as it writes."""

    def kernels(call: Call) -> Iterable[Launch]:
        moved = [call.outputs[position] for position in outputs]
        size = sum(t.numel() * t.element_size() for t in moved)
        others = [t for t in call.inputs if t is not call[tokens]]
        yield Launch(
            kernel=kernel,
            inputs=call.inputs,
            outputs=call.outputs,
            task=TaskType.MIX_AIV if mixed else TaskType.AI_VECTOR_CORE,
            cost=1,
            over=sum(t.numel() for t in moved),
            read=size + sum(t.numel() * t.element_size() for t in others),
        )

    return kernels


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_moe_token_permute": NpuOperator(
        compute=_permute,
        kernels=_moving("MoeTokenPermute", "tokens"),
        gradient=Gradient(compute=_permute_gradient, keeps=("tokens", "indices", 1)),
    ),
    "npu_moe_token_permute_grad_v2": NpuOperator(
        compute=_permute_grad, kernels=vector("MoeTokenUnpermute", "aclnnMoeTokenPermuteGrad", cost=1)
    ),
    "npu_moe_token_unpermute": NpuOperator(
        compute=_unpermute,
        kernels=vector("MoeTokenUnpermute", cost=2),
        gradient=Gradient(compute=_unpermute_gradient, keeps=("permuted_tokens", "sorted_indices", "probs")),
    ),
    "npu_moe_token_unpermute_grad_v2": NpuOperator(
        compute=_unpermute_grad, kernels=vector("MoeTokenUnpermuteGrad", cost=4)
    ),
    "npu_moe_gating_top_k_softmax": NpuOperator(
        compute=_gating_softmax, kernels=vector("MoeGatingTopKSoftmax", "aclnnMoeGatingTopKSoftmaxV2", cost=8)
    ),
    "npu_moe_gating_top_k": NpuOperator(compute=_gating, kernels=vector("MoeGatingTopK", cost=10)),
    "npu_moe_init_routing": NpuOperator(compute=_init_routing, kernels=_moving("MoeInitRouting", "x", mixed=True)),
    "npu_moe_init_routing_v2": NpuOperator(
        compute=_init_routing_v2,
        shapes=_init_routing_v2_shapes,
        kernels=_moving("MoeInitRoutingV3", "x", mixed=True),
    ),
    "npu_moe_finalize_routing": NpuOperator(compute=_finalize, kernels=vector("MoeFinalizeRoutingV2", cost=3)),
    "npu_moe_compute_expert_tokens": NpuOperator(
        compute=_compute_expert_tokens, kernels=vector("MoeComputeExpertTokens", cost=1), dtypes="int32, int64"
    ),
}
