"""Attention over chosen blocks of a cache against a loop over pairs in FP64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]
SCALE, BLOCK, HEADS, KEY_HEADS, WIDTH = 0.3, 4, 4, 2, 8
QUERIES, KEYS = [2, 3], [7, 10]


def _operands(dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(7)
    query = torch.randn(5, HEADS, WIDTH, generator=generator).to(dtype)
    key, value = (torch.randn(6, BLOCK, KEY_HEADS, WIDTH, generator=generator).to(dtype) for _ in range(2))
    chosen = torch.tensor(
        [[[0, 1], [1, -1], [2, 0], [2, 1], [0, -1]], [[1, 0], [0, 1], [0, -1], [2, 2], [1, 2]]], dtype=torch.int32
    )
    return query, key, value, chosen, torch.tensor([[5, 0, 0], [2, 3, 1]], dtype=torch.int32)


def _loop(operands: tuple[torch.Tensor, ...], counts: torch.Tensor | None = None) -> tuple[torch.Tensor, int]:
    """Return the outputs and how many pairs the heads attend."""
    query, key, value, chosen, table = operands
    out, pairs = torch.zeros(5, HEADS, WIDTH, dtype=torch.double), 0
    for token in range(5):
        number, place = (0, token) if token < QUERIES[0] else (1, token - QUERIES[0])
        last = KEYS[number] - QUERIES[number] + place
        for head in range(HEADS):
            shared = head // (HEADS // KEY_HEADS)
            blocks = chosen[shared, token].tolist()[: None if counts is None else int(counts[shared, token])]
            seen = sorted({block * BLOCK + slot for block in blocks if block >= 0 for slot in range(BLOCK)})
            places = [(int(table[number, j // BLOCK]), j % BLOCK) for j in seen if j <= last]
            pairs += len(places)
            if places:
                rows = torch.stack([key[block, slot, shared].double() for block, slot in places])
                values = torch.stack([value[block, slot, shared].double() for block, slot in places])
                out[token, head] = (SCALE * rows @ query[token, head].double()).softmax(0) @ values
    return out, pairs


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("counted", [False, True])
def test_attention(check: Check, dtype: torch.dtype, counted: bool) -> None:
    operands = _operands(dtype)
    counts = torch.tensor([[2, 1, 1, 2, 1], [2, 2, 0, 1, 2]], dtype=torch.int32) if counted else None
    lengths = {
        "actual_seq_lengths": torch.tensor(QUERIES, dtype=torch.int32),
        "actual_seq_lengths_kv": torch.tensor(KEYS, dtype=torch.int32),
    }
    out, pairs = _loop(operands, counts)
    options = {"num_key_value_heads": 2, "scale_value": SCALE, "block_size": BLOCK, "top_k": 2}
    (kernel,) = check("npu_sparse_attention_score", operands, out, select_num_idx=counts, **options, **lengths)
    assert (kernel.op_type, kernel.cube_flops) == ("SparseAttentionScore", 4 * WIDTH * pairs)


def test_misuse() -> None:
    operands, options = _operands(torch.float16), {"num_key_value_heads": 2, "block_size": BLOCK}
    with pytest.raises(RuntimeError, match="actual_seq_lengths must be provided"):
        npu.npu_sparse_attention_score(*operands, **options)
    with pytest.raises(RuntimeError, match="select_idx dtype must be int32"):
        npu.npu_sparse_attention_score(*operands[:3], operands[3].long(), operands[4], **options)
    with pytest.raises(RuntimeError, match="num_key_value_heads must match key/value KVHead dim"):
        npu.npu_sparse_attention_score(*operands, num_key_value_heads=4, block_size=BLOCK)
    with pytest.raises(RuntimeError, match="does not compute the argument q_dequant_scale"):
        npu.npu_sparse_attention_score(*operands, q_dequant_scale=torch.ones(1), **options)
