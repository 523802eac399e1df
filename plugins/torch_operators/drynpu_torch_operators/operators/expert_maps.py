"""Mixture of experts whose routing is a map of tokens and experts, and tokens of many ranks sorted by expert."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, vector
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import Gradient, Launches, NpuOperator

SCHEMAS = """
npu_moe_token_permute_with_routing_map(Tensor tokens, Tensor routing_map, *, Tensor? probs=None,
    int? num_out_tokens=None, bool drop_and_pad=False) -> (Tensor, Tensor, Tensor)
npu_moe_token_permute_with_routing_map_grad(Tensor permuted_token_out_grad, Tensor? probs_grad,
    Tensor sorted_indices, Tensor routing_map, SymInt experts_num, SymInt tokens_num, bool drop_and_pad) ->
    (Tensor, Tensor)
npu_moe_token_unpermute_with_routing_map(Tensor permuted_tokens, Tensor sorted_indices, int[] restore_shape, *,
    Tensor? probs=None, Tensor? routing_map=None, bool drop_and_pad=False) -> Tensor
_npu_moe_token_unpermute_with_routing_map(Tensor permuted_tokens, Tensor sorted_indices, int[] restore_shape, *,
    Tensor? probs=None, Tensor? routing_map=None, bool drop_and_pad=False) -> (Tensor, Tensor, Tensor, Tensor)
npu_moe_token_unpermute_with_routing_map_grad(Tensor unpermuted_tokens_grad, Tensor out_index,
    Tensor permuted_token_id, Tensor? routing_map, Tensor? permuted_tokens, Tensor? probs, bool drop_and_pad,
    int[] restore_shape) -> (Tensor, Tensor)
npu_moe_re_routing(Tensor tokens, Tensor expert_token_num_per_rank, *, Tensor? per_token_scales=None,
    int expert_token_num_type=1, int idx_type=0, int? tokens_dtype=None) -> (Tensor, Tensor, Tensor, Tensor)
