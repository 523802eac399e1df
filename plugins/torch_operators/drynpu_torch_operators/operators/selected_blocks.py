"""Attention over chosen blocks of a paged cache: a list names the blocks that each query's heads attend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from attrs import frozen
from torch import Tensor

from drynpu.kernels import TaskType, ops
from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._heads import Stack
from drynpu_torch_operators.operators._launch import Launch
from drynpu_torch_operators.operators._operator import SIXTEEN_BITS, NpuOperator
from drynpu_torch_operators.operators._softmax import Scoring, attend
from drynpu_torch_operators.operators._values import even_shares, integers
from drynpu_torch_operators.operators.paged import causal, heads_first

SCHEMAS = """
npu_sparse_attention_score(Tensor query, Tensor key, Tensor value, Tensor select_idx, Tensor block_table, *,
    Tensor? select_num_idx=None, Tensor? q_dequant_scale=None, Tensor? k_dequant_scale=None,
    Tensor? v_dequant_scale=None, Tensor? actual_seq_lengths=None, Tensor? actual_seq_lengths_kv=None,
    str q_input_layout="TND", str kv_input_layout="BNSD", int num_key_value_heads=1, float scale_value=1.0,
    int block_size=128, int top_k=16, int inner_precise=0) -> Tensor
"""

_QUERY_DIMS, _CACHE_DIMS, _INDEX_DIMS, _TABLE_DIMS = 3, 4, 3, 2


@frozen(eq=False)
class _Sequence:
    """One sequence: its heads, the pairs that are attended, and the rows of its queries."""

    stack: Stack
    kept: Tensor
    rows: slice


def _check(call: Call) -> None:
    query, key, value, heads = call["query"], call["key"], call["value"], call["num_key_value_heads"]
    text = "npu_sparse_attention_score only supports query TND layout"
    errors.require(call["q_input_layout"] == "TND", text)
    text = f"query only supports TND layout [T,N,D], but got dim {query.dim()}"
    errors.require(query.dim() == _QUERY_DIMS, text)
    for name, cache in (("key", key), ("value", value)):
        text = f"{name} only supports blocked KV layout [blockNum,blockSize,KVHead,D], but got dim {cache.dim()}"
        errors.require(cache.dim() == _CACHE_DIMS, text)
    chosen, table = call["select_idx"], call["block_table"]
    text = f"select_idx must be [KVHead, maxQSeqlen, TopK], but got dim {chosen.dim()}"
    errors.require(chosen.dim() == _INDEX_DIMS, text)
    errors.require(chosen.dtype == torch.int32, "select_idx dtype must be int32.")
    text = f"block_table must be [batch, maxBlocksPerBatch], but got dim {table.dim()}"
    errors.require(table.dim() == _TABLE_DIMS, text)
    text = "num_key_value_heads must match key/value KVHead dim."
    errors.require(heads == key.shape[2] == value.shape[2], text)
    errors.require(chosen.shape[0] == heads, "select_idx dim0 must equal num_key_value_heads.")
    text = "key/value blockSize dim must match block_size."
    errors.require(call["block_size"] == key.shape[1] == value.shape[1], text)
    text = "query heads must be divisible by num_key_value_heads."
    errors.require(query.shape[1] % heads == 0, text)
    text = "query/key/value D dim must be equal."
    errors.require(query.shape[2] == key.shape[3] == value.shape[3], text)
    errors.require(call["top_k"] > 0, "top_k must be positive.")
    for name in ("actual_seq_lengths", "actual_seq_lengths_kv"):
        errors.require(call[name] is not None, f"{name} must be provided.")


def _lengths(call: Call) -> list[tuple[int, int]]:
    """Return how many queries and keys each sequence has; without values the blocks of all are full."""
    parts, blocks = call["block_table"].shape
    queries = integers(call["actual_seq_lengths"], even_shares(call["query"].shape[0], parts))
    keys = integers(call["actual_seq_lengths_kv"], [blocks * call["block_size"]] * parts)
    return list(zip(queries, keys, strict=True))


def _chosen_blocks(call: Call, rows: slice) -> Tensor:
    """Return the numbers of the blocks of some queries, -1 where a query has fewer."""
    numbers: Tensor = call["select_idx"][:, rows].long()
    if call["select_num_idx"] is None:
        return numbers
    places = torch.arange(numbers.shape[2], device=numbers.device)
    return numbers.masked_fill(places >= call["select_num_idx"][:, rows].unsqueeze(2), -1)


def _sequences(call: Call) -> Iterator[_Sequence]:
    """Yield the sequences; the last query of each sees its last key."""
    size, heads, begin = call["block_size"], call["num_key_value_heads"], 0
    for number, (queries, keys) in enumerate(_lengths(call)):
        rows = slice(begin, begin + queries)
        blocks = -(-keys // size)
        table = call["block_table"][number, :blocks].long()
        key, value = (heads_first(call[name][table].flatten(0, 1)[:keys], heads) for name in ("key", "value"))
        stack = Stack(heads_first(call["query"][rows], call["query"].shape[1]), key, value, sequence=number)
        chosen = _chosen_blocks(call, rows)
        listed = torch.zeros(heads, queries, blocks + 1, dtype=torch.bool, device=chosen.device)
        listed.scatter_(2, torch.where(chosen < 0, blocks, chosen.clamp(max=blocks)), True)
        by_key = listed[:, :, :blocks].repeat_interleave(size, 2)[:, :, :keys] & causal(queries, keys, chosen.device)
        yield _Sequence(stack, by_key.repeat_interleave(call["query"].shape[1] // heads, 0).unsqueeze(0), rows)
        begin += queries


def _attention(call: Call) -> Tensor:
    _check(call)
    out = torch.zeros_like(call["query"])
    for each in _sequences(call):
        attended = attend(each.stack, Scoring(scale=call["scale_value"]), each.kept)
        out[each.rows] = attended.out[0].transpose(0, 1).to(out.dtype)
    return out


def _shape(call: Call) -> Tensor:
    _check(call)
    return torch.empty_like(call["query"])


def _pairs(call: Call) -> int:
    """Return how many pairs of a token and a key all heads attend; without values, all pairs of listed blocks."""
    tokens, heads, _ = call["query"].shape
    if call["query"].device.type == "meta":
        return int(tokens * heads * call["select_idx"].shape[2] * call["block_size"])
    return sum(int(each.kept.sum()) for each in _sequences(call))


def _kernels(call: Call) -> Iterable[Launch]:
    """State the kernel, a task for each query and head of the cache; heads that share one read a block once."""
    tokens, heads, width = call["query"].shape
    shared = heads // call["num_key_value_heads"]
    pairs = _pairs(call)
    flops, vector_ops = ops.attention_work(pairs, width, width)
    caches = call.tensors("key", "value")
    others: list[Any] = [t for t in call.inputs if not any(t is cache for cache in caches)]
    read = sum(t.numel() * t.element_size() for t in others)
    yield Launch(
        kernel="SparseAttentionScore",
        inputs=call.inputs,
        outputs=call.outputs,
        task=TaskType.MIX_AIC,
        cost=1,
        over=vector_ops,
        read=read + pairs // shared * 2 * width * caches[0].element_size(),
        flops=flops,
        tiles=max(tokens * call["num_key_value_heads"], 1),
    )


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_sparse_attention_score": NpuOperator(
        compute=_attention,
        shapes=_shape,
        kernels=_kernels,
        left_out=("q_dequant_scale", "k_dequant_scale", "v_dequant_scale"),
        dtypes=SIXTEEN_BITS,
    ),
}
