"""Choosing of tokens and experts against loops over rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]


@pytest.mark.parametrize(("by_share", "by_count"), [(True, True), (False, True), (True, False)])
def test_logits_that_are_kept(check: Check, by_share: bool, by_count: bool) -> None:
    torch.manual_seed(7)
    logits, counts, shares = torch.randn(3, 8), torch.tensor([3, 8, 1]), torch.tensor([0.6, 0.9, 0.5])
    expected = torch.full((3, 8), -math.inf)
    for row in range(3):
        order = sorted(range(8), key=lambda column, row=row: float(logits[row, column]))
        kept = order[-int(counts[row]) :] if by_count else order
        weights = torch.tensor([math.exp(logits[row, column]) for column in kept], dtype=torch.double)
        passed = (weights / weights.sum()).cumsum(0)
        for place, column in enumerate(kept):
            if not by_share or place == len(kept) - 1 or passed[place] > 1 - shares[row]:
                expected[row, column] = logits[row, column]
    options = {"p": shares if by_share else None, "k": counts if by_count else None}
    (kernel,) = check("npu_top_k_top_p", (logits,), expected, **options)
    assert kernel.op_type == "ApplyTopKTopPWithSorted"


def _groups(row: list[float], group_num: int, n: int, count: int) -> set[int]:
    """Return the columns of the groups whose n largest numbers have the largest sums."""
    size = len(row) // group_num
    sums = [sum(sorted(row[g * size : (g + 1) * size])[-n:]) for g in range(group_num)]
    best = sorted(range(group_num), key=lambda g: (-sums[g], g))[:count]
    return {column for g in best for column in range(g * size, (g + 1) * size)}


def test_other_groups_become_zero(kernels: Check) -> None:
    torch.manual_seed(8)
    x = torch.rand(3, 12)
    expected = torch.stack(
        [torch.tensor([v if c in _groups(row, 4, 2, 3) else 0.0 for c, v in enumerate(row)]) for row in x.tolist()]
    )
    (kernel,) = kernels(lambda: torch.ops.npu._npu_group_topk(x, k=3, group_num=4, n=2))
    assert torch.equal(x, expected)
    assert kernel.op_type == "GroupTopk"


@pytest.mark.parametrize("mapped", [False, True])
def test_weights_of_experts_of_the_best_groups(check: Check, mapped: bool) -> None:
    torch.manual_seed(9)
    x, bias = torch.randn(3, 12), torch.rand(12)
    copies, table = torch.randint(1, 3, (12,)), torch.arange(36).reshape(12, 3)
    ys, experts = [], []
    for token, row in enumerate(x.double().sigmoid()):
        scores = (row + bias.double()).tolist()
        kept = _groups(scores, 4, 2, 2)
        best = sorted(kept, key=lambda column: -scores[column])[:3]
        weights = row[best]
        ys.append(weights / weights.sum() * 2.5)
        experts.append([int(table[e, token % int(copies[e])]) for e in best] if mapped else best)
    options = {"group_num": 4, "group_topk": 2, "n": 2, "k": 3, "scale": 2.5}
    if mapped:
        options |= {"mapping_num": copies, "mapping_table": table, "enable_expert_mapping": True}
    expected = (torch.stack(ys), torch.tensor(experts))
    (kernel,) = check("npu_fused_add_topk_div", (x, bias), expected, **options)
    assert kernel.op_type == "FusedAddTopkDiv"
    assert torch.ops.atb.npu_fused_add_topk_div is npu.npu_fused_add_topk_div


@pytest.mark.parametrize("renorm", [0, 1])
def test_gating_with_all_weights(check: Check, renorm: int) -> None:
    torch.manual_seed(10)
    x, finished = torch.randn(3, 6), torch.tensor([False, True, False])
    shares = x.double().softmax(-1)
    chosen = [sorted(range(6), key=lambda e, row=row: -row[e])[:2] for row in x.tolist()]
    rows = torch.stack([row[best] for row, best in zip(shares, chosen, strict=True)])
    y = rows / rows.sum(-1, keepdim=True) if renorm else rows
    experts = torch.tensor([chosen[0], [6, 6], chosen[2]])
    shown = (torch.float32, (0,)) if renorm else shares
    options = {"k": 2, "finished": finished, "renorm": renorm, "output_softmax": True}
    check("npu_moe_gating_top_k_softmax_v2", (x,), (y, experts, shown), **options)
