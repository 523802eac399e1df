"""Attention with the projections around it, and attention of encoders whose mask is added to the scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, product
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import Gradient, NpuOperator
from drynpu_torch_operators.operators.dropout import drop_factors, drop_mask

SCHEMAS = """
npu_multi_head_attention(Tensor query, Tensor key, Tensor value, Tensor query_weight, Tensor key_weight,
    Tensor value_weight, Tensor attn_mask, Tensor out_proj_weight, Tensor? query_bias, Tensor? key_bias,
    Tensor? value_bias, Tensor? out_proj_bias, Tensor? dropout_mask, int attn_head_num, int attn_dim_per_head,
    int src_len, int tgt_len, float dropout_prob, bool softmax_use_float) ->
    (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)
npu_multi_head_attention_backward(Tensor query, Tensor key, Tensor value, Tensor query_weight, Tensor key_weight,
    Tensor value_weight, Tensor out_proj_weight, Tensor? query_bias, Tensor? key_bias, Tensor? value_bias,
    Tensor? out_proj_bias, Tensor query_res, Tensor key_res, Tensor value_res, Tensor attn_scores, Tensor attn_res,
    Tensor context, Tensor y_grad, Tensor dropout_mask, int attn_head_num, int attn_dim_per_head, int src_len,
    int tgt_len, float dropout_prob, bool softmax_use_float) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor,
    Tensor, Tensor, Tensor, Tensor, Tensor)
npu_fused_attention_score_fwd(Tensor query_layer, Tensor key_layer, Tensor value_layer, Tensor attention_mask,
    Scalar scale, float keep_prob, bool query_transpose=False, bool key_transpose=False,
    bool bmm_score_transpose_a=False, bool bmm_score_transpose_b=False, bool value_transpose=False,
    bool dx_transpose=False) -> (Tensor, Tensor, Tensor)
npu_fused_attention_score_backward(Tensor grad_output, Tensor softmax_output, Tensor query_layer, Tensor key_layer,
    Tensor value_layer, Tensor mask, Scalar scale, float keep_prob, bool query_transpose=False,
    bool key_transpose=False, bool value_transpose=False, bool dx_transpose=False) -> (Tensor, Tensor, Tensor)
npu_fused_attention_score_grad(Tensor grad_output, Tensor softmax_output, Tensor query_layer, Tensor key_layer,
    Tensor value_layer, Tensor mask, Scalar scale, float keep_prob, bool query_transpose=False,
    bool key_transpose=False, bool value_transpose=False, bool dx_transpose=False) -> (Tensor, Tensor, Tensor)
