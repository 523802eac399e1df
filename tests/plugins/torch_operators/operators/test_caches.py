"""Caches and scatter against loops over tokens."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]


@pytest.mark.parametrize("mode", ["Norm", "PA_NZ"])
def test_rows_go_to_their_slots(kernels: Check, mode: str) -> None:
    key, value, slots = torch.randn(3, 2, 16), torch.randn(3, 2, 16), torch.tensor([9, -1, 2])
    shape = (3, 4, 2, 16) if mode == "Norm" else (3, 2, 4, 16)
    caches = torch.zeros(shape), torch.zeros(shape)
    (kernel,) = kernels(lambda: npu.npu_scatter_pa_kv_cache(key, value, *caches, slots, cache_mode=mode))
    for rows, cache in ((key, caches[0]), (value, caches[1])):
        expected = torch.zeros(shape)
        for token, slot in ((0, 9), (2, 2)):
            for head in range(2):
                if mode == "Norm":
                    expected[slot // 4, slot % 4, head] = rows[token, head]
                else:
                    expected[slot // 4, head, slot % 4] = rows[token, head]
        assert torch.equal(cache, expected)
    assert (kernel.op_type, kernel.bytes_written) == ("ScatterPaKvCache", 2 * 3 * 2 * 16 * 4)


def test_other_ways_to_write_and_the_way_back() -> None:
    key, value, slots = torch.randn(5, 2, 16), torch.randn(5, 2, 16), torch.tensor([4, 5, 6, 7, 0], dtype=torch.int32)
    caches, again = [torch.zeros(2, 4, 2, 16) for _ in range(2)], torch.zeros(2, 4, 2, 16)
    npu._npu_reshape_and_cache(key, value, *caches, slots)
    npu._npu_reshape_and_cache_siso(key, again, slots)
    assert torch.equal(caches[0][1], key[:4])
    assert torch.equal(caches[1][0, 0], value[4])
    assert torch.equal(again, caches[0])
    found = torch.zeros(4, 2, 16), torch.zeros(4, 2, 16)
    tables, lengths = torch.tensor([[1, 0], [0, 1]], dtype=torch.int32), torch.tensor([3, 1], dtype=torch.int32)
    npu.npu_gather_pa_kv_cache(*caches, tables, lengths, *found, seq_offset=torch.tensor([2, 0], dtype=torch.int32))
    assert torch.equal(found[0], torch.stack((key[2], key[3], key[4], key[4])))
    assert torch.equal(found[1], torch.stack((value[2], value[3], value[4], value[4])))


def test_scatter_of_rows(check: Check, kernels: Check) -> None:
    x, indices, updates = torch.randn(4, 3, 5), torch.tensor([[1, 2], [3, 0]]), torch.randn(2, 5)
    expected = x.clone()
    expected[1, 2], expected[3, 0] = updates
    launched = check("npu_scatter_nd_update", (x.clone(), indices, updates), expected)
    assert [k.op_type for k in launched] == ["TensorMove", "ScatterNdUpdate"]
    (kernel,) = kernels(lambda: npu.npu_scatter_nd_update_(x, indices, updates))
    assert torch.equal(x, expected)
    assert (kernel.op_type, kernel.bytes_written) == ("ScatterNdUpdate", 2 * 5 * 4)


def test_scatter_along_an_axis(check: Check) -> None:
    x, updates = torch.randn(2, 3, 6, 4), torch.randn(2, 3, 2, 4)
    expected = x.clone()
    expected[0, :, 1:3], expected[1, :, 4:6] = updates[0], updates[1]
    check("scatter_update", (x.clone(), torch.tensor([1, 4]), updates, -2), expected)
    assert npu.scatter_update_(x, torch.tensor([1, 4]), updates, 2) is x
    assert torch.equal(x, expected)


def test_partial_attention_is_merged(check: Check) -> None:
    sums, outs = [torch.randn(6) for _ in range(3)], [torch.randn(6, 8) for _ in range(3)]
    weights = torch.stack(sums).double().exp()
    expected = sum(w[:, None] * o.double() for w, o in zip(weights, outs, strict=True)) / weights.sum(0)[:, None]
    (kernel,) = check("npu_attention_update", (sums, outs, 0), (expected, weights.sum(0).log()))
    assert kernel.op_type == "AttentionUpdate"
    assert not math.isnan(float(expected.sum()))


def _ring_parts(shape: tuple[int, ...], statistics: tuple[int, ...]) -> list[torch.Tensor]:
    torch.manual_seed(len(shape))
    parts = []
    for _ in range(2):
        parts += [torch.randn(shape), torch.randn(statistics).unsqueeze(-1).expand(*statistics, 8).contiguous()]
        parts.append((torch.rand(statistics) + 0.5).unsqueeze(-1).expand(*statistics, 8).contiguous())
    return parts


def _ring(out: list[torch.Tensor], maxima: list[torch.Tensor], sums: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Merge outputs [tokens, heads, width] with one maximum and one sum for each token and head."""
    highest = torch.maximum(maxima[0], maxima[1]).double()
    parts = [total.double() * (maximum.double() - highest).exp() for total, maximum in zip(sums, maxima, strict=True)]
    total = parts[0] + parts[1]
    return sum(o.double() * (p / total).unsqueeze(-1) for o, p in zip(out, parts, strict=True)), highest, total  # type: ignore[return-value]


def test_ring_attention_merges_partial_results(check: Check) -> None:
    parts = _ring_parts((4, 2, 6), (2, 3, 4))  # [tokens, batch, heads * width]; [batch, heads, tokens, 8]
    outs = [parts[i].reshape(4, 2, 3, 2) for i in (0, 3)]
    maxima, sums = ([parts[i + first][..., 0].permute(2, 0, 1) for i in (0, 3)] for first in (1, 2))
    merged, highest, total = _ring(outs, maxima, sums)
    back = [t.permute(1, 2, 0).unsqueeze(-1).expand(2, 3, 4, 8) for t in (highest, total)]
    (kernel,) = check("npu_ring_attention_update", parts, (merged.reshape(4, 2, 6), *back))
    assert kernel.op_type == "RingAttentionUpdate"


@pytest.mark.parametrize("by_token", [True, False])
def test_ring_attention_of_packed_sequences(check: Check, by_token: bool) -> None:
    parts = _ring_parts((5, 3, 4), (5, 3))
    options: dict[str, Any] = {"input_layout": "TND", "actual_seq_qlen": torch.tensor([2, 5])}
    given = list(parts)
    if by_token:
        options["input_softmax_layout"] = "TND"
    else:  # heads, then tokens, inside each sequence
        for i in (1, 2, 4, 5):
            rows = [part.transpose(0, 1).reshape(-1, 3, 8) for part in (parts[i][:2], parts[i][2:])]
            given[i] = torch.cat(rows)
    maxima, sums = ([parts[i + first][..., 0] for i in (0, 3)] for first in (1, 2))
    merged, _, _ = _ring([parts[0], parts[3]], maxima, sums)
    highest = torch.maximum(given[1], given[4])
    total = given[2] * (given[1] - highest).exp() + given[5] * (given[4] - highest).exp()
    check("npu_ring_attention_update", given, (merged, highest, total), **options)
