"""Training attention: npu_fusion_attention and its second version, forward and backward."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from drynpu.kernels import TaskType, ops
from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._fusion import Fusion
from drynpu_torch_operators.operators._heads import PACKED, joined, with_heads, without_heads
from drynpu_torch_operators.operators._launch import Launch
from drynpu_torch_operators.operators._numbers import wide, wide_dtype
from drynpu_torch_operators.operators._operator import Gradient, NpuOperator
from drynpu_torch_operators.operators._softmax import Attended, attend, attend_backward

SCHEMAS = """
npu_fusion_attention(Tensor query, Tensor key, Tensor value, int head_num, str input_layout, Tensor? pse=None, Tensor?
    padding_mask=None, Tensor? atten_mask=None, float scale=1., float keep_prob=1., int pre_tockens=2147483647, int
    next_tockens=2147483647, int inner_precise=0, int[]? prefix=None, int[]? actual_seq_qlen=None, int[]?
    actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, bool sync=False, str softmax_layout="",
    Tensor? sink=None, Tensor? dropout_mask=None, int seed=0, int offset=0) -> (Tensor, Tensor, Tensor, Tensor, int,
    int, int)
npu_fusion_attention_grad(Tensor query, Tensor key, Tensor value, Tensor dy, int head_num, str input_layout, *,
    Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? softmax_max=None, Tensor?
    softmax_sum=None, Tensor? softmax_in=None, Tensor? attention_in=None, float scale_value=1., float keep_prob=1.,
    int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, int seed=0, int offset=0, int
    numels=0, int[]? prefix=None, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, int sparse_mode=0, bool
    gen_mask_parallel=True, bool sync=False, str softmax_layout="", Tensor? sink=None) -> (Tensor, Tensor, Tensor,
    Tensor, Tensor)
npu_fusion_attention_v2(Tensor query, Tensor key, Tensor value, int head_num, str input_layout, *, Tensor? pse=None,
    Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? query_rope=None, Tensor? key_rope=None, float
    scale=1., float keep_prob=1., int pre_tokens=2147483647, int next_tokens=2147483647, int inner_precise=0, int[]?
    prefix=None, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, int sparse_mode=0, bool
    gen_mask_parallel=True, bool sync=False, int pse_type=1, int[]? q_start_idx=None, int[]? kv_start_idx=None, str
    softmax_layout="", Tensor? sink=None, Tensor? dropout_mask=None, int seed=0, int offset=0) -> (Tensor, Tensor,
    Tensor, Tensor, int, int, int)
npu_fusion_attention_grad_v2(Tensor query, Tensor key, Tensor value, Tensor dy, int head_num, str input_layout, *,
    Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? softmax_max=None, Tensor?
    softmax_sum=None, Tensor? softmax_in=None, Tensor? attention_in=None, Tensor? query_rope=None, Tensor?
    key_rope=None, float scale_value=1., float keep_prob=1., int pre_tokens=2147483647, int next_tokens=2147483647,
    int inner_precise=0, int seed=0, int offset=0, int numels=0, int[]? prefix=None, int[]? actual_seq_qlen=None,
    int[]? actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, bool sync=False, int pse_type=1,
    int[]? q_start_idx=None, int[]? kv_start_idx=None, str softmax_layout="", Tensor? sink=None) -> (Tensor, Tensor,
    Tensor, Tensor, Tensor, Tensor, Tensor)
