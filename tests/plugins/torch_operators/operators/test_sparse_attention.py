"""Sparse attention and its indexer against loops over queries in FP64, and their gradients against autograd."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]
SCALE = 0.4


def _sees(i: int, j: int, queries: int, keys: int, mode: int) -> bool:
    return mode == 0 or j <= i + keys - queries


def _index(
    query: torch.Tensor, key: torch.Tensor, weights: torch.Tensor, count: int, mode: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the best keys of each query and their scores, -1 and -inf where there are no more."""
    found = torch.full((query.shape[0], count), -1)
    scores = torch.full((query.shape[0], count), -math.inf, dtype=torch.double)
    for i, row in enumerate(query.double()):
        rated = []
        for j, one in enumerate(key[:, 0].double()):
            if _sees(i, j, query.shape[0], key.shape[0], mode):
                score = sum(weights[i, h].double() * max(row[h] @ one, torch.tensor(0.0)) for h in range(row.shape[0]))
                rated.append((float(score), j))
        for place, (score, j) in enumerate(sorted(rated, key=lambda pair: (-pair[0], pair[1]))[:count]):
            found[i, place], scores[i, place] = j, score
    return found, scores


def _operands(queries: int, keys: int, width: int = 8) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(queries)
    return torch.randn(queries, 3, width), torch.randn(keys, 1, width), torch.randn(queries, 3)


@pytest.mark.parametrize("mode", [0, 3])
def test_index_of_a_batch(check: Check, mode: int) -> None:
    parts = [_operands(4, 6), _operands(4, 6)]
    found = [_index(*part, 5, mode) for part in parts]
    operands = [torch.stack([part[n] for part in parts]) for n in range(3)]
    expected = [torch.stack([each[n] for each in found]).unsqueeze(2) for n in range(2)]
    options = {"sparse_count": 5, "sparse_mode": mode, "return_value": True}
    (kernel,) = check("npu_lightning_indexer", operands, (expected[0].int(), expected[1]), **options)
    assert (kernel.op_type, kernel.cube_flops) == ("LightningIndexer", 2 * 2 * 3 * 4 * 6 * 8)


