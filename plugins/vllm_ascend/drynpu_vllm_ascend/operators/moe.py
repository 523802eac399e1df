"""Choosing experts."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from drynpu_vllm_ascend.served import ServedOperator

_SIGMOID: Final = 1
_LARGEST_OF_GROUP: Final = 0
_CHOOSING: Final = 12
"""Element operations for each score: the softmax, and what sorts it."""


def _gating_top_k(
    x: Tensor,
    k: int,
    k_group: int,
    group_count: int,
    group_select_mode: int,
    renorm: int,
    norm_type: int,
    out_flag: bool,
    routed_scaling_factor: float,
    eps: float,
    bias_opt: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    scores = x.float().sigmoid() if norm_type == _SIGMOID else x.float().softmax(-1)
    choosing = scores if bias_opt is None else scores + bias_opt.float()
    if group_count > 1:
        groups = choosing.reshape(*x.shape[:-1], group_count, -1)
        best = groups.amax(-1) if group_select_mode == _LARGEST_OF_GROUP else groups.topk(2, -1).values.sum(-1)
        kept = torch.zeros_like(best, dtype=torch.bool).scatter(-1, _largest(best, k_group), True)
        choosing = torch.where(kept.unsqueeze(-1), groups, -torch.inf).flatten(-2)
    chosen = _largest(choosing, k)
    weights = scores.gather(-1, chosen)
    if norm_type == _SIGMOID or renorm:
        weights = weights / (weights.sum(-1, keepdim=True) + eps)
    shown = scores if out_flag else torch.zeros_like(scores)
    return (weights * routed_scaling_factor).to(x.dtype), chosen.int(), shown


def _largest(scores: Tensor, count: int) -> Tensor:
    """Return the positions of the largest scores; the first one where some are equal."""
    return scores.sort(dim=-1, descending=True, stable=True).indices[..., :count]


OPERATORS: Final = (
    ServedOperator(
        schema="moe_gating_top_k(Tensor x, int k, int k_group, int group_count, int group_select_mode, int renorm,"
        " int norm_type, bool out_flag, float routed_scaling_factor, float eps, Tensor? bias_opt=None)"
        " -> (Tensor y, Tensor expert_idx, Tensor out)",
        compute=_gating_top_k,
        kernel="MoeGatingTopK",
        cost=_CHOOSING,
    ),
)
