"""Attention of the boost library whose lengths are numbers of the host, against softmax in FP64; loads from caches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]
SCALE, BLOCK, WIDTH = 0.3, 4, 8
SLOPES = [-0.5, -0.25, -0.125, -0.75]
ALIBI, PATTERN, SLOPED, ROOTS = 2, 3, 4, 5


def _attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, added: Callable[..., float]
) -> torch.Tensor:
    """Attend one sequence, [tokens, heads, width], pair by pair; *added* gives what joins the score of a pair."""
    out = torch.zeros(query.shape[0], query.shape[1], value.shape[2], dtype=torch.double)
    for head in range(query.shape[1]):
        shared = head // (query.shape[1] // key.shape[1])
        for i in range(query.shape[0]):
            scores = [
                SCALE * float(query[i, head].double() @ key[j, shared].double()) + added(head, i, j)
                for j in range(key.shape[0])
            ]
            weights = torch.tensor(scores, dtype=torch.double).softmax(0)
            out[i, head] = weights @ value[:, shared].double()
    return out


def _causal(before: int, root: bool = False, slopes: bool = True) -> Callable[..., float]:
    """Return what a causal mask and slopes add where *before* keys stand before the first query."""

    def added(head: int, i: int, j: int) -> float:
        distance = i + before - j
        if distance < 0:
            return -math.inf
        return SLOPES[head] * (math.sqrt(distance) if root else distance) if slopes else 0.0

    return added


def _rows(tokens: int, heads: int, seed: int) -> torch.Tensor:
    return torch.randn(tokens, heads, WIDTH, generator=torch.Generator().manual_seed(seed))


def _prompts() -> tuple[list[slice], list[int], tuple[torch.Tensor, ...]]:
    lengths = [3, 5]
    operands = tuple(_rows(8, heads, seed) for seed, heads in ((1, 4), (2, 2), (3, 2)))
    return [slice(0, 3), slice(3, 8)], lengths, operands


@pytest.mark.parametrize(("kind", "root"), [(SLOPED, False), (ROOTS, True)])
def test_prompts_with_slopes(kernels: Check, kind: int, root: bool) -> None:
    parts, lengths, (query, key, value) = _prompts()
    out = torch.zeros(8, 4, WIDTH)
    options = {"slopes": torch.tensor(SLOPES), "mask": torch.zeros(4, 4), "num_heads": 4, "num_kv_heads": 2}
    call = {"mask_type": kind, "scale_value": SCALE, "out": out} | options
    (kernel,) = kernels(lambda: npu._npu_flash_attention_v2(query, key, value, lengths, **call))
    expected = torch.cat([_attention(query[part], key[part], value[part], _causal(0, root)) for part in parts])
    torch.testing.assert_close(out.double(), expected, rtol=0, atol=2e-6)
    assert (kernel.op_type, kernel.cube_flops) == ("UnpadFlashAttentionNdKernel", 4 * 4 * WIDTH * (6 + 15))


def test_prompts_with_a_mask_of_positions() -> None:
    parts, lengths, (query, key, value) = _prompts()
    mask = torch.randn(2, 4, 6, 6, generator=torch.Generator().manual_seed(9))
    out = torch.zeros(8, 4, WIDTH)
    options = {"mask": mask, "num_heads": 4, "num_kv_heads": 2, "scale_value": SCALE}
    found = npu._npu_flash_attention_v2(query, key, value, torch.tensor(lengths), mask_type=ALIBI, out=out, **options)
    assert found is out
    expected = [
        _attention(query[part], key[part], value[part], lambda h, i, j, n=n: float(mask[n, h, i, j]))
        for n, part in enumerate(parts)
    ]
    torch.testing.assert_close(out.double(), torch.cat(expected), rtol=0, atol=2e-6)


def _cache() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return caches of keys and values and the blocks of two sequences."""
    caches = [torch.randn(6, BLOCK, 2, WIDTH, generator=torch.Generator().manual_seed(seed)) for seed in (4, 5)]
    return caches[0], caches[1], torch.tensor([[5, 0], [2, 3]], dtype=torch.int32)