"""


def _slots(routing_map: Tensor, rows: int, *, padded: bool) -> tuple[Tensor, Tensor]:
    """Return expert and token of each permuted row: the set entries by expert, or as many for each expert."""
    by_expert = routing_map.bool().t()
    if padded:
        capacity = rows // by_expert.shape[0]
        tokens = by_expert.to(torch.int8).sort(dim=-1, descending=True, stable=True).indices[:, :capacity]
        experts = torch.arange(by_expert.shape[0], device=tokens.device).unsqueeze(-1).expand_as(tokens)
        return experts.flatten(), tokens.flatten()
    experts, tokens = by_expert.nonzero(as_tuple=True)
    return experts[:rows], tokens[:rows]


def _rows(tokens: Tensor, routing_map: Tensor, wanted: int | None, *, padded: bool) -> int:
    """Return how many rows a permutation has, as the vendor rounds them (its _meta_registrations.py)."""
    unit = routing_map.shape[1] if padded else routing_map.shape[0]
    return (tokens.shape[0] if wanted is None else wanted) // unit * unit


def _permute(
    tokens: Tensor, routing_map: Tensor, probs: Tensor | None, num_out_tokens: int | None, drop_and_pad: bool
) -> tuple[Any, ...]:
    rows = _rows(tokens, routing_map, num_out_tokens, padded=drop_and_pad)
    experts, sources = _slots(routing_map, rows, padded=drop_and_pad)
    text = f"num_out_tokens is {num_out_tokens}, but routing_map has {len(sources)} set entries"
    errors.require(drop_and_pad or len(sources) == rows, text)
    indices = sources if drop_and_pad else sources.argsort(stable=True)
    return tokens[sources], None if probs is None else probs[sources, experts], indices.int()


def _permute_shapes(
    tokens: Tensor, routing_map: Tensor, probs: Tensor | None, num_out_tokens: int | None, drop_and_pad: bool
) -> tuple[Any, ...]:
    rows = _rows(tokens, routing_map, num_out_tokens, padded=drop_and_pad)
    weights = None if probs is None else probs.new_empty(rows)
    return tokens.new_empty(rows, tokens.shape[1]), weights, tokens.new_empty(rows, dtype=torch.int32)


def _permute_grad(
    permuted_token_out_grad: Tensor,
    probs_grad: Tensor | None,
    routing_map: Tensor,
    experts_num: int,
    tokens_num: int,
    drop_and_pad: bool,
) -> tuple[Any, ...]:
    grad = permuted_token_out_grad
    experts, sources = _slots(routing_map, grad.shape[0], padded=drop_and_pad)
    tokens_grad = wide(grad).new_zeros(tokens_num, grad.shape[1]).index_add_(0, sources, wide(grad)).to(grad.dtype)
    if probs_grad is None:
        return tokens_grad, None
    weights = wide(probs_grad).new_zeros(tokens_num, experts_num)
    weights[sources, experts] = wide(probs_grad)
    return tokens_grad, weights.to(probs_grad.dtype)


def _permute_grad_shapes(
    permuted_token_out_grad: Tensor, probs_grad: Tensor | None, experts_num: int, tokens_num: int
) -> tuple[Any, ...]:
    grad = permuted_token_out_grad
    weights = None if probs_grad is None else probs_grad.new_empty(tokens_num, experts_num)
    return grad.new_empty(tokens_num, grad.shape[1]), weights


def _permute_gradient(call: Call, grad: Tensor, probs_grad: Tensor | None, *others: Any) -> Mapping[str, Any]:
    del others
    tokens, routing = call["tokens"], call["routing_map"]
    dtokens, dprobs = torch.ops.npu.npu_moe_token_permute_with_routing_map_grad(
        *(grad, probs_grad if call["probs"] is not None else None, call.results[2], routing, routing.shape[1]),
        *(tokens.shape[0], call["drop_and_pad"]),
    )
    return {"tokens": dtokens, "probs": dprobs}


def _weights_of_rows(call: Call) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return place and token of each permuted row, ordered by token, and the weights of the rows as they stand."""
    indices = call["sorted_indices"].long()
    probs, routing, padded = call["probs"], call["routing_map"], call["drop_and_pad"]
    if padded:
        tokens, places = indices.sort(stable=True)
        if probs is None:
            return places, tokens, None
        experts = torch.arange(probs.shape[1], device=indices.device).repeat_interleave(len(indices) // probs.shape[1])
        return places, tokens, probs[indices, experts]
    text = "routing_map is needed where drop_and_pad is False and probs are given"
    errors.require(probs is None or routing is not None, text)
    count = call["restore_shape"][0]
    tokens = torch.arange(count, device=indices.device).repeat_interleave(len(indices) // max(count, 1))
    if probs is None or routing is None:
        return indices, tokens, None
    tokens = routing.bool().nonzero()[:, 0]
    by_token = probs[routing.bool()]
    weights = torch.empty_like(by_token)
    weights[indices] = by_token
    return indices, tokens, weights


def _unpermute(call: Call) -> tuple[Any, ...]:
    places, tokens, weights = _weights_of_rows(call)
    permuted = call["permuted_tokens"]
    rows = wide(permuted) if weights is None else wide(permuted) * wide(weights).unsqueeze(-1)
    out = rows.new_zeros(call["restore_shape"]).index_add_(0, tokens, rows[places]).to(permuted.dtype)
    shown = None if weights is None else _in_order(weights, places, padded=call["drop_and_pad"])
    return out, places.int(), tokens.int(), shown


def _in_order(weights: Tensor, places: Tensor, *, padded: bool) -> Tensor:
    """Return weights as the vendor returns them: of padded rows as they stand, of others by token."""
    return weights if padded else weights[places]


def _unpermute_shapes(call: Call) -> tuple[Any, ...]:
    indices, probs = call["sorted_indices"], call["probs"]
    out = call["permuted_tokens"].new_empty(call["restore_shape"])
    places, tokens = torch.empty_like(indices, dtype=torch.int32), torch.empty_like(indices, dtype=torch.int32)
    return out, places, tokens, None if probs is None else probs.new_empty(indices.shape)


def _unpermute_grad(call: Call) -> tuple[Any, ...]:
    grad, places, tokens = call["unpermuted_tokens_grad"], call["out_index"].long(), call["permuted_token_id"].long()
    spread = wide(grad).new_empty(len(places), grad.shape[1])
    spread[places] = wide(grad)[tokens]
    probs, routing = call["probs"], call["routing_map"]
    if probs is None:
        return spread.to(grad.dtype), None
    text = "permuted_tokens and routing_map are needed for the gradient of probs"
    errors.require(call["permuted_tokens"] is not None and routing is not None, text)
    experts, sources = _slots(routing, len(places), padded=call["drop_and_pad"])
    weighted = spread * wide(probs)[sources, experts].unsqueeze(-1)
    dprobs = wide(probs).new_zeros(probs.shape)
    dprobs[sources, experts] = (spread * wide(call["permuted_tokens"])).sum(-1)
    return weighted.to(grad.dtype), dprobs.to(grad.dtype)


def _unpermute_grad_shapes(unpermuted_tokens_grad: Tensor, out_index: Tensor, probs: Tensor | None) -> tuple[Any, ...]:
    grad = unpermuted_tokens_grad
    weights = None if probs is None else grad.new_empty(probs.shape)
    return grad.new_empty(out_index.shape[0], grad.shape[1]), weights


def _unpermute_gradient(call: Call, grad: Tensor) -> Mapping[str, Any]:
    places, tokens, _ = _weights_of_rows(call)
    drows, dprobs = torch.ops.npu.npu_moe_token_unpermute_with_routing_map_grad(
        *(grad, places.int(), tokens.int(), call["routing_map"], call["permuted_tokens"], call["probs"]),
        *(call["drop_and_pad"], call["restore_shape"]),
    )
    return {"permuted_tokens": drows, "probs": None if dprobs is None else dprobs.to(call["probs"].dtype)}


def _re_routing(
    tokens: Tensor, expert_token_num_per_rank: Tensor, per_token_scales: Tensor | None, idx_type: int
) -> tuple[Tensor, ...]:
    counts = expert_token_num_per_rank.long()
    experts = torch.arange(counts.shape[1], device=tokens.device).repeat(counts.shape[0])
    order = experts.repeat_interleave(counts.flatten()).argsort(stable=True)
    rest = torch.arange(len(order), tokens.shape[0], device=tokens.device)
    source = torch.cat((order, rest))
    scales = tokens.new_zeros(tokens.shape[0], dtype=torch.float32) if per_token_scales is None else per_token_scales
    index = source if idx_type == 0 else source.argsort()
    return (
        tokens[source],
        scales[source],
        index.int(),
        expert_token_num_per_rank.sum(0).to(expert_token_num_per_rank.dtype),
    )


def _re_routing_shapes(
    tokens: Tensor, expert_token_num_per_rank: Tensor, per_token_scales: Tensor | None
) -> tuple[Tensor, ...]:
    rows, counts = tokens.shape[0], expert_token_num_per_rank
    scales = tokens.new_empty(rows, dtype=torch.float32) if per_token_scales is None else per_token_scales
    index = tokens.new_empty(rows, dtype=torch.int32)
    return torch.empty_like(tokens), torch.empty_like(scales), index, counts.new_empty(counts.shape[1])


def _by_rows(kernel: str, rows: str) -> Launches:
    """State a kernel that reads and writes as many bytes as the rows have that it returns first."""

    def kernels(call: Call) -> Iterable[Launch]:
        outputs = [t for t in call.outputs if t.numel()]
        moved = outputs[0].numel() * outputs[0].element_size()
        others = sum(t.numel() * t.element_size() for t in call.inputs if t is not call[rows])
        yield Launch(
            kernel=kernel, inputs=call.inputs, outputs=outputs, cost=1, over=outputs[0].numel(), read=moved + others
        )

    return kernels


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_moe_token_permute_with_routing_map": NpuOperator(
        compute=_permute,
        shapes=_permute_shapes,
        kernels=_by_rows("MoeTokenPermuteWithRoutingMap", "tokens"),
        gradient=Gradient(compute=_permute_gradient, keeps=("tokens", "routing_map", "probs", 2), outputs=(0, 1)),
    ),
    "npu_moe_token_permute_with_routing_map_grad": NpuOperator(
        compute=_permute_grad,
        shapes=_permute_grad_shapes,
        kernels=vector("MoeTokenPermuteWithRoutingMapGrad", cost=1),
    ),
    "npu_moe_token_unpermute_with_routing_map": NpuOperator(
        compute=lambda call: _unpermute(call)[0],
        shapes=lambda call: _unpermute_shapes(call)[0],
        kernels=vector("MoeTokenUnpermuteWithRoutingMap", cost=2),
        gradient=Gradient(
            compute=_unpermute_gradient, keeps=("permuted_tokens", "sorted_indices", "probs", "routing_map")
        ),
    ),
    "_npu_moe_token_unpermute_with_routing_map": NpuOperator(
        compute=_unpermute, shapes=_unpermute_shapes, kernels=vector("MoeTokenUnpermuteWithRoutingMap", cost=2)
    ),
    "npu_moe_token_unpermute_with_routing_map_grad": NpuOperator(
        compute=_unpermute_grad,
        shapes=_unpermute_grad_shapes,
        kernels=vector("MoeTokenUnpermuteWithRoutingMapGrad", cost=4),
    ),
    "npu_moe_re_routing": NpuOperator(
        compute=_re_routing,
        shapes=_re_routing_shapes,
        kernels=_by_rows("MoeReRouting", "tokens"),
        left_out=("tokens_dtype",),
        dtypes="float16, bfloat16, int8",
    ),
}
