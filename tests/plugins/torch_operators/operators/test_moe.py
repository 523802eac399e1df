"""Mixture of experts against loops over tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]
EXPERTS = torch.tensor([[2, 0], [1, 2], [0, 1], [2, 1]])


def _slots(experts: torch.Tensor) -> list[int]:
    """Return flat slots, sorted by expert, equal ones in their order."""
    flat = experts.flatten().tolist()
    return sorted(range(len(flat)), key=lambda slot: (flat[slot], slot))


@pytest.mark.parametrize(("wanted", "rows"), [(None, 8), (0, 8), (5, 5), (-2, 6)])
def test_permute(check: Check, wanted: int | None, rows: int) -> None:
    tokens, order = torch.randn(4, 6), _slots(EXPERTS)
    expected = torch.stack([tokens[slot // 2] for slot in order[:rows]])
    places = torch.tensor([order.index(slot) for slot in range(8)])
    (kernel,) = check("npu_moe_token_permute", (tokens, EXPERTS, wanted), (expected, places))
    assert kernel.op_type == "MoeTokenPermute"
    assert kernel.bytes_read == rows * 6 * 4 + 8 * 8


@pytest.mark.parametrize("kept", [8, 6])
def test_unpermute(check: Check, kept: int) -> None:
    rows, probs, order = torch.randn(kept, 6), torch.rand(4, 2), _slots(EXPERTS)
    places = torch.tensor([order.index(slot) for slot in range(8)], dtype=torch.int32)
    expected = torch.zeros(4, 6, dtype=torch.double)
    for slot, place in enumerate(places.tolist()):
        if place < kept:
            expected[slot // 2] += rows[place].double() * probs[slot // 2, slot % 2].double()
    (kernel,) = check("npu_moe_token_unpermute", (rows, places, probs), expected)
    assert kernel.op_type == "MoeTokenUnpermute"


def test_gradients(kernels: Check) -> None:
    tokens, rows, probs = (torch.randn(s, dtype=torch.double, requires_grad=True) for s in ((4, 3), (6, 3), (4, 2)))
    places = npu.npu_moe_token_permute(tokens, EXPERTS)[1]
    assert torch.autograd.gradcheck(lambda t: npu.npu_moe_token_permute(t, EXPERTS, 6)[0], (tokens,))
    assert torch.autograd.gradcheck(lambda r, p: npu.npu_moe_token_unpermute(r, places, p), (rows, probs))
    backward = kernels(npu.npu_moe_token_unpermute(rows.float(), places, probs.float()).sum().backward)
    assert [k.op_type for k in backward] == ["MoeTokenUnpermuteGrad"]


def test_gating_by_softmax(check: Check) -> None:
    torch.manual_seed(9)
    x, finished = torch.randn(3, 5), torch.tensor([False, True, False])
    shares = x.double().exp() / x.double().exp().sum(-1, keepdim=True)
    chosen = [sorted(range(5), key=lambda e, row=row: -row[e])[:2] for row in shares.tolist()]
    y = torch.tensor([[row[e] for e in best] for row, best in zip(shares.tolist(), chosen, strict=True)])
    experts = torch.tensor([chosen[0], [5, 5], chosen[2]])
    rows = torch.tensor([[0, 3], [1, 4], [2, 5]])
    (kernel,) = check("npu_moe_gating_top_k_softmax", (x, finished, 2), (y, experts, rows))
    assert kernel.op_type == "MoeGatingTopKSoftmax"


@pytest.mark.parametrize("mode", [0, 1])
def test_gating_by_groups(check: Check, mode: int) -> None:
    torch.manual_seed(3)
    x, bias = torch.randn(4, 12), torch.randn(12) / 4
    scores = 1 / (1 + torch.exp(-x.double()))
    ys, experts = [], []
    for row in scores:
        choosing = row + bias
        groups = [sorted(choosing[g * 4 : g * 4 + 4].tolist())[::-1] for g in range(3)]
        values = [g[0] if mode == 0 else g[0] + g[1] for g in groups]
        kept = sorted(range(3), key=lambda g, v=values: -v[g])[:2]
        best = sorted((e for g in kept for e in range(g * 4, g * 4 + 4)), key=lambda e, c=choosing: -float(c[e]))[:3]
        y = row[best]
        ys.append(2.5 * y / (y.sum() + 1e-20))
        experts.append(best)
    options = {"bias": bias, "k_group": 2, "group_count": 3, "group_select_mode": mode, "norm_type": 1}
    options |= {"routed_scaling_factor": 2.5, "out_flag": True}
    expected = torch.stack(ys), torch.tensor(experts), scores
    (kernel,) = check("npu_moe_gating_top_k", (x, 3), expected, **options)
    assert kernel.op_type == "MoeGatingTopK"


def test_init_routing(check: Check) -> None:
    x, order = torch.randn(4, 6), _slots(EXPERTS)
    row_idx = torch.arange(8, dtype=torch.int32).reshape(2, 4).t().contiguous()
    flat = row_idx.flatten().tolist()
    sources = [flat[slot] for slot in order]
    places = torch.tensor([sources.index(number) for number in range(8)])
    expected = torch.stack([x[s % 4] for s in sources[:6]]), places, EXPERTS.flatten()[order]
    check("npu_moe_init_routing", (x, row_idx, EXPERTS.int(), 3), expected)
    combined = torch.randn(8, 6)
    scales, bias = torch.rand(4, 2), torch.randn(3, 6)
    total = 2 * x.double()
    for t in range(4):
        for k in range(2):
            total[t] += scales[t, k].double() * (combined[places[k * 4 + t]] + bias[EXPERTS[t, k]]).double()
    args = (combined, x, x, bias, scales, places.int(), EXPERTS.int())
    (kernel,) = check("npu_moe_finalize_routing", args, total)
    assert kernel.op_type == "MoeFinalizeRoutingV2"


@pytest.mark.parametrize(("kind", "tokens"), [(0, [3, 6]), (1, [3, 3]), (2, [[1, 3], [2, 3]])])
@pytest.mark.parametrize("quant", [-1, 1])
def test_init_routing_of_some_experts(check: Check, kind: int, tokens: list[Any], quant: int) -> None:
    x, scale = torch.randn(4, 6), torch.rand(4)
    slots = [slot for slot in _slots(EXPERTS) if EXPERTS.flatten()[slot] >= 1]
    rows = torch.zeros(8, 6)
    rows[:6] = torch.stack([x[slot // 2] for slot in slots])
    places = torch.tensor([slots.index(slot) if slot in slots else -1 for slot in range(8)])
    options = {"expert_num": 3, "active_expert_range": [1, 3], "expert_tokens_num_type": kind, "quant_mode": quant}
    if quant == 1:
        amax = rows.double().abs().amax(-1) / 127
        rows, extra = torch.round(rows.double() / torch.where(amax == 0, 1, amax)[:, None]), amax
    else:
        options["scale"], extra = scale, torch.tensor([float(scale[slot // 2]) for slot in slots] + [0.0, 0.0])
    expected = rows, places, torch.tensor(tokens), extra
    (kernel,) = check("npu_moe_init_routing_v2", (x, EXPERTS.int()), expected, **options)
    assert kernel.op_type == "MoeInitRoutingV3"


def test_rows_take_the_factors_of_their_expert(check: Check) -> None:
    """Three experts, of which the middle one is asked for; those behind it come before those in front of it."""
    x, experts = torch.randn(5, 6), torch.tensor([[2, 0], [1, 2], [0, 1], [1, 0], [2, 1]])
    factors = torch.tensor([[1.0, 2.0, 0.5, 3.0, 1.5, 0.25]])
    flat = experts.flatten().tolist()
    order = [*(slot for wanted in (1, 2, 0) for slot in range(10) if flat[slot] == wanted)]
    for scale, low, high in ((factors, 1, 2), (torch.cat([2 * factors, 3 * factors]), 1, 3)):
        options = {"expert_num": 3, "active_expert_range": [low, high], "expert_tokens_num_type": 1, "quant_mode": 1}
        rows = torch.zeros(10, 6, dtype=torch.float64)
        active = [slot for slot in order if low <= flat[slot] < high]
        for place, slot in enumerate(active):
            rows[place] = x[slot // 2].double() * scale[0 if len(scale) == 1 else flat[slot] - low].double()
        amax = rows.abs().amax(-1) / 127
        quantised = torch.round(rows / torch.where(amax == 0, 1, amax)[:, None])
        counts = torch.tensor([flat.count(expert) for expert in range(low, high)])
        expected = quantised, torch.tensor(order), counts, amax
        check("npu_moe_init_routing_v2", (x, experts.int()), expected, scale=scale, row_idx_type=1, **options)


def test_routing_of_no_token() -> None:
    x, experts = torch.ones(0, 6, device="npu"), torch.ones(0, 2, dtype=torch.int32, device="npu")
    options = {"expert_num": 3, "active_expert_range": [0, 3], "expert_tokens_num_type": 1, "quant_mode": 1}
    rows, places, counts, scales = npu.npu_moe_init_routing_v2(x, experts, scale=torch.ones(0, 6).npu(), **options)
    assert (rows.shape, places.numel(), counts.tolist(), scales.numel()) == ((0, 6), 0, [0, 0, 0], 0)


def test_counts_and_misuse(check: Check) -> None:
    experts = torch.tensor([0, 0, 2, 2, 2], dtype=torch.int32)
    check("npu_moe_compute_expert_tokens", (experts, 4), torch.tensor([2, 2, 5, 5]))
    with pytest.raises(RuntimeError, match="The dims of input tokens should be 2 dimensional, but got 3-dimensional."):
        npu.npu_moe_token_permute(torch.ones(2, 2, 2), EXPERTS)
    with pytest.raises(RuntimeError, match="routes without capacity"):
        npu.npu_moe_init_routing_v2(torch.ones(4, 2), EXPERTS.int(), expert_num=3, drop_pad_mode=1)