"""

_ALIGNMENT = 16
_SIDES = ("query", "key", "value")
_WEIGHTS = (*(f"{side}_weight" for side in _SIDES), "out_proj_weight")
_BIASES = (*(f"{side}_bias" for side in _SIDES), "out_proj_bias")


def _heads(x: Tensor, heads: int, width: int, length: int) -> Tensor:
    """Return rows [batch * length, heads * width] as [batch, heads, length, width]."""
    return x.reshape(-1, length, heads, width).transpose(1, 2)


def _rows(x: Tensor) -> Tensor:
    """Return [batch, heads, length, width] as rows [batch * length, heads * width]."""
    return x.transpose(1, 2).reshape(-1, x.shape[1] * x.shape[3])


def _check(call: Call) -> None:
    sizes = [call[name] for name in ("tgt_len", "src_len", "attn_head_num", "attn_dim_per_head")]
    text = "tgt_len, src_len, attn_head_num, attn_dim_per_head should not equal zero."
    errors.require(all(size > 0 for size in sizes), text)
    text = "tgt_len, src_len, attn_head_num, attn_dim_per_head should align to 16."
    errors.require(not any(size % _ALIGNMENT for size in sizes), text, errors.VALUE)


def _multi_head(call: Call) -> tuple[Tensor, ...]:
    """Return the output, the mask, both projections of keys, values and queries, shares, what is left, the context."""
    _check(call)
    dtype, width, p = call["query"].dtype, call["attn_dim_per_head"], call["dropout_prob"]
    lengths = (call["tgt_len"], call["src_len"], call["src_len"])
    projected = [
        torch.nn.functional.linear(wide(call[side]), wide(call[f"{side}_weight"]), wide(call[f"{side}_bias"]))
        for side in _SIDES
    ]
    projected[0] = wide(projected[0].to(dtype)) * width**-0.5
    query, key, value = (
        _heads(x.to(dtype), call["attn_head_num"], width, length) for x, length in zip(projected, lengths, strict=True)
    )
    products = (wide(query) @ wide(key).transpose(-1, -2)).to(dtype)
    shares = (wide(products) + wide(call["attn_mask"])).softmax(-1)
    mask = call["dropout_mask"]
    mask = drop_mask(shares.numel(), p) if mask is None else mask
    left = (shares * drop_factors(mask, shares, p)).to(dtype)
    context = _rows((wide(left) @ wide(value)).to(dtype))
    out = torch.nn.functional.linear(wide(context), wide(call["out_proj_weight"]), wide(call["out_proj_bias"]))
    shares = shares if call["softmax_use_float"] else shares.to(dtype)
    return out.to(dtype), mask, query.clone(), key.clone(), value.clone(), shares, left, context


def _multi_head_shapes(call: Call) -> tuple[Tensor, ...]:
    x, heads, width = call["query"], call["attn_head_num"], call["attn_dim_per_head"]
    tgt, src = call["tgt_len"], call["src_len"]
    batch = x.shape[0] // tgt
    out, scores = x.new_empty(x.shape[0], heads * width), (batch, heads, tgt, src)
    mask = x.new_empty(math.prod(scores) // 8, dtype=torch.uint8)
    layers = [x.new_empty(batch, heads, length, width) for length in (tgt, src, src)]
    shares = x.new_empty(scores, dtype=torch.float32 if call["softmax_use_float"] else x.dtype)
    return out, mask, *layers, shares, x.new_empty(scores), torch.empty_like(out)


def _multi_head_backward(call: Call) -> tuple[Tensor, ...]:
    """Return the gradients of the weights, of query, key and value, and of the biases."""
    heads, width, p = call["attn_head_num"], call["attn_dim_per_head"], call["dropout_prob"]
    grad = wide(call["y_grad"])
    dcontext = _heads(grad @ wide(call["out_proj_weight"]), heads, width, call["tgt_len"])
    layers = (call["query_res"], call["key_res"], call["value_res"])
    factors = drop_factors(call["dropout_mask"], call["attn_scores"], p)
    gradients = _attention_gradient(dcontext, call["attn_scores"], layers, factors)
    outer = [_rows(gradients[0]) * width**-0.5, _rows(gradients[1]), _rows(gradients[2])]
    weights = [d.T @ wide(call[side]) for side, d in zip(_SIDES, outer, strict=True)]
    weights.append(grad.T @ wide(call["context"]))
    inputs = [d @ wide(call[f"{side}_weight"]) for side, d in zip(_SIDES, outer, strict=True)]
    biases = [d.sum(0, keepdim=True) for d in (*outer, grad)]
    return tuple(x.to(call["query"].dtype) for x in (*weights, *inputs, *biases))


def _attention_gradient(
    grad: Tensor, shares: Tensor, layers: tuple[Tensor, Tensor, Tensor], factors: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of scaled queries, keys and values, all [batch, heads, length, width]."""
    query, key, value = map(wide, layers)
    shares = wide(shares)
    dshares = grad @ value.transpose(-1, -2) * factors
    dscores = shares * (dshares - (dshares * shares).sum(-1, keepdim=True))
    return dscores @ key, dscores.transpose(-1, -2) @ query, (shares * factors).transpose(-1, -2) @ grad


