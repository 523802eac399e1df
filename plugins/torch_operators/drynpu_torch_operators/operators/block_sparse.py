"""Attention over pairs of blocks: a mask names the blocks of keys that each block of queries attends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from attrs import frozen
from torch import Tensor

from drynpu.kernels import TaskType, ops
from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._heads import PACKED, Stack
from drynpu_torch_operators.operators._launch import Launch
from drynpu_torch_operators.operators._numbers import wide, wide_dtype
from drynpu_torch_operators.operators._operator import SIXTEEN_BITS, Gradient, NpuOperator
from drynpu_torch_operators.operators._softmax import Attended, Scoring, attend, attend_backward

SCHEMAS = """
npu_block_sparse_attention(Tensor query, Tensor key, Tensor value, Tensor block_sparse_mask, int[] block_shape, *,
    str q_input_layout='TND', str kv_input_layout='TND', int num_key_value_heads=1, float scale_value=0.0,
    int inner_precise=1, int[]? actual_seq_lengths=None, int[]? actual_seq_lengths_kv=None,
    int? softmax_lse_flag=0) -> (Tensor, Tensor)
npu_block_sparse_attention_backward(Tensor d_out, Tensor query, Tensor key, Tensor value, Tensor attention_out,
    Tensor softmax_lse, Tensor block_sparse_mask, int[]? block_shape, int[]? actual_seq_lengths,
    int[]? actual_seq_lengths_kv, str q_input_layout, str kv_input_layout, int num_key_value_heads,
    float scale_value) -> (Tensor, Tensor, Tensor)
