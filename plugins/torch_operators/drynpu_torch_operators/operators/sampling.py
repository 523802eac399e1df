"""Choosing of tokens and experts: logits that are kept, best groups, and weights of the best experts."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import vector
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import NpuOperator

SCHEMAS = """
npu_top_k_top_p(Tensor logits, Tensor? p=None, Tensor? k=None) -> Tensor
_npu_group_topk(Tensor self, int k=0, int group_num=1, int n=1) -> ()
npu_fused_add_topk_div(Tensor x, Tensor add_num, *, Tensor? mapping_num=None, Tensor? mapping_table=None,
    str? activation_type=None, int group_num=1, int group_topk=1, int n=1, int k=1, bool is_norm=True,
    float scale=1, bool enable_expert_mapping=False) -> (Tensor, Tensor)
npu_moe_gating_top_k_softmax_v2(Tensor x, *, int k=1, Tensor? finished=None, int? renorm=0,
    bool? output_softmax=False) -> (Tensor, Tensor, Tensor)
"""


def _top_k_top_p(logits: Tensor, p: Tensor | None, k: Tensor | None) -> Tensor:
    """Return the logits with -inf in place of all but the k largest and of what exceeds a share p of the rest."""
    values, order = logits.sort(dim=-1, stable=True)
    if k is not None:
        threshold = values.gather(1, (values.shape[1] - k.long()).unsqueeze(1))
        values = values.masked_fill(values < threshold, -torch.inf)
    if p is not None:
        dropped = wide(values).softmax(-1).cumsum(-1) <= 1 - wide(p).unsqueeze(1)
        dropped[:, -1] = False  # one token is always left
        values = values.masked_fill(dropped, -torch.inf)
    return torch.empty_like(values).scatter_(1, order, values)


def _best_groups(x: Tensor, k: int, group_num: int, n: int) -> Tensor:
    """Return which columns belong to the *k* groups whose *n* largest numbers have the largest sums."""
    groups = wide(x).reshape(x.shape[0], group_num, -1)
    order = groups.topk(n, -1).values.sum(-1).argsort(dim=-1, descending=True, stable=True)
    kept = torch.zeros(order.shape, dtype=torch.bool, device=x.device).scatter_(1, order[:, :k], True)
    return kept.repeat_interleave(groups.shape[-1], 1)


def _group_topk(self: Tensor, k: int, group_num: int, n: int) -> None:
    self.mul_(_best_groups(self, k, group_num, n).to(self.dtype))


def _fused_add_topk_div(call: Call) -> tuple[Tensor, Tensor]:
    scores = wide(call["x"]).sigmoid()
    choosing = scores + wide(call["add_num"])
    kept = _best_groups(choosing, call["group_topk"], call["group_num"], call["n"])
    order = torch.where(kept, choosing, 0).sort(dim=-1, descending=True, stable=True).indices[:, : call["k"]]
    y = scores.gather(-1, order)
    y = y / y.sum(-1, keepdim=True) * call["scale"] if call["is_norm"] else y
    copies, table = call["mapping_num"], call["mapping_table"]
    if call["enable_expert_mapping"] and copies is not None and table is not None:
        # The copies of an expert take turns from one token to the next.
        turn = torch.arange(order.shape[0], device=order.device).unsqueeze(1) % copies.long()[order].clamp(min=1)
        order = table.long()[order, turn]
    return y.float(), order.int()


def _gating_softmax(
    x: Tensor, k: int, finished: Tensor | None, renorm: int | None, output_softmax: bool | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return weights and numbers of the best experts, and all weights where they are asked for."""
    wanted = bool(output_softmax) and not renorm
    if renorm:  # the weights of the chosen ones sum to 1
        values, chosen = wide(x).sort(dim=-1, descending=True, stable=True)
        y, chosen, shares = values[..., :k].softmax(-1), chosen[..., :k], wide(x)
    else:
        shares = wide(x).softmax(-1)
        chosen = shares.sort(dim=-1, descending=True, stable=True).indices[..., :k]
        y = shares.gather(-1, chosen)
    experts = chosen if finished is None else torch.where(finished.unsqueeze(-1), x.shape[-1], chosen)
    shown = shares.float() if wanted else x.new_empty(0, dtype=torch.float32)
    return y.to(x.dtype), experts.int(), shown


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_top_k_top_p": NpuOperator(
        compute=_top_k_top_p, kernels=vector("ApplyTopKTopPWithSorted", "aclnnApplyTopKTopP", cost=20, mixed=True)
    ),
    "_npu_group_topk": NpuOperator(
        compute=_group_topk, shapes=lambda: None, kernels=vector("GroupTopk", cost=4, written=("self",))
    ),
    "npu_fused_add_topk_div": NpuOperator(
        compute=_fused_add_topk_div, kernels=vector("FusedAddTopkDiv", cost=12), left_out=("activation_type",)
    ),
    "npu_moe_gating_top_k_softmax_v2": NpuOperator(
        compute=_gating_softmax, kernels=vector("MoeGatingTopKSoftmaxV2", cost=8)
    ),
}