def _multi_head_backward_shapes(call: Call) -> tuple[Tensor, ...]:
    width = call["attn_head_num"] * call["attn_dim_per_head"]
    fresh = call["query"].new_empty
    rows = [call[side].shape[0] for side in _SIDES]
    return (
        *(fresh(width, call[name].shape[1]) for name in _WEIGHTS),
        *(fresh(count, call[f"{side}_weight"].shape[1]) for side, count in zip(_SIDES, rows, strict=True)),
        *(fresh(1, width) for _ in _BIASES),
    )


def _multi_head_gradient(call: Call, grad: Tensor, *others: Tensor) -> Mapping[str, Tensor | None]:
    del others
    _, mask, query, key, value, shares, left, context = call.results
    inputs = [call[name] for name in (*_SIDES, *_WEIGHTS, *_BIASES)]
    sizes = ("attn_head_num", "attn_dim_per_head", "src_len", "tgt_len", "dropout_prob", "softmax_use_float")
    kept = (query, key, value, shares, left, context, grad, mask)
    gradients = torch.ops.npu.npu_multi_head_attention_backward(*inputs, *kept, *(call[name] for name in sizes))
    named = dict(zip((*_WEIGHTS, *_SIDES, *_BIASES), gradients, strict=True))
    return {name: x.reshape(call[name].shape) for name, x in named.items() if call[name] is not None}


def _multi_head_kernels(times: int, kernel: str) -> Callable[[Call], Iterable[Launch]]:
    """Return the statement of the fused kernel, whose products run *times* as often as in the forward pass."""

    def kernels(call: Call) -> Iterable[Launch]:
        heads, width, tgt, src = (call[n] for n in ("attn_head_num", "attn_dim_per_head", "tgt_len", "src_len"))
        batch, hidden = call["query"].shape[0] // tgt, heads * width
        rows = (batch * tgt, batch * src, batch * src)
        sides = [(count, call[f"{side}_weight"].shape[1], hidden) for side, count in zip(_SIDES, rows, strict=True)]
        sides += [(tgt, width, src), (tgt, src, width)] * (batch * heads) + [(batch * tgt, hidden, hidden)]
        yield product(kernel, call.inputs, call.outputs, sides * times)

    return kernels


def _score(call: Call) -> tuple[Tensor, Tensor, Tensor]:
    """Return rows of the context, the shares, and one byte for each share that stays."""
    query, key, value = (call[f"{side}_layer"] for side in _SIDES)
    text = "query_layer must be at least 4-dimensional"
    errors.require(query.dim() >= 4, text)
    keep = call["keep_prob"]
    scores = wide(query) @ wide(key).transpose(-1, -2) * call["scale"] + wide(call["attention_mask"])
    shares = scores.softmax(-1)
    mask = (torch.rand(shares.shape, device="cpu") < keep).to(torch.uint8).flatten()
    left = shares * mask.reshape(shares.shape) / keep if keep else torch.zeros_like(shares)
    return _rows(left @ wide(value)).to(query.dtype), shares.to(query.dtype), mask


def _score_shapes(call: Call) -> tuple[Tensor, Tensor, Tensor]:
    x = call["query_layer"]
    batch, heads, length, width = x.shape
    shares = x.new_empty(batch, heads, length, length)
    rows = x.new_empty(batch * length, heads * width)
    return rows, shares, x.new_empty(shares.numel(), dtype=torch.uint8)


def _score_backward(call: Call) -> tuple[Tensor, Tensor, Tensor]:
    layers = (call["query_layer"], call["key_layer"], call["value_layer"])
    _, heads, length, width = layers[0].shape
    shares, keep = wide(call["softmax_output"]), call["keep_prob"]
    factors = wide(call["mask"]).reshape(shares.shape) / keep if keep else torch.zeros_like(shares)
    grad = _heads(wide(call["grad_output"]), heads, width, length)
    dquery, dkey, dvalue = _attention_gradient(grad, shares, layers, factors)
    gradients = (dquery * call["scale"], dkey * call["scale"], dvalue)
    dtype = call["grad_output"].dtype
    return gradients[0].to(dtype), gradients[1].to(dtype), gradients[2].to(dtype)


