"""Sparse attention: each query attends the listed blocks of keys alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
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
from drynpu_torch_operators.operators._sequences import BANDS, Layout
from drynpu_torch_operators.operators._softmax import Attended, Scoring, attend, attend_backward

SCHEMAS = """
npu_sparse_flash_attention(Tensor query, Tensor key, Tensor value, Tensor sparse_indices, float scale_value, *,
    Tensor? block_table=None, Tensor? actual_seq_lengths_query=None, Tensor? actual_seq_lengths_kv=None,
    Tensor? query_rope=None, Tensor? key_rope=None, int sparse_block_size=1, str layout_query="BSND",
    str layout_kv="BSND", int sparse_mode=3, int pre_tokens=9223372036854775807,
    int next_tokens=9223372036854775807, int attention_mode=0, bool return_softmax_lse=False,
    Tensor? sinks=None) -> (Tensor, Tensor, Tensor)
npu_sparse_flash_attention_grad(Tensor query, Tensor key, Tensor value, Tensor sparse_indices, Tensor d_out,
    Tensor out, Tensor softmax_max, Tensor softmax_sum, float scale_value, int sparse_block_size,
    Tensor? query_rope=None, Tensor? key_rope=None, Tensor? actual_seq_qlen=None, Tensor? actual_seq_kvlen=None,
    str? layout="BSND", int? sparse_mode=3, int? pre_tokens=9223372036854775807,
    int? next_tokens=9223372036854775807, int? attention_mode=0) -> (Tensor, Tensor, Tensor, Tensor, Tensor)
"""


@frozen(eq=False)
class Chosen:
    """One sequence: its heads, the pairs that are attended, and the index of its queries and its keys."""

    stack: Stack
    kept: Tensor
    rows: tuple[Any, ...]
    places: tuple[Any, ...]


def _with_rope(call: Call, name: str) -> Tensor:
    rope = call[f"{name}_rope"]
    tensor: Tensor = call[name] if rope is None else torch.cat((call[name], rope), -1)
    return tensor


def _chosen(call: Call, layout: Layout) -> Iterator[Chosen]:
    """Yield the sequences; a key is attended where its block is listed and the mode keeps it."""
    query, key = _with_rope(call, "query"), _with_rope(call, "key")
    value = call["value"]
    for number in range(layout.sequences):
        rows, places = layout.rows_of_queries(number), layout.rows_of_keys(key, number)
        parts = [part.transpose(0, 1).unsqueeze(0) for part in (query[rows], key[places], value[places])]
        stack = Stack(parts[0], parts[1], parts[2], sequence=number)
        kept = _listed(call["sparse_indices"][rows].transpose(0, 1).long(), stack, call["sparse_block_size"])
        visible = layout.visible(number, query.device)
        yield Chosen(stack, kept if visible is None else kept & visible, rows, places)


def _listed(indices: Tensor, stack: Stack, block: int) -> Tensor:
    """Return the pairs whose key is in a listed block, [1, heads, queries, keys]; -1 lists nothing."""
    keys = stack.lengths[1]
    blocks = -(-keys // block)
    listed = torch.zeros(*indices.shape[:2], blocks + 1, dtype=torch.bool, device=indices.device)
    listed.scatter_(2, torch.where(indices < 0, blocks, indices.clamp(max=blocks)), True)
    by_key = listed[:, :, :blocks].repeat_interleave(block, 2)[:, :, :keys]
    return by_key.repeat_interleave(stack.query.shape[1] // indices.shape[0], 0).unsqueeze(0)


def _attention(call: Call) -> tuple[Tensor, Tensor, Tensor]:
    layout = Layout.from_call(call)
    out, maximum, total = _attention_shapes(call)
    out.zero_()
    scoring = Scoring(scale=call["scale_value"], sink=call["sinks"])
    for each in _chosen(call, layout):
        attended = attend(each.stack, scoring, each.kept)
        out[each.rows] = attended.out[0].transpose(0, 1).to(out.dtype)
        if call["return_softmax_lse"]:
            for store, values in ((maximum, attended.maximum), (total, attended.total)):
                _store(store, layout, each, values)
    return out, maximum, total


def _statistics_place(layout: Layout, each: Chosen) -> tuple[Any, ...]:
    """Return the index of a sequence's statistics, which are [batch, key heads, tokens, heads of each]."""
    if layout.queries == PACKED:
        return (slice(None), *each.rows)
    return (each.rows[0], slice(None), each.rows[1])


def _store(store: Tensor, layout: Layout, each: Chosen, values: Tensor) -> None:
    heads = each.stack.key.shape[1]
    grouped = values[0, :, :, 0].reshape(heads, -1, values.shape[2]).transpose(1, 2)
    store[_statistics_place(layout, each)] = grouped


def _stored(store: Tensor, layout: Layout, each: Chosen) -> Tensor:
    """Return the statistics of a sequence as [1, heads, tokens, 1]."""
    grouped = wide(store[_statistics_place(layout, each)])
    return grouped.transpose(1, 2).flatten(0, 1).unsqueeze(0).unsqueeze(-1)


def _attention_shapes(call: Call) -> tuple[Tensor, Tensor, Tensor]:
    query, layout = call["query"], Layout.from_call(call)
    heads = call["key"].shape[-2]
    each = query.shape[-2] // heads
    shape: tuple[int, ...] = (0,)
    if call["return_softmax_lse"]:
        packed = layout.queries == PACKED
        shape = (heads, query.shape[0], each) if packed else (query.shape[0], heads, query.shape[1], each)
    first, second = (query.new_empty(shape, dtype=wide_dtype(query)) for _ in range(2))
    return query.new_empty(*query.shape[:-1], call["value"].shape[-1]), first, second


