"""Routing by a map of tokens and experts against loops over its entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]
MAP = torch.tensor([[True, False, True], [False, True, True], [True, True, False], [True, False, True]])


def _slots(capacity: int | None) -> list[tuple[int, int]]:
    """Return expert and token of each row; with a capacity each expert has as many, chosen tokens first."""
    found = []
    for expert in range(3):
        tokens = [t for t in range(4) if MAP[t, expert]]
        if capacity is not None:
            tokens = (tokens + [t for t in range(4) if not MAP[t, expert]])[:capacity]
        found += [(expert, token) for token in tokens]
    return found


@pytest.mark.parametrize("capacity", [None, 2])
def test_there_and_back(check: Check, capacity: int | None) -> None:
    torch.manual_seed(1)
    tokens, probs, slots = torch.randn(4, 5), torch.rand(4, 3), _slots(capacity)
    rows = torch.stack([tokens[t] for _, t in slots])
    weights = torch.stack([probs[t, e] for e, t in slots])
    by_token = sorted(range(len(slots)), key=lambda row: slots[row][1])
    indices = torch.tensor(by_token if capacity is None else [t for _, t in slots])
    options = {"num_out_tokens": len(slots), "drop_and_pad": capacity is not None}
    (kernel,) = check(
        "npu_moe_token_permute_with_routing_map", (tokens, MAP), (rows, weights, indices), probs=probs, **options
    )
    assert (kernel.op_type, kernel.bytes_written) == ("MoeTokenPermuteWithRoutingMap", len(slots) * (5 + 2) * 4)
    expected = torch.zeros(4, 5, dtype=torch.double)
    for row, (expert, token) in enumerate(slots):
        expected[token] += rows[row].double() * probs[token, expert].double()
    options = {"probs": probs, "routing_map": MAP, "drop_and_pad": capacity is not None}
    call = (rows, indices.int(), [4, 5])
    check("npu_moe_token_unpermute_with_routing_map", call, expected, **options)
    shown = weights if capacity is not None else weights[by_token]
    places = torch.tensor(by_token)
    sources = torch.tensor([slots[row][1] for row in by_token])
    check("_npu_moe_token_unpermute_with_routing_map", call, (expected, places, sources, shown), **options)


@pytest.mark.parametrize("padded", [False, True])
def test_gradients(kernels: Check, padded: bool) -> None:
    torch.manual_seed(2)
    tokens, probs = (torch.randn(s, dtype=torch.double, requires_grad=True) for s in ((4, 2), (4, 3)))
    count = len(_slots(2 if padded else None))
    options: dict[str, Any] = {"num_out_tokens": count, "drop_and_pad": padded}

    def permute(tokens: torch.Tensor, probs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return npu.npu_moe_token_permute_with_routing_map(tokens, MAP, probs=probs, **options)[:2]

    assert torch.autograd.gradcheck(permute, (tokens, probs))
    indices = npu.npu_moe_token_permute_with_routing_map(tokens, MAP, **options)[2]
    rows = torch.randn(count, 2, dtype=torch.double, requires_grad=True)

    def unpermute(rows: torch.Tensor, probs: torch.Tensor) -> torch.Tensor:
        given = {"probs": probs, "routing_map": MAP, "drop_and_pad": padded}
        return npu.npu_moe_token_unpermute_with_routing_map(rows, indices, [4, 2], **given)

    assert torch.autograd.gradcheck(unpermute, (rows, probs))
    launched = kernels(unpermute(rows, probs).sum().backward)
    assert [k.op_type for k in launched] == ["MoeTokenUnpermuteWithRoutingMapGrad"]


def test_without_probabilities_there_are_none() -> None:
    tokens = torch.randn(4, 5, requires_grad=True)
    rows, weights, indices = npu.npu_moe_token_permute_with_routing_map(tokens, MAP, num_out_tokens=8)
    assert weights is None
    assert torch.equal(npu.npu_moe_token_unpermute_with_routing_map(rows, indices, [4, 5]), 2 * tokens)
    rows.sum().backward()
    assert torch.equal(tokens.grad, torch.full((4, 5), 2.0))
    with pytest.raises(RuntimeError, match="num_out_tokens is 4, but routing_map has 0"):
        npu.npu_moe_token_permute_with_routing_map(tokens, torch.zeros_like(MAP), num_out_tokens=4)


@pytest.mark.parametrize("kind", [0, 1])
def test_tokens_of_ranks_are_sorted_by_expert(check: Check, kind: int) -> None:
    counts, tokens = torch.tensor([[2, 0, 1], [1, 3, 0]]), torch.randn(7, 4)
    scales = torch.rand(7)
    blocks, begin = {}, 0
    for rank in range(2):
        for expert in range(3):
            blocks[rank, expert] = list(range(begin, begin + int(counts[rank, expert])))
            begin += int(counts[rank, expert])
    source = [row for expert in range(3) for rank in range(2) for row in blocks[rank, expert]]
    index = torch.tensor(source if kind == 0 else [source.index(row) for row in range(7)])
    (kernel,) = check(
        "npu_moe_re_routing",
        (tokens, counts),
        (tokens[source], scales[source], index, torch.tensor([3, 3, 1])),
        per_token_scales=scales,
        idx_type=kind,
    )
    assert kernel.op_type == "MoeReRouting"
