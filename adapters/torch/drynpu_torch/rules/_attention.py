"""
Scaled dot product attention.

On the CPU the fused operator is ``_scaled_dot_product_flash_attention_for_cpu``; it stands for
FlashAttentionScore (device_and_cost_model.md 4.1). Operation counts are those of section 2: 4 x queries x keys x
heads x width for the cube unit, 4 x queries x keys x heads for the softmax; the backward pass has five products
instead of two. A causal call costs half: the measured backward kernel shows that masked blocks are skipped (3.1,
identity 4). The exact number of pairs under the diagonal is used.
"""

from __future__ import annotations

from drynpu.kernels import KernelPlan, KernelSpec, Signature, TaskType, TensorDesc
from drynpu_torch.rules._shapes import ceil_div, flag, number, product
from drynpu_torch.rules._work import Rule, cube_kernel, kernel, plan, tensor

__all__ = ["attention_rules"]

_RANK = 4
_QUERY_BLOCK = 128
_STATISTICS_WIDTH = 8
_SOFTMAX_OPS, _SOFTMAX_GRAD_OPS = 4, 8


def _pairs(queries: int, keys: int, *, causal: bool) -> int:
    """Return the number of (query, key) pairs that are computed; the causal mask starts at the upper left."""
    if not causal:
        return queries * keys
    full = max(queries - keys, 0)
    return full * keys + sum(range(1, min(queries, keys) + 1))


def _drop_mask(pairs: int) -> KernelSpec:
    mask = TensorDesc((ceil_div(pairs, 128) * 16,), "UINT8")
    return kernel("aclnnDropoutGenMaskV2", "DSAGenBitMask", "DSAGenBitMask", [], [mask], task=TaskType.DSA, cost=0)


def _forward(signature: Signature) -> KernelPlan | None:
    q, k, v = signature.tensor(0), signature.tensor(1), signature.tensor(2)
    if q is None or k is None or v is None or any(len(t.shape) != _RANK for t in (q, k, v)):
        return None
    batch, heads, queries, width = q.shape
    pairs = batch * heads * _pairs(queries, k.shape[2], causal=flag(signature, 4))
    statistics = tensor((batch, heads, queries, _STATISTICS_WIDTH), "FLOAT")
    mask = signature.tensor(5)
    main = cube_kernel(
        "aclnnFlashAttentionScore_FlashAttentionScore_FlashAttentionScore",
        "FlashAttentionScore",
        [q, k, v] + ([mask] if mask is not None else []),
        [statistics, statistics, tensor((*q.shape[:3], v.shape[3]), q.dtype)],
        flops=2 * pairs * (width + v.shape[3]),
        vector_ops=_SOFTMAX_OPS * pairs,
        tiles=batch * heads * ceil_div(queries, _QUERY_BLOCK),
        task=TaskType.MIX_AIC,
    )
    before = [_drop_mask(batch * heads * queries * k.shape[2])] if number(signature, 3, 0.0) > 0 else []
    return plan("aclnnFlashAttentionScore", *before, main)


def _backward(signature: Signature) -> KernelPlan | None:
    dy, q, k, v, out = (signature.tensor(i) for i in range(5))
    if dy is None or q is None or k is None or v is None or out is None:
        return None
    if any(len(t.shape) != _RANK for t in (dy, q, k, v, out)):
        return None
    batch, heads, queries, width = q.shape
    pairs = batch * heads * _pairs(queries, k.shape[2], causal=flag(signature, 7))
    statistics = tensor((batch, heads, queries, _STATISTICS_WIDTH), "FLOAT")
    mask = signature.tensor(8)
    main = cube_kernel(
        "aclnnFlashAttentionScoreGrad_FlashAttentionScoreGrad_FlashAttentionScoreGrad",
        "FlashAttentionScoreGrad",
        [q, k, v, dy] + ([mask] if mask is not None else []) + [statistics, statistics, out],
        [tensor(t.shape, t.dtype, "ND") for t in (q, k, v)],
        # Scores again, then the gradients of q, k (width of q) and of the scores and v (width of v).
        flops=2 * pairs * (3 * width + 2 * v.shape[3]),
        vector_ops=_SOFTMAX_GRAD_OPS * pairs,
        tiles=batch * heads * ceil_div(k.shape[2], _QUERY_BLOCK),
        task=TaskType.MIX_AIC,
    )
    return plan("aclnnFlashAttentionScoreGrad", main)


def _masked_softmax(signature: Signature) -> KernelPlan | None:
    """Inference path of ``nn.MultiheadAttention``: fill, then softmax."""
    x, mask = signature.tensor(0), signature.tensor(1)
    if x is None or mask is None:
        return None
    fill = kernel(
        "aclnnInplaceMaskedFillScalar", None, "MaskedFill", [x, mask, TensorDesc((), x.dtype)], [x], over=x.elements
    )
    softmax = kernel("aclnnSoftmax", "SoftmaxAiCore", "SoftmaxV2", [x], [x], cost=5, over=product(x.shape))
    return plan("aclnnSoftmax", fill, softmax)


def attention_rules() -> dict[str, Rule]:
    """Return the rules of attention by operator name."""
    return {
        "aten::_scaled_dot_product_flash_attention_for_cpu": _forward,
        "aten::_scaled_dot_product_flash_attention_for_cpu_backward": _backward,
        "aten::_masked_softmax": _masked_softmax,
    }