"""

_DENSE = "BNSD"
_BLOCK = 128
"""Rows and columns of a block of which no shape is given."""


@frozen(eq=False)
class _Sequence:
    """One sequence: its heads, the pairs that are attended, and the index of its tokens in queries and in keys."""

    stack: Stack
    kept: Tensor
    rows: tuple[Any, ...]
    places: tuple[Any, ...]


def _check(call: Call) -> None:
    query, key, value = (call[name] for name in ("query", "key", "value"))
    types = f"query={query.dtype}, key={key.dtype}, value={value.dtype}"
    text = f"query, key, value must have the same dtype, got {types}"
    errors.require(query.dtype == key.dtype == value.dtype, text)
    for name, lengths in (("q_input_layout", "actual_seq_lengths"), ("kv_input_layout", "actual_seq_lengths_kv")):
        layout = call[name]
        errors.require(layout in (PACKED, _DENSE), f"{name} should be TND or BNSD, but got {layout}")
        errors.require(layout == _DENSE or call[lengths] is not None, f"{lengths} must be specified when layout is TND")
    text = "drynpu computes npu_block_sparse_attention with one layout of queries and keys"
    errors.require(call["q_input_layout"] == call["kv_input_layout"], text, errors.NOT_SUPPORTED)


def _index(layout: str, lengths: Sequence[int] | None, tensor: Tensor) -> list[tuple[Any, ...]]:
    """Return the index of each sequence in a tensor, [tokens, heads, width] or [batch, heads, tokens, width]."""
    if layout == _DENSE:
        each = lengths or [tensor.shape[2]] * tensor.shape[0]
        return [(number, slice(None), slice(length)) for number, length in enumerate(each)]
    ends = [sum((lengths or ())[: number + 1]) for number in range(len(lengths or ()))]
    return [(slice(begin, end),) for begin, end in zip([0, *ends], ends, strict=False)]


def _heads_first(tensor: Tensor, layout: str) -> Tensor:
    return tensor if layout == _DENSE else tensor.transpose(0, 1)


def _sequences(call: Call) -> Iterator[_Sequence]:
    """Yield the sequences; a pair is attended where its blocks are, for the head of the query."""
    layout = call["q_input_layout"]
    rows = _index(layout, call["actual_seq_lengths"], call["query"])
    places = _index(layout, call["actual_seq_lengths_kv"], call["key"])
    down, across = call["block_shape"] or (_BLOCK, _BLOCK)
    for number, (row, place) in enumerate(zip(rows, places, strict=True)):
        parts = (call["query"][row], call["key"][place], call["value"][place])
        query, key, value = (_heads_first(part, layout).unsqueeze(0) for part in parts)
        stack = Stack(query, key, value, sequence=number)
        blocks = call["block_sparse_mask"][number].bool()
        kept = blocks.repeat_interleave(down, 1).repeat_interleave(across, 2)
        queries, keys = stack.lengths
        yield _Sequence(stack, kept[None, :, :queries, :keys], row, place)


def _attention(call: Call) -> tuple[Tensor, Tensor]:
    _check(call)
    out, sums = _attention_shapes(call)
    out.zero_()
    sums.zero_()
    layout = call["q_input_layout"]
    for each in _sequences(call):
        attended = attend(each.stack, Scoring(scale=call["scale_value"]), each.kept)
        out[each.rows] = _heads_first(attended.out[0], layout).to(out.dtype)
        if call["softmax_lse_flag"]:
            sums[each.rows] = _heads_first(attended.log_sum[0], layout)
    return out, sums


def _attention_shapes(call: Call) -> tuple[Tensor, Tensor]:
    query: Tensor = call["query"]
    return torch.empty_like(query), query.new_empty(*query.shape[:-1], 1, dtype=wide_dtype(query))


def _backward(call: Call) -> tuple[Tensor, ...]:
    _check(call)
    layout, scoring = call["q_input_layout"], Scoring(scale=call["scale_value"])
    names = ("query", "key", "value")
    dquery, dkey, dvalue = (torch.zeros_like(wide(call[name])) for name in names)
    for each in _sequences(call):
        out, grad = (
            _heads_first(wide(call[name][each.rows]), layout).unsqueeze(0) for name in ("attention_out", "d_out")
        )
        # The sums of exponentials are computed again, because softmax_lse is not filled without its flag.
        attended = attend(each.stack, scoring, each.kept)
        grads = attend_backward(
            each.stack, scoring, each.kept, None, Attended(out, attended.maximum, attended.total), grad
        )
        dquery[each.rows] = _heads_first(grads.query[0], layout)
        dkey[each.places] = _heads_first(grads.key[0], layout)
        dvalue[each.places] = _heads_first(grads.value[0], layout)
    return tuple(grad.to(call[name].dtype) for name, grad in zip(names, (dquery, dkey, dvalue), strict=True))


def _backward_shapes(call: Call) -> tuple[Tensor, ...]:
    return tuple(torch.empty_like(call[name]) for name in ("query", "key", "value"))


def _gradient(call: Call, grad: Tensor, *others: Any) -> Mapping[str, Tensor | None]:
    del others
    gradients = torch.ops.npu.npu_block_sparse_attention_backward(
        *(grad, call["query"], call["key"], call["value"], *call.results, call["block_sparse_mask"]),
        *(call["block_shape"], call["actual_seq_lengths"], call["actual_seq_lengths_kv"], call["q_input_layout"]),
        *(call["kv_input_layout"], call["num_key_value_heads"], call["scale_value"]),
    )
    return dict(zip(("query", "key", "value"), gradients, strict=True))


def _pairs(call: Call) -> int:
    """Return how many pairs all heads attend; without values, all pairs of all blocks."""
    if call["query"].device.type != "meta":
        return sum(int(each.kept.sum()) for each in _sequences(call))
    lengths = [call[name] for name in ("actual_seq_lengths", "actual_seq_lengths_kv")]
    query, key = call["query"], call["key"]
    if call["q_input_layout"] == _DENSE:
        return int(math.prod(query.shape[:3]) * key.shape[2])
    return sum(int(math.prod(pair)) for pair in zip(*lengths, strict=True)) * int(query.shape[1])


def _kernels(kernel: str, work: Callable[[int, int, int], tuple[int, int]]) -> Callable[[Call], Iterable[Launch]]:
    def kernels(call: Call) -> Iterable[Launch]:
        query: Tensor = call["query"]
        flops, vector_ops = work(_pairs(call), query.shape[-1], call["value"].shape[-1])
        rows = math.prod(query.shape[:-1])
        launch = Launch(
            kernel=kernel,
            inputs=call.inputs,
            outputs=call.outputs,
            task=TaskType.MIX_AIC,
            cost=1,
            over=vector_ops,
            flops=flops,
            tiles=max(-(-rows // _BLOCK), 1),
        )
        yield launch

    return kernels


_TENSORS = ("query", "key", "value", "block_sparse_mask")

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_block_sparse_attention": NpuOperator(
        compute=_attention,
        shapes=_attention_shapes,
        kernels=_kernels("BlockSparseAttention", ops.attention_work),
        gradient=Gradient(compute=_gradient, keeps=(*_TENSORS, 0, 1)),
        dtypes=SIXTEEN_BITS,
    ),
    "npu_block_sparse_attention_backward": NpuOperator(
        compute=_backward,
        shapes=_backward_shapes,
        kernels=_kernels("BlockSparseAttentionGrad", ops.attention_gradient_work),
        dtypes=SIXTEEN_BITS,
    ),
}