def _held(cache: torch.Tensor, table: torch.Tensor, length: int) -> torch.Tensor:
    return torch.stack([cache[table[j // BLOCK], j % BLOCK] for j in range(length)])


@pytest.mark.parametrize("kind", [PATTERN, ROOTS])
def test_prompts_behind_what_a_cache_holds(kind: int) -> None:
    key, value, table = _cache()
    query, out = _rows(5, 4, 1), torch.zeros(5, 4, WIDTH)
    options = {"slopes": torch.tensor(SLOPES), "num_heads": 4, "num_kv_heads": 2, "scale_value": SCALE}
    mask = torch.zeros(4, 4)
    call = (query, key, value, table, mask, [2, 3], [5, 8])
    npu._npu_flash_attention_prefix_v2(*call, mask_type=kind, out=out, **options)
    expected = [
        _attention(query[rows], _held(key, blocks, length), _held(value, blocks, length), added)
        for rows, blocks, length, added in (
            (slice(0, 2), table[0], 5, _causal(3, root=True, slopes=kind == ROOTS)),
            (slice(2, 5), table[1], 8, _causal(5, root=True, slopes=kind == ROOTS)),
        )
    ]
    torch.testing.assert_close(out.double(), torch.cat(expected), rtol=0, atol=2e-6)


@pytest.mark.parametrize("masked", [False, True])
def test_decoding(kernels: Check, masked: bool) -> None:
    key, value, table = _cache()
    query, out = _rows(2, 4, 1), torch.zeros(2, 4, WIDTH)
    mask = torch.randn(2, 4, 1, 8, generator=torch.Generator().manual_seed(9))
    options = {"value_cache": value, "num_heads": 4, "num_kv_heads": 2, "scale_value": SCALE, "out": out}
    options |= {"mask": mask, "mask_type": ALIBI} if masked else {}
    assert npu._npu_paged_attention_v2_get_workspace(query, key, table, [5, 7], **options).dtype == torch.uint8
    (kernel,) = kernels(lambda: npu._npu_paged_attention_v2(query, key, table, [5, 7], **options))

    def added(number: int) -> Callable[..., float]:
        return lambda head, i, j: float(mask[number, head, i, j]) if masked else 0.0

    expected = [
        _attention(query[n : n + 1], _held(key, table[n], length), _held(value, table[n], length), added(n))
        for n, length in enumerate((5, 7))
    ]
    torch.testing.assert_close(out.double(), torch.cat(expected), rtol=0, atol=2e-6)
    assert (kernel.op_type, kernel.cube_flops) == ("PagedAttentionMaskNdKernel", 4 * 4 * WIDTH * 12)
    on_meta = {name: v.to("meta") if isinstance(v, torch.Tensor) else v for name, v in options.items()}
    shown = npu._npu_paged_attention_v2(query.to("meta"), key.to("meta"), table.to("meta"), [5, 7], **on_meta)
    assert shown.shape == out.shape


def test_masks_that_are_unknown_or_missing() -> None:
    key, value, table = _cache()
    query, out = _rows(2, 4, 1), torch.zeros(2, 4, WIDTH)
    options = {"value_cache": value, "num_heads": 4, "num_kv_heads": 2, "out": out}
    with pytest.raises(RuntimeError, match="mask_type should be one of 0, 2, but got: 3"):
        npu._npu_paged_attention_v2(query, key, table, [5, 7], mask_type=3, **options)
    with pytest.raises(RuntimeError, match="mask must be given with mask_type 2"):
        npu._npu_paged_attention_v2(query, key, table, [5, 7], mask_type=ALIBI, **options)


@pytest.mark.parametrize(("lengths", "cumulative"), [([5, 0, 3], False), ([5, 5, 8], True)])
def test_load_from_a_cache(check: Check, lengths: list[int], cumulative: bool) -> None:
    key, value = (torch.randn(6, BLOCK, 1, width).half() for width in (6, 2))
    table = torch.tensor([[5, 0, 4], [2, 3, 1], [1, 4, 2]], dtype=torch.int32)
    starts = torch.tensor([4, 0, 5], dtype=torch.int32)  # a block each, but for the second
    expected = tuple(
        torch.cat([_held(cache, table[0, 1:], 5), _held(cache, table[2, 1:], 3)]) for cache in (key, value)
    )
    call = (key, value, table, torch.tensor(lengths, dtype=torch.int32))
    outs = {"key": torch.zeros(8, 1, 6).half(), "value": torch.zeros(8, 1, 2).half()}
    (kernel,) = check("npu_paged_cache_load", call, expected, seq_starts=starts, cumsum=cumulative, **outs)
    assert kernel.op_type == "PagedCacheLoadNdKernel"
    found = npu.npu_paged_cache_load(*call, seq_starts=starts, cumsum=cumulative)
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
    with pytest.raises(RuntimeError, match="negative value encountered"):
        npu.npu_paged_cache_load(key, value, table, torch.tensor([1, -1, 2], dtype=torch.int32))
