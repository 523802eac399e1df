"""
Scaled dot product attention: FlashAttentionScore (device_and_cost_model.md 4.1).

Operation counts come from section 2: 4 x queries x keys x heads x width for the cube unit, 4 x queries x keys x
heads for the softmax; the backward pass has five products instead of two. A causal call costs half: the measured
backward kernel shows that masked blocks are skipped (3.1, identity 4). The exact number of pairs under the diagonal is
used.
"""

from __future__ import annotations

from drynpu.kernels._attention_blocks import SOFTMAX_GRADIENT_OPS, SOFTMAX_OPS
from drynpu.kernels._call import OperatorCall
from drynpu.kernels._specs import ceil_div, tensor_like
from drynpu.kernels._types import KernelPlan, TaskType, TensorDesc
from drynpu.kernels.ops.creation import drop_mask

_RANK = 4
_QUERY_BLOCK = 128
_STATISTICS_WIDTH = 8


def attention_work(pairs: int, width: int, value_width: int) -> tuple[int, int]:
    """
    Return operations of the matrix unit (scores, then the sum of values) and element operations (softmax).

    *pairs* of a query and a key are computed, summed over batch and heads.
    """
    return 2 * pairs * (width + value_width), SOFTMAX_OPS * pairs


def attention_tiles(heads: int, tokens: int) -> int:
    """Return the number of blocks of queries (backward: of keys) of all *heads*, batch included."""
    return heads * ceil_div(tokens, _QUERY_BLOCK)


def attention_gradient_work(pairs: int, width: int, value_width: int) -> tuple[int, int]:
    """Return the same as :func:`attention_work` of the backward pass, which has five products."""
    # Scores again, then the gradients of query, key (width of query) and of the scores and value (width of value).
    return 2 * pairs * (3 * width + 2 * value_width), SOFTMAX_GRADIENT_OPS * pairs


def fused_attention(call: OperatorCall) -> KernelPlan | None:
    """``query key value dropout causal mask``."""
    operands = _operands(call, "query", "key", "value")
    if operands is None:
        return None
    query, key, value = operands
    batch, heads, queries, width = query.shape
    pairs = batch * heads * _pairs(queries, key.shape[2], causal=call.flag("causal"))
    statistics = _statistics(call, query)
    out = call.tensor_of((*query.shape[:3], value.shape[3]), query.dtype)
    flops, vector_ops = attention_work(pairs, width, value.shape[3])
    main = call.cube_kernel(
        "FlashAttentionScore",
        [*operands, *call.tensors("mask")],
        [statistics, statistics, out],
        flops=flops,
        vector_ops=vector_ops,
        tiles=attention_tiles(batch * heads, queries),
        task=TaskType.MIX_AIC,
    )
    if call.number("dropout", 0.0) <= 0:
        return call.plan(main)
    mask, random = [drop_mask(batch * heads * queries * key.shape[2])], call.under("aclnnDropoutGenMaskV2")
    return call.plan(random.kernel("DSAGenBitMask", [], mask, task=TaskType.DSA, cost=0), main)


def attention_gradient(call: OperatorCall) -> KernelPlan | None:
    """``dy query key value out causal mask``."""
    operands = _operands(call, "query", "key", "value", "dy", "out")
    if operands is None:
        return None
    query, key, value, dy, out = operands
    batch, heads, queries, width = query.shape
    pairs = batch * heads * _pairs(queries, key.shape[2], causal=call.flag("causal"))
    statistics = _statistics(call, query)
    flops, vector_ops = attention_gradient_work(pairs, width, value.shape[3])
    main = call.cube_kernel(
        "FlashAttentionScoreGrad",
        [query, key, value, dy, *call.tensors("mask"), statistics, statistics, out],
        [tensor_like(t, layout="ND") for t in (query, key, value)],
        flops=flops,
        vector_ops=vector_ops,
        tiles=attention_tiles(batch * heads, key.shape[2]),
        task=TaskType.MIX_AIC,
    )
    return call.plan(main)


def masked_softmax(call: OperatorCall) -> KernelPlan | None:
    """``x mask``: inference of ``nn.MultiheadAttention``; fill, then softmax."""
    x, mask = call.tensor("x"), call.tensor("mask")
    if x is None or mask is None:
        return None
    filling = call.under("aclnnInplaceMaskedFillScalar")
    fill = filling.kernel("MaskedFill", [x, mask, TensorDesc((), x.dtype)], [x], over=x.elements)
    return call.plan(fill, call.kernel("SoftmaxV2", [x], [x], cost=5, over=x.elements))


def _operands(call: OperatorCall, *names: str) -> list[TensorDesc] | None:
    operands = call.tensors(*names)
    return operands if len(operands) == len(names) and all(len(t.shape) == _RANK for t in operands) else None


def _statistics(call: OperatorCall, query: TensorDesc) -> TensorDesc:
    return call.tensor_of((*query.shape[:3], _STATISTICS_WIDTH), "FLOAT")


def _pairs(queries: int, keys: int, *, causal: bool) -> int:
    """Return the number of (query, key) pairs that are computed; the causal mask starts at the upper left."""
    if not causal:
        return queries * keys
    full = max(queries - keys, 0)
    return full * keys + sum(range(1, min(queries, keys) + 1))