def _score_backward_shapes(call: Call) -> tuple[Tensor, ...]:
    return tuple(torch.empty_like(call["query_layer"]) for _ in _SIDES)


def _score_grad(call: Call) -> tuple[Tensor, ...]:
    """Return the gradients as rows, like the output."""
    return tuple(_rows(x) for x in _score_backward(call))


def _score_gradient(call: Call, grad: Tensor, *others: Tensor) -> Mapping[str, Tensor | None]:
    del others
    layers = (call["query_layer"], call["key_layer"], call["value_layer"])
    _, shares, mask = call.results
    options = (call["scale"], call["keep_prob"])
    gradients = torch.ops.npu.npu_fused_attention_score_backward(grad, shares, *layers, mask, *options)
    return dict(zip((f"{side}_layer" for side in _SIDES), gradients, strict=True))


def _score_kernels(kernel: str, products: int) -> Callable[[Call], Iterable[Launch]]:
    def kernels(call: Call) -> Iterable[Launch]:
        batch, heads, length, width = call["query_layer"].shape
        if products == len(_FORWARD):
            yield Launch(kernel="DropOutGenMaskV3", inputs=[], outputs=[call.outputs[-1]], cost=4)
        sides = [(length, width, length)] * (batch * heads * products)
        yield product(kernel, call.inputs, call.outputs, sides)

    return kernels


_FORWARD = ("scores", "context")
_BACKWARD = (*_FORWARD, "query", "key")
_TRANSPOSED = ("query_transpose", "key_transpose", "value_transpose", "dx_transpose")
_FORWARD_LEFT_OUT = (*_TRANSPOSED, "bmm_score_transpose_a", "bmm_score_transpose_b")

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_multi_head_attention": NpuOperator(
        compute=_multi_head,
        shapes=_multi_head_shapes,
        kernels=_multi_head_kernels(1, kernel="MultiHeadAttention"),
        gradient=Gradient(
            compute=_multi_head_gradient, keeps=(*_SIDES, *_WEIGHTS, *_BIASES, *range(1, 8)), outputs=(0,)
        ),
        dtypes="float16",
    ),
    "npu_multi_head_attention_backward": NpuOperator(
        compute=_multi_head_backward,
        shapes=_multi_head_backward_shapes,
        kernels=_multi_head_kernels(2, kernel="MultiHeadAttentionGrad"),
        dtypes="float16",
    ),
    "npu_fused_attention_score_fwd": NpuOperator(
        compute=_score,
        shapes=_score_shapes,
        kernels=_score_kernels(kernel="AttentionScore", products=len(_FORWARD)),
        gradient=Gradient(
            compute=_score_gradient, keeps=("query_layer", "key_layer", "value_layer", 1, 2), outputs=(0,)
        ),
        left_out=_FORWARD_LEFT_OUT,
        dtypes="float16",
    ),
    "npu_fused_attention_score_backward": NpuOperator(
        compute=_score_backward,
        shapes=_score_backward_shapes,
        kernels=_score_kernels(kernel="AttentionScoreGrad", products=len(_BACKWARD)),
        left_out=_TRANSPOSED,
        dtypes="float16",
    ),
    "npu_fused_attention_score_grad": NpuOperator(
        compute=_score_grad,
        shapes=lambda call: tuple(torch.empty_like(call["grad_output"]) for _ in _SIDES),
        kernels=_score_kernels(kernel="AttentionScoreGrad", products=len(_BACKWARD)),
        left_out=_TRANSPOSED,
        dtypes="float16",
    ),
}