def _attention_grad(call: Call) -> tuple[Tensor, ...]:
    layout = Layout.from_call(call)
    text = "softmax_max and softmax_sum are needed; call npu_sparse_flash_attention with return_softmax_lse=True"
    errors.require(call["softmax_max"].numel() > 0, text)
    names = ("query", "key", "value")
    grads = {
        name: wide(call[name]).new_zeros(_with_rope(call, name).shape if name != "value" else call[name].shape)
        for name in names
    }
    scoring = Scoring(scale=call["scale_value"])
    for each in _chosen(call, layout):
        out, dout = (wide(call[name][each.rows]).transpose(0, 1).unsqueeze(0) for name in ("out", "d_out"))
        maximum, total = (_stored(call[name], layout, each) for name in ("softmax_max", "softmax_sum"))
        gradients = attend_backward(each.stack, scoring, each.kept, None, Attended(out, maximum, total), dout)
        grads["query"][each.rows] = gradients.query[0].transpose(0, 1)
        grads["key"][each.places] = gradients.key[0].transpose(0, 1)
        grads["value"][each.places] = gradients.value[0].transpose(0, 1)
    width = call["query"].shape[-1]
    results = [grads[name][..., : call[name].shape[-1]].to(call[name].dtype) for name in names]
    for name in ("query", "key"):
        rope = call[f"{name}_rope"]
        results.append(call[name].new_empty(0) if rope is None else grads[name][..., width:].to(rope.dtype))
    return tuple(t.contiguous() for t in results)


def _attention_grad_shapes(call: Call) -> tuple[Tensor, ...]:
    results = [torch.empty_like(call[name]) for name in ("query", "key", "value")]
    for name in ("query", "key"):
        rope = call[f"{name}_rope"]
        results.append(call[name].new_empty(0) if rope is None else torch.empty_like(rope))
    return tuple(results)


def _attended(call: Call) -> int:
    """Return how many pairs of a query and a key are attended by one head."""
    rows: int = math.prod(call["query"].shape[:-2])
    most: int = call["sparse_indices"].shape[-1] * call["sparse_block_size"]
    if call["query"].device.type == "meta":
        return rows * most
    layout = Layout.from_call(call)
    return sum(int(each.kept[0, 0].sum()) for each in _chosen(call, layout))


def _attention_kernels(call: Call) -> Iterable[Launch]:
    yield _attention_launch("SparseFlashAttention", call, ops.attention_work)


def _attention_grad_kernels(call: Call) -> Iterable[Launch]:
    yield _attention_launch("SparseFlashAttentionGrad", call, ops.attention_gradient_work)


def _attention_launch(kernel: str, call: Call, work: Callable[[int, int, int], tuple[int, int]]) -> Launch:
    heads, width = call["query"].shape[-2], _with_rope(call, "query").shape[-1]
    pairs = _attended(call)
    flops, vector_ops = work(pairs * heads, width, call["value"].shape[-1])
    held = call.tensors("key", "value", "key_rope")
    others = sum(t.numel() * t.element_size() for t in call.inputs if not any(t is one for one in held))
    # Every query reads the keys and values that it attends, once for all heads that share them.
    read = others + pairs * sum(t.shape[-1] * t.element_size() for t in held)
    return Launch(
        kernel=kernel,
        inputs=call.inputs,
        outputs=[t for t in call.outputs if t.numel()],
        task=TaskType.MIX_AIC,
        cost=1,
        over=vector_ops,
        read=read,
        flops=flops,
        tiles=max(math.prod(call["query"].shape[:-2]), 1),
    )


def _attention_gradient(call: Call, grad: Tensor, *others: Any) -> Mapping[str, Tensor | None]:
    del others
    out, maximum, total = call.results
    gradients = torch.ops.npu.npu_sparse_flash_attention_grad(
        *(call["query"], call["key"], call["value"], call["sparse_indices"], grad, out, maximum, total),
        *(call["scale_value"], call["sparse_block_size"], call["query_rope"], call["key_rope"]),
        *(call["actual_seq_lengths_query"], call["actual_seq_lengths_kv"], call["layout_query"], call["sparse_mode"]),
    )
    names = ("query", "key", "value", "query_rope", "key_rope")
    return {name: None if t.numel() == 0 else t for name, t in zip(names, gradients, strict=True)}


_LENGTHS = ("actual_seq_lengths_query", "actual_seq_lengths_kv")

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_sparse_flash_attention": NpuOperator(
        compute=_attention,
        shapes=_attention_shapes,
        kernels=_attention_kernels,
        gradient=Gradient(
            compute=_attention_gradient,
            keeps=(
                *("query", "key", "value", "sparse_indices", "query_rope", "key_rope", *_LENGTHS),
                *(0, 1, 2),
            ),
        ),
        left_out=BANDS,
        dtypes=SIXTEEN_BITS,
    ),
    "npu_sparse_flash_attention_grad": NpuOperator(
        compute=_attention_grad,
        shapes=_attention_grad_shapes,
        kernels=_attention_grad_kernels,
        left_out=BANDS,
        dtypes=SIXTEEN_BITS,
    ),
}
