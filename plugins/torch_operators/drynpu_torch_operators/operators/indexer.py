"""The indexer of sparse attention, which scores keys and chooses the best ones of each query."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from drynpu.kernels import TaskType
from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, product
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import SIXTEEN_BITS, Gradient, NpuOperator
from drynpu_torch_operators.operators._sequences import BANDS, Layout

SCHEMAS = """
npu_lightning_indexer(Tensor query, Tensor key, Tensor weights, *, Tensor? actual_seq_lengths_query=None,
    Tensor? actual_seq_lengths_key=None, Tensor? block_table=None, str layout_query="BSND", str layout_key="BSND",
    int sparse_count=2048, int sparse_mode=3, int pre_tokens=9223372036854775807,
    int next_tokens=9223372036854775807, bool return_value=False) -> (Tensor, Tensor)
npu_lightning_indexer_grad(Tensor query, Tensor key, Tensor dy, Tensor sparse_indices, Tensor weights,
    Tensor? actual_seq_lengths_query=None, Tensor? actual_seq_lengths_key=None, str? layout="BSND",
    int? sparse_mode=3, int? pre_tokens=9223372036854775807, int? next_tokens=9223372036854775807) ->
    (Tensor, Tensor, Tensor)
"""


def _relevance(query: Tensor, key: Tensor) -> Tensor:
    """Return the positive products of queries [tokens, heads, width] and keys [tokens, 1, width] by head."""
    return (wide(query).transpose(0, 1) @ wide(key)[:, 0].t()).relu()


def _index(call: Call) -> tuple[Tensor, Tensor]:
    layout, query, key = _checked(call), call["query"], call["key"]
    indices, values = _index_shapes(call)
    indices.fill_(-1)
    values.fill_(-math.inf)
    for number in range(layout.sequences):
        rows, place = layout.rows_of_queries(number), layout.rows_of_keys(key, number)
        weights = wide(call["weights"])[rows].reshape(-1, query.shape[-2])
        scores = torch.einsum("hqk,qh->qk", _relevance(query[rows], key[place]), weights)
        visible = layout.visible(number, query.device)
        scores = scores if visible is None else scores.masked_fill(~visible, -math.inf)
        best, order = scores.sort(dim=-1, descending=True, stable=True)
        count = min(call["sparse_count"], scores.shape[-1])
        order = order.masked_fill(best == -math.inf, -1)[:, :count]
        indices[rows][:, 0, :count] = order.to(indices.dtype)
        if call["return_value"]:
            values[rows][:, 0, :count] = best[:, :count].to(values.dtype)
    return indices, values


def _checked(call: Call) -> Layout:
    text = f"sparse_count should be greater than 0, but got {call['sparse_count']}"
    errors.require(call["sparse_count"] > 0, text, errors.VALUE)
    layout = Layout.from_call(call)
    heads = call["key"].shape[-2]
    errors.require(heads == 1, f"key should have 1 head, but has {heads}", errors.VALUE)
    return layout


def _index_shapes(call: Call) -> tuple[Tensor, Tensor]:
    query = call["query"]
    shape = (*query.shape[:-2], 1, call["sparse_count"])
    return query.new_empty(shape, dtype=torch.int32), query.new_empty(shape if call["return_value"] else (0,))


def _index_grad(call: Call) -> tuple[Tensor, Tensor, Tensor]:
    layout, query, key = Layout.from_call(call), call["query"], call["key"]
    dquery, dkey, dweights = (wide(call[name]).new_zeros(call[name].shape) for name in ("query", "key", "weights"))
    for number in range(layout.sequences):
        rows, place = layout.rows_of_queries(number), layout.rows_of_keys(key, number)
        products = _relevance(query[rows], key[place])
        chosen = call["sparse_indices"][rows][:, 0].long()
        # The gradient of each score, 0 where a pair was not chosen.
        grads = products.new_zeros(products.shape[1], products.shape[2] + 1)
        grads.scatter_add_(1, torch.where(chosen < 0, products.shape[2], chosen), wide(call["dy"])[rows][:, 0])
        grads = grads[:, :-1]
        weights = wide(call["weights"])[rows].reshape(-1, query.shape[-2])
        dweights[rows] = torch.einsum("hqk,qk->qh", products, grads).reshape(dweights[rows].shape)
        slopes = torch.einsum("hqk,qk,qh->hqk", (products > 0).to(products.dtype), grads, weights)
        dquery[rows] = (slopes @ wide(key[place])[:, 0]).transpose(0, 1)
        dkey[place] = torch.einsum("hqk,qhd->kd", slopes, wide(query[rows])).unsqueeze(1)
    return dquery.to(query.dtype), dkey.to(key.dtype), dweights.to(call["weights"].dtype)


def _index_kernels(call: Call) -> Iterable[Launch]:
    layout, query = Layout.from_call(call), call["query"]
    heads, width = query.shape[-2:]
    sides = [(q1 - q0, width, k1 - k0) for q0, q1, k0, k1 in _extents(layout) for _ in range(heads)]
    outputs = [t for t in call.outputs if t.numel()]
    yield product("LightningIndexer", call.inputs, outputs, sides, api="aclnnLightningIndexer")


def _index_grad_kernels(call: Call) -> Iterable[Launch]:
    query = call["query"]
    rows, chosen = math.prod(query.shape[:-2]), call["sparse_indices"].shape[-1]
    heads, width = query.shape[-2:]
    yield Launch(
        kernel="LightningIndexerGrad",
        inputs=call.inputs,
        outputs=call.outputs,
        task=TaskType.MIX_AIC,
        cost=4,
        over=rows * heads * chosen,
        flops=6 * rows * heads * chosen * width,
        tiles=max(rows, 1),
    )


def _extents(layout: Layout) -> Iterator[tuple[int, int, int, int]]:
    """Yield begin and end of the queries and of the keys of each sequence."""
    for queries, keys in zip(layout.extents(of_queries=True), layout.extents(of_queries=False), strict=True):
        yield (*queries, *keys)


def _index_gradient(call: Call, indices: Any, values: Tensor) -> Mapping[str, Tensor | None]:
    del indices
    text = "npu_lightning_indexer has a gradient for its values alone; call it with return_value=True"
    errors.require(call["return_value"], text)
    gradients = torch.ops.npu.npu_lightning_indexer_grad(
        *(call["query"], call["key"], values, call.results[0], call["weights"]),
        *(call["actual_seq_lengths_query"], call["actual_seq_lengths_key"], call["layout_query"], call["sparse_mode"]),
    )
    return dict(zip(("query", "key", "weights"), gradients, strict=True))


_LENGTHS = ("actual_seq_lengths_query", "actual_seq_lengths_key")

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_lightning_indexer": NpuOperator(
        compute=_index,
        shapes=_index_shapes,
        kernels=_index_kernels,
        gradient=Gradient(compute=_index_gradient, keeps=("query", "key", "weights", *_LENGTHS, 0), outputs=(1,)),
        left_out=BANDS,
        dtypes=SIXTEEN_BITS,
    ),
    "npu_lightning_indexer_grad": NpuOperator(
        compute=_index_grad,
        shapes=lambda query, key, weights: tuple(map(torch.empty_like, (query, key, weights))),
        kernels=_index_grad_kernels,
        left_out=BANDS,
        dtypes=SIXTEEN_BITS,
    ),
}
