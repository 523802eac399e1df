"""Attention over packed prompts and over the blocks of a cache, against softmax in FP64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from drynpu.kernels import TaskType

npu = torch.ops.npu
Check = Callable[..., Any]
SCALE, BLOCK = 0.3, 4


def _attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, shift: torch.Tensor | None = None
) -> torch.Tensor:
    """Attend one sequence, [tokens, heads, width], in FP64; *shift* is added to the scores."""
    out = torch.zeros(query.shape[0], query.shape[1], value.shape[2], dtype=torch.double)
    for head in range(query.shape[1]):
        shared = head // (query.shape[1] // key.shape[1])
        scores = SCALE * query[:, head].double() @ key[:, shared].double().t()
        out[:, head] = (scores if shift is None else scores + shift.double()).softmax(-1) @ value[:, shared].double()
    return out


def _causal(queries: int, keys: int) -> torch.Tensor:
    rows = torch.arange(queries).unsqueeze(1) + keys - queries
    return torch.zeros(queries, keys).masked_fill(torch.arange(keys) > rows, -math.inf)


def _prompts() -> tuple[list[int], tuple[torch.Tensor, ...]]:
    torch.manual_seed(3)
    return [3, 5], (torch.randn(8, 4, 16), torch.randn(8, 2, 16), torch.randn(8, 2, 24))


def _close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found.double(), expected.reshape(found.shape), rtol=0, atol=2e-6)


MASKS = {
    "negative numbers": torch.triu(torch.full((5, 5), -10000.0), 1),
    "ones": torch.triu(torch.ones(5, 5), 1).bfloat16(),
    "for each sequence": torch.stack([torch.triu(torch.full((5, 5), -10000.0), 1)] * 2),
}


@pytest.mark.parametrize("mask", MASKS)
def test_prompts_with_a_mask(kernels: Check, mask: str) -> None:
    lengths, (query, key, value) = _prompts()
    out = torch.zeros(8, 4, 24)
    call = (query, key, value, MASKS[mask], torch.tensor(lengths, dtype=torch.int32), SCALE, 4, 2, out)
    (kernel,) = kernels(lambda: npu._npu_flash_attention(*call))
    parts = [_attention(query[s], key[s], value[s], _causal(n, n)) for s, n in ((slice(3), 3), (slice(3, 8), 5))]
    _close(out, torch.cat(parts))
    assert (kernel.op_type, kernel.task_type) == ("UnpadFlashAttentionNdKernel", TaskType.MIX_AIC)
    assert kernel.cube_flops == 2 * 4 * (3 * 3 + 5 * 5) * (16 + 24)


def test_prompts_whose_mask_is_a_pattern_or_missing(kernels: Check) -> None:
    lengths, (query, key, value) = _prompts()
    sizes, pattern = torch.tensor(lengths, dtype=torch.int32), torch.zeros(1, 8, 128, 16)
    causal, whole, flat = (torch.zeros(8, 96) for _ in range(3))
    (kernel,) = kernels(lambda: npu._npu_flash_attention_v3(query, key, value, pattern, sizes, SCALE, 4, 2, out=causal))
    npu._npu_flash_attention_unpad(query, key, value, sizes, SCALE, 4, 2, whole)
    flat_query, flat_key, flat_value = (t.flatten(1) for t in (query, key, value))
    npu._npu_flash_attention_unpad_v2(flat_query, flat_key, flat_value, sizes, SCALE, 4, 2, kernel_type=2, out=flat)
    pieces = ((slice(3), 3), (slice(3, 8), 5))
    _close(causal, torch.cat([_attention(query[s], key[s], value[s], _causal(n, n)) for s, n in pieces]))
    _close(whole, torch.cat([_attention(query[s], key[s], value[s]) for s, _ in pieces]))
    assert torch.equal(whole, flat)
    # A causal pattern leaves out the pairs behind the diagonal.
    assert kernel.cube_flops == 2 * 4 * (6 + 15) * (16 + 24)


def test_misuse_of_kinds() -> None:
    lengths, (query, key, value) = _prompts()
    sizes, out = torch.tensor(lengths), torch.zeros(8, 96)
    with pytest.raises(RuntimeError, match="mask_type only supports MASK_TYPE_NORM_COMPRESS, but got: 1"):
        npu._npu_flash_attention_v3(query, key, value, query, sizes, SCALE, 4, 2, mask_type=1, out=out)
    with pytest.raises(RuntimeError, match=r"kernel_type only supports .*, but got: 1"):
        npu._npu_flash_attention_unpad_v2(query, key, value, sizes, SCALE, 4, 2, kernel_type=1, out=out)


def _cached(rows: torch.Tensor, table: list[int], cache: torch.Tensor) -> None:
    """Write the tokens of a sequence to its blocks, [block, slot, head, width]."""
    for token, row in enumerate(rows):
        cache[table[token // BLOCK], token % BLOCK] = row


def _in_cache(lengths: list[int], value_width: int = 24) -> tuple[list[torch.Tensor], ...]:
    torch.manual_seed(4)
    tables = [[3, 0], [2, 1]]
    caches = [torch.full((4, BLOCK, 2, width), 50.0) for width in (16, value_width)]
    keys, values = ([torch.randn(n, 2, width) for n in lengths] for width in (16, value_width))
    for parts, cache in ((keys, caches[0]), (values, caches[1])):
        for rows, table in zip(parts, tables, strict=True):
            _cached(rows, table, cache)
    return keys, values, caches, [torch.tensor(tables, dtype=torch.int32)]


@pytest.mark.parametrize("fractal", [False, True])
def test_one_query_for_each_sequence(kernels: Check, fractal: bool) -> None:
    lengths = [7, 2]
    keys, values, caches, (table,) = _in_cache(lengths, 32)
    if fractal:  # [block, heads * width / 16, slot, 16]
        caches = [c.flatten(2).reshape(4, BLOCK, -1, 16).transpose(1, 2).contiguous() for c in caches]
    query, out = torch.randn(2, 4, 16), torch.zeros(2, 4, 32)
    call = (query, *caches, 2, 4, SCALE, table, torch.tensor(lengths, dtype=torch.int32), out)
    assert npu._npu_paged_attention_get_workspace(*call).dtype is torch.uint8
    (kernel,) = kernels(lambda: npu._npu_paged_attention(*call))
    _close(out, torch.cat([_attention(query[b : b + 1], keys[b], values[b]) for b in range(2)]))
    assert (kernel.op_type, kernel.task_type) == ("PagedAttentionMaskNdKernel", TaskType.MIX_AIC)
    # Of the caches only the tokens of the sequences are read.
    others = query.nbytes + table.nbytes + 8
    assert kernel.bytes_read == others + 4 * 2 * (7 + 2) * (16 + 32)


@pytest.mark.parametrize("name", ["_npu_paged_attention_splitfuse", "_npu_paged_attention_splitfuse_v2"])
@pytest.mark.parametrize("rows", [True, False])
def test_chunks_of_prompts(name: str, rows: bool) -> None:
    lengths, queries = [6, 5], [2, 3]
    keys, values, caches, (table,) = _in_cache(lengths)
    query, out = torch.randn(5, 4, 16), torch.zeros(5, 4, 24)
    shifts = [_causal(q, k) for q, k in zip(queries, lengths, strict=True)]
    mask = torch.zeros(5, 6)
    mask[:2], mask[2:, :5] = shifts[0], shifts[1]
    given = mask if rows else torch.triu(torch.full((128, 128), -10000.0), 1)  # the pattern of a causal mask
    sizes = [torch.tensor(each, dtype=torch.int32) for each in (lengths, queries)]
    options = {"out": out} if name.endswith("v2") else {}
    call = (query, *caches, table, sizes[0], given, sizes[1], 2, 4, SCALE, *(() if options else (out,)))
    getattr(npu, name)(*call, **options)
    parts = [_attention(query[s], keys[b], values[b], shifts[b]) for b, s in enumerate((slice(2), slice(2, 5)))]
    _close(out, torch.cat(parts))


def test_prompts_behind_a_cached_prefix(kernels: Check) -> None:
    lengths, queries = [6, 5], [4, 1]
    keys, values, caches, (table,) = _in_cache(lengths)
    query, out = torch.randn(5, 4, 16), torch.zeros(5, 4, 24)
    sizes = [torch.tensor(each, dtype=torch.int32) for each in (queries, lengths)]
    call = (query, *caches, table, torch.zeros(128, 128), *sizes, 2, 4, SCALE, out)
    (kernel,) = kernels(lambda: npu._npu_flash_attention_qlens(*call))
    parts = [
        _attention(query[s], keys[b], values[b], _causal(queries[b], lengths[b]))
        for b, s in enumerate((slice(4), slice(4, 5)))
    ]
    _close(out, torch.cat(parts))
    assert kernel.op_type == "UnpadFlashAttentionNdKernel"


def test_latent_cache_holds_the_values(kernels: Check) -> None:
    lengths = [7, 2]
    keys, _, caches, (table,) = _in_cache(lengths)
    query, out = torch.randn(2, 4, 16), torch.zeros(2, 4, 12)
    sizes = torch.tensor(lengths, dtype=torch.int32)
    (kernel,) = kernels(lambda: npu._npu_paged_attention_mla(query, caches[0], 2, 4, SCALE, table, sizes, 12, out))
    _close(out, torch.cat([_attention(query[b : b + 1], keys[b], keys[b][..., :12]) for b in range(2)]))
    assert kernel.bytes_read == query.nbytes + table.nbytes + 8 + 4 * 2 * (7 + 2) * 16
