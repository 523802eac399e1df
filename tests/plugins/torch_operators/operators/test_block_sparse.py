"""Attention over listed pairs of blocks against a loop over queries in FP64, and its gradient against autograd."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]
SCALE, BLOCK = 0.3, (2, 3)


def _loop(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return output and logarithms of sums of one sequence, [heads, tokens, width]; two heads share a key."""
    out, sums = torch.zeros(*query.shape, dtype=torch.double), torch.zeros(*query.shape[:-1], 1, dtype=torch.double)
    for head in range(query.shape[0]):
        for i in range(query.shape[1]):
            seen = [j for j in range(key.shape[1]) if mask[head, i // BLOCK[0], j // BLOCK[1]]]
            scores = [SCALE * float(query[head, i].double() @ key[head // 2, j].double()) for j in seen]
            total = sum(math.exp(score) for score in scores)
            sums[head, i] = math.log(total) if seen else -math.inf
            for score, j in zip(scores, seen, strict=True):
                out[head, i] += math.exp(score) / total * value[head // 2, j].double()
    return out, sums


def _operands(queries: int, keys: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    """Return query, key, value of one sequence and the blocks that are attended."""
    generator = torch.Generator().manual_seed(queries)
    query, key, value = (
        torch.randn(heads, tokens, 4, generator=generator).to(dtype)
        for heads, tokens in ((4, queries), (2, keys), (2, keys))
    )
    mask = torch.randint(0, 2, (4, 3, 3), generator=generator, dtype=torch.int8)
    mask[..., 0] = 1
    return query, key, value, mask


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_dense_sequences(check: Check, dtype: torch.dtype) -> None:
    parts = [_operands(5, 7, dtype), _operands(5, 7, dtype)]
    parts[1][3][0, 0] = 0  # a block of queries that attends nothing
    found = [_loop(*part) for part in parts]
    operands = [torch.stack([part[n] for part in parts]) for n in range(4)]
    layout = {"q_input_layout": "BNSD", "kv_input_layout": "BNSD", "num_key_value_heads": 2, "scale_value": SCALE}
    expected = tuple(torch.stack([each[n] for each in found]) for n in range(2))
    (kernel,) = check("npu_block_sparse_attention", (*operands, BLOCK), expected, softmax_lse_flag=1, **layout)
    pairs = sum(
        int(mask[head, i // 2, j // 3]) for *_, mask in parts for head in range(4) for i in range(5) for j in range(7)
    )
    assert (kernel.op_type, kernel.cube_flops) == ("BlockSparseAttention", 4 * 4 * pairs)
    silent = npu.npu_block_sparse_attention(*operands, BLOCK, **layout)[1]
    assert (silent.shape, int(silent.count_nonzero())) == ((2, 4, 5, 1), 0)


def test_packed_sequences(check: Check) -> None:
    parts = [_operands(3, 7), _operands(6, 4)]
    packed = [torch.cat([part[n].transpose(0, 1) for part in parts]) for n in range(3)]
    found = [_loop(*part) for part in parts]
    expected = tuple(torch.cat([each[n].transpose(0, 1) for each in found]) for n in range(2))
    options = {"num_key_value_heads": 2, "scale_value": SCALE, "softmax_lse_flag": 1}
    lengths = {"actual_seq_lengths": [3, 6], "actual_seq_lengths_kv": [7, 4]}
    masks = torch.stack([part[3] for part in parts])
    check("npu_block_sparse_attention", (*packed, masks, BLOCK), expected, **options, **lengths)
    with pytest.raises(RuntimeError, match="actual_seq_lengths_kv must be specified"):
        npu.npu_block_sparse_attention(*packed, masks, BLOCK, actual_seq_lengths=[3, 6], **options)
    with pytest.raises(RuntimeError, match="query, key, value must have the same dtype, got query="):
        npu.npu_block_sparse_attention(packed[0].half(), *packed[1:], masks, BLOCK, **options, **lengths)


def test_gradients(kernels: Callable[..., Any]) -> None:
    operands = [t.double().unsqueeze(0).requires_grad_() for t in _operands(5, 7)[:3]]
    mask = _operands(5, 7)[3].unsqueeze(0)
    layout = {"q_input_layout": "BNSD", "kv_input_layout": "BNSD", "num_key_value_heads": 2, "scale_value": SCALE}

    def out(*operands: torch.Tensor) -> torch.Tensor:
        return npu.npu_block_sparse_attention(*operands, mask, BLOCK, **layout)[0]  # type: ignore[no-any-return]

    assert torch.autograd.gradcheck(out, operands)
    (kernel,) = kernels(lambda: out(*operands).sum().backward())[1:]
    assert kernel.op_type == "BlockSparseAttentionGrad"