def test_index_of_packed_queries_over_blocks(check: Check) -> None:
    parts = [_operands(2, 7), _operands(3, 5)]
    block, table = 4, torch.tensor([[2, 0], [3, 1]], dtype=torch.int32)
    cache = torch.full((4, block, 1, 8), 9.0)
    for b, part in enumerate(parts):
        for token, row in enumerate(part[1]):
            cache[table[b, token // block], token % block] = row
    found = torch.cat([_index(*part, 6, 3)[0] for part in parts]).unsqueeze(1)
    query, weights = (torch.cat([part[n] for part in parts]) for n in (0, 2))
    ends, lengths = torch.tensor([2, 5], dtype=torch.int32), torch.tensor([7, 5], dtype=torch.int32)
    options = {
        "actual_seq_lengths_query": ends,
        "actual_seq_lengths_key": lengths,
        "block_table": table,
        "layout_query": "TND",
        "layout_key": "PA_BSND",
        "sparse_count": 6,
    }
    check("npu_lightning_indexer", (query, cache, weights), (found.int(), (torch.float32, (0,))), **options)


def test_gradient_of_the_index() -> None:
    query, key, weights = (t.double().unsqueeze(0).requires_grad_() for t in _operands(4, 6))

    def values(*operands: torch.Tensor) -> torch.Tensor:
        found = npu.npu_lightning_indexer(*operands, sparse_count=3, sparse_mode=0, return_value=True)[1]
        assert found.isfinite().all()
        return found

    assert torch.autograd.gradcheck(values, (query, key, weights))
    indices, _ = npu.npu_lightning_indexer(query, key, weights, sparse_count=3)
    assert not indices.requires_grad


def _sparse(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, listed: torch.Tensor, block: int, mode: int
) -> torch.Tensor:
    """Attend [tokens, heads, width] to the keys in listed blocks, in the type of the query."""
    rows = []
    for i in range(query.shape[0]):
        heads = []
        for h in range(query.shape[1]):
            shared = h // (query.shape[1] // key.shape[1])
            blocks = {int(number) for number in listed[i, shared] if number >= 0}
            js = [j for j in range(key.shape[0]) if j // block in blocks and _sees(i, j, len(query), len(key), mode)]
            if not js:
                heads.append(query.new_zeros(value.shape[-1]))
                continue
            heads.append((SCALE * key[js, shared] @ query[i, h]).softmax(0) @ value[js, shared])
        rows.append(torch.stack(heads))
    return torch.stack(rows)


def _lists(queries: int, heads: int, blocks: int) -> torch.Tensor:
    torch.manual_seed(queries + blocks)
    listed = torch.stack([torch.randperm(blocks)[:3] for _ in range(queries * heads)]).reshape(queries, heads, 3)
    listed[0, :, 2] = -1
    return listed.int()


@pytest.mark.parametrize(("block", "mode"), [(1, 3), (2, 0), (2, 3)])
def test_attention_of_a_batch(check: Check, block: int, mode: int) -> None:
    torch.manual_seed(block)
    query, rope = torch.randn(2, 4, 4, 8), torch.randn(2, 4, 4, 2)
    key, key_rope, value = torch.randn(2, 7, 2, 8), torch.randn(2, 7, 2, 2), torch.randn(2, 7, 2, 6)
    listed = torch.stack([_lists(4, 2, -(-7 // block)), _lists(4, 2, -(-5 // block))])
    lengths = torch.tensor([7, 5], dtype=torch.int32)
    joined = torch.cat((query, rope), -1).double(), torch.cat((key, key_rope), -1).double()
    parts = [
        _sparse(joined[0][b], joined[1][b, :n], value[b, :n].double(), listed[b], block, mode)
        for b, n in enumerate((7, 5))
    ]
    options = {"query_rope": rope, "key_rope": key_rope, "sparse_block_size": block, "sparse_mode": mode}
    (kernel,) = check(
        "npu_sparse_flash_attention",
        (query, key, value, listed, SCALE),
        (torch.stack(parts), *[(torch.float32, (0,))] * 2),
        actual_seq_lengths_kv=lengths,
        **options,
    )
    assert kernel.op_type == "SparseFlashAttention"
    dense = 2 * 2 * 4 * 4 * 7 * (10 + 6) / 2
    assert 0 < kernel.cube_flops < 2 * dense


def test_attention_of_packed_queries_over_blocks() -> None:
    torch.manual_seed(1)
    query, key = torch.randn(5, 4, 8), [torch.randn(7, 1, 8), torch.randn(4, 1, 8)]
    block, table = 4, torch.tensor([[2, 0], [3, 1]], dtype=torch.int32)
    cache = torch.full((4, block, 1, 8), 9.0)
    for b, rows in enumerate(key):
        for token, row in enumerate(rows):
            cache[table[b, token // block], token % block] = row
    listed = torch.cat((_lists(2, 1, 7), _lists(3, 1, 4)))
    out, maximum, total = npu.npu_sparse_flash_attention(
        *(query, cache, cache, listed, SCALE),
        block_table=table,
        actual_seq_lengths_query=torch.tensor([2, 5], dtype=torch.int32),
        actual_seq_lengths_kv=torch.tensor([7, 4], dtype=torch.int32),
        layout_query="TND",
        layout_kv="PA_BSND",
        attention_mode=2,
        return_softmax_lse=True,
    )
    pieces = ((slice(2), 0), (slice(2, 5), 1))
    parts = [_sparse(query[s].double(), key[b].double(), key[b].double(), listed[s], 1, 3) for s, b in pieces]
    torch.testing.assert_close(out.double(), torch.cat(parts), rtol=0, atol=1e-5)
    assert maximum.shape == total.shape == (1, 5, 4)


def test_gradients_of_the_attention(kernels: Check) -> None:
    torch.manual_seed(6)
    shapes = ((1, 4, 4, 8), (1, 6, 2, 8), (1, 6, 2, 5), (1, 4, 4, 2), (1, 6, 2, 2))
    tensors = [torch.randn(shape, dtype=torch.double, requires_grad=True) for shape in shapes]
    listed = _lists(4, 2, 6).unsqueeze(0)

    def attention(query: Any, key: Any, value: Any, rope: Any, key_rope: Any) -> torch.Tensor:
        options = {"query_rope": rope, "key_rope": key_rope, "return_softmax_lse": True}
        return npu.npu_sparse_flash_attention(query, key, value, listed, SCALE, **options)[0]

    def formula(query: Any, key: Any, value: Any, rope: Any, key_rope: Any) -> torch.Tensor:
        joined = torch.cat((query, rope), -1)[0], torch.cat((key, key_rope), -1)[0]
        return _sparse(*joined, value[0], listed[0], 1, 3).unsqueeze(0)

    grad = torch.randn(1, 4, 4, 5, dtype=torch.double)
    wanted = torch.autograd.grad(formula(*tensors), tensors, grad)
    found: list[Any] = []
    launched = kernels(lambda: found.append(torch.autograd.grad(attention(*tensors), tensors, grad)))
    for one, other in zip(found[0], wanted, strict=True):
        torch.testing.assert_close(one, other)
    assert [k.op_type for k in launched] == ["SparseFlashAttention", "SparseFlashAttentionGrad"]


MISUSE: list[tuple[dict[str, Any], str]] = [
    ({"layout_query": "SBH"}, "Not support layout of query: SBH"),
    ({"layout_query": "TND"}, "When the layout of query is TND, the query dimension must be 3, but got 4"),
    ({"sparse_mode": 1}, "sparse_mode should be 0 or 3, but got 1"),
    ({"layout_kv": "PA_BSND"}, "block_table and the lengths of the keys are needed"),
]


@pytest.mark.parametrize(("change", "text"), MISUSE)
def test_misuse(change: dict[str, Any], text: str) -> None:
    x, listed = torch.randn(1, 2, 2, 8), torch.zeros(1, 2, 1, 1, dtype=torch.int32)
    with pytest.raises(RuntimeError, match=text):
        npu.npu_sparse_flash_attention(x, x[:, :, :1], x[:, :, :1], listed, SCALE, **change)
    with pytest.raises(RuntimeError, match="sparse_count should be greater than 0, but got 0"):
        npu.npu_lightning_indexer(x, x[:, :, :1], x[..., 0], sparse_count=0)
    assert math.isfinite(npu.npu_sparse_flash_attention(x, x[:, :, :1], x[:, :, :1], listed, SCALE)[0].sum())