"""

_STATISTICS = 8
"""Copies of each maximum and sum."""
_ROPES = ("query_rope", "key_rope")


def attention(call: Call) -> tuple[Any, ...]:
    """Compute npu_fusion_attention: output, maxima, sums, nothing, seed, offset and number of scores."""
    fusion = Fusion.from_call(call)
    query = call["query"]
    dropout, seed, offset, numels = fusion.dropout(call)
    parts: list[Attended] = []
    begin = 0
    for stack in fusion.stacks():
        factor, begin = fusion.next_factor(dropout, begin, stack)
        parts.append(attend(stack, fusion.scoring(stack), fusion.mask.kept(stack), factor))
    out = joined([part.out for part in parts], fusion.layout, query.shape[0]).to(query.dtype)
    maximum, total = (_statistics([getattr(p, n) for p in parts], fusion) for n in ("maximum", "total"))
    return out, maximum, total, query.new_empty(0), seed, offset, numels


def _statistics(parts: list[Tensor], fusion: Fusion) -> Tensor:
    """
    Return maxima or sums, eight times each.

    Packed statistics have the order of heads, then tokens, inside each sequence, though their shape says otherwise,
    unless ``softmax_layout`` says TND. Tokens behind the last sequence have 0.
    """
    if fusion.layout != PACKED:
        return parts[0].expand(*parts[0].shape[:-1], _STATISTICS).contiguous()
    rows = [p.squeeze(0).transpose(0, 1) if fusion.by_token else p.squeeze(0) for p in parts]
    tokens, heads = fusion.query.shape[:2]
    flat = torch.cat([row.reshape(-1, 1) for row in rows])
    flat = torch.cat((flat, flat.new_zeros(tokens * heads - flat.shape[0], 1)))
    return flat.reshape(tokens, heads, 1).expand(tokens, heads, _STATISTICS).contiguous()


def _statistics_of_stacks(statistics: Tensor, fusion: Fusion) -> Iterable[Tensor]:
    """Yield what :func:`_statistics` joined, [batch, heads, tokens, 1] for each stack."""
    single = wide(statistics)[..., :1]
    if fusion.layout != PACKED:
        yield single
        return
    flat, begin = single.reshape(-1), 0
    for stack in fusion.stacks():
        _, heads, tokens, _ = stack.query.shape
        part = flat[begin : begin + heads * tokens]
        begin += heads * tokens
        shape = (tokens, heads) if fusion.by_token else (heads, tokens)
        part = part.reshape(shape)
        yield (part.transpose(0, 1) if fusion.by_token else part).reshape(1, heads, tokens, 1)


def attention_shapes(call: Call) -> tuple[Any, ...]:
    """Make the results of :func:`attention` without values."""
    fusion = Fusion.from_call(call)
    query = call["query"]
    rows = query.shape[:2]
    if fusion.layout != PACKED:
        batch, heads, tokens, _ = with_heads(query, fusion.layout, fusion.width).shape
        out = without_heads(query.new_empty(batch, heads, tokens, fusion.value_width), fusion.layout)
        shape: tuple[int, ...] = (batch, heads, tokens, _STATISTICS)
    else:
        out, shape = query.new_empty(*rows, fusion.value_width), (*rows, _STATISTICS)
    statistics = query.new_empty(shape, dtype=wide_dtype(query))
    return out, statistics, torch.empty_like(statistics), query.new_empty(0), 0, 0, fusion.numels


def attention_grad(call: Call) -> tuple[Tensor, ...]:
    """Compute the gradients of query, key, value, shift and sink."""
    fusion = Fusion.from_call(call)
    errors.require(call["softmax_max"] is not None and call["softmax_sum"] is not None, "softmax_max is needed")
    tokens = fusion.query.shape[0], fusion.key.shape[0]
    dropout, begin = fusion.replayed(call), 0
    incoming = zip(
        fusion.stacks(),
        _statistics_of_stacks(call["softmax_max"], fusion),
        _statistics_of_stacks(call["softmax_sum"], fusion),
        fusion.like_output(call["attention_in"]),
        fusion.like_output(call["dy"]),
        strict=True,
    )
    parts = []
    for stack, maximum, total, out, grad in incoming:
        factor, begin = fusion.next_factor(dropout, begin, stack)
        attended = Attended(wide(out), maximum, total)
        kept = fusion.mask.kept(stack)
        parts.append(attend_backward(stack, fusion.scoring(stack), kept, factor, attended, wide(grad)))
    dq, dk, dv = (
        joined([getattr(p, name) for p in parts], fusion.layout, tokens[name != "query"]).to(
            getattr(fusion, name).dtype
        )
        for name in ("query", "key", "value")
    )
    pse, sink = call["pse"], call["sink"]
    dpse = dq.new_empty(0) if pse is None else parts[0].shift.sum_to_size(pse.shape).to(pse.dtype)
    dsink = dq.new_empty(0, dtype=torch.float32)
    if sink is not None:
        dsink = sum((p.sink for p in parts if p.sink is not None), torch.zeros_like(wide(sink))).to(sink.dtype)
    return dq, dk, dv, dpse, dsink


def _grad_v2(call: Call) -> tuple[Tensor, ...]:
    dq, dk, dv, dpse, dsink = attention_grad(call)
    if call["query_rope"] is None:
        empty = dq.new_empty(0)
        return dq, dk, dv, dpse, empty, empty.clone(), dsink
    width = call["query"].shape[-1]
    dq_rope, dk_rope = (grad[..., width:].contiguous() for grad in (dq, dk))
    return dq[..., :width].contiguous(), dk[..., :width].contiguous(), dv, dpse, dq_rope, dk_rope, dsink


def grad_shapes(call: Call) -> tuple[Tensor, ...]:
    """Make the results of :func:`attention_grad` without values."""
    query, pse, sink = call["query"], call["pse"], call["sink"]
    first = tuple(torch.empty_like(call[name]) for name in ("query", "key", "value"))
    dpse = query.new_empty(0) if pse is None else torch.empty_like(pse)
    return *first, dpse, query.new_empty(0, dtype=torch.float32) if sink is None else torch.empty_like(sink)


def _grad_v2_shapes(call: Call) -> tuple[Tensor, ...]:
    dq, dk, dv, dpse, dsink = grad_shapes(call)
    ropes = [dq.new_empty(0) if call[name] is None else torch.empty_like(call[name]) for name in _ROPES]
    return dq, dk, dv, dpse, *ropes, dsink


def forward_kernels(call: Call) -> Iterable[Launch]:
    """State the kernels of a forward pass: bits of a dropout mask, if any, and the attention."""
    fusion = Fusion.from_call(call)
    if 0 < call["keep_prob"] < 1:
        mask = torch.empty(ops.drop_mask(fusion.numels).shape, dtype=torch.uint8)
        yield Launch(
            kernel="DSAGenBitMask", inputs=[], outputs=[mask], api="aclnnDropoutGenMaskV2", task=TaskType.DSA, cost=0
        )
    yield _launch("FlashAttentionScore", call, fusion, ops.attention_work)


def grad_kernels(call: Call) -> Iterable[Launch]:
    """State the kernel of a backward pass."""
    yield _launch("FlashAttentionScoreGrad", call, Fusion.from_call(call), ops.attention_gradient_work)


def _launch(kernel: str, call: Call, fusion: Fusion, work: Callable[[int, int, int], tuple[int, int]]) -> Launch:
    pairs = tiles = 0
    for stack in fusion.stacks():
        pairs += fusion.mask.pairs(stack)
        tiles += ops.attention_tiles(math.prod(stack.query.shape[:2]), stack.lengths[kernel.endswith("Grad")])
    flops, vector_ops = work(pairs, fusion.width, fusion.value_width)
    form = "VarLen" if fusion.layout == PACKED else ""
    api = f"aclnnFlashAttention{form}Score"
    if kernel.endswith("Grad"):
        api = "aclnnFlashAttentionUnpaddingScoreGrad" if form else "aclnnFlashAttentionScoreGrad"
    outputs = [t for t in call.outputs if t.numel()]
    options = {"api": api, "task": TaskType.MIX_AIC, "cost": 1, "over": vector_ops, "flops": flops, "tiles": tiles}
    return Launch(kernel=kernel, inputs=call.inputs, outputs=outputs, **options)  # type: ignore[arg-type]


_SHARED = ("padding_mask", "keep_prob", "inner_precise", "prefix", "sparse_mode", "gen_mask_parallel", "sync")
_PLAIN = (*_SHARED, "actual_seq_qlen", "actual_seq_kvlen", "softmax_layout")


def _gradient(bounds: tuple[str, str], operator: str, more: tuple[str, ...] = ()) -> Callable[..., Mapping[str, Any]]:
    """Return the gradient that calls *operator*; *bounds* are its names of pre and next tokens."""

    def compute(call: Call, grad: Tensor, *others: Any) -> Mapping[str, Any]:
        del others
        out, maximum, total, _, seed, offset, numels = call.results
        options = {name: call[name] for name in (*_PLAIN, *bounds, *more, "pse", "atten_mask", "sink")}
        gradients = getattr(torch.ops.npu, operator)(
            *(call["query"], call["key"], call["value"], grad, call["head_num"], call["input_layout"]),
            softmax_max=maximum,
            softmax_sum=total,
            attention_in=out,
            scale_value=call["scale"],
            seed=seed,
            offset=offset,
            numels=numels,
            **options,
        )
        names = ("query", "key", "value", "pse", *(_ROPES if "query_rope" in more else ()), "sink")
        return dict(zip(names, gradients, strict=True))

    return compute


_MORE = (*_ROPES, "pse_type", "q_start_idx", "kv_start_idx")
_KEPT = ("query", "key", "value", "pse", "atten_mask", "sink", 0, 1, 2)

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_fusion_attention": NpuOperator(
        compute=attention,
        shapes=attention_shapes,
        kernels=forward_kernels,
        gradient=Gradient(compute=_gradient(("pre_tockens", "next_tockens"), "npu_fusion_attention_grad"), keeps=_KEPT),
    ),
    "npu_fusion_attention_grad": NpuOperator(compute=attention_grad, shapes=grad_shapes, kernels=grad_kernels),
    "npu_fusion_attention_v2": NpuOperator(
        compute=attention,
        shapes=attention_shapes,
        kernels=forward_kernels,
        gradient=Gradient(
            compute=_gradient(("pre_tokens", "next_tokens"), "npu_fusion_attention_grad_v2", _MORE),
            keeps=(*_KEPT[:6], *_ROPES, *_KEPT[6:]),
        ),
    ),
    "npu_fusion_attention_grad_v2": NpuOperator(compute=_grad_v2, shapes=_grad_v2_shapes, kernels=grad_kernels),
}
