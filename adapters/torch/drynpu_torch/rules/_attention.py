"""
``scaled_dot_product_attention`` as torch_npu launches it (op-plugin, ScaledDotProductAttentionKernelNpuOpApi.cpp).

The fused kernel takes masks of BOOL, True where a pair is dropped: a causal call makes one of 2048 by 2048, the mask of
a script is negated. A mask of numbers, and FP32 heads whose width is no multiple of 4, are computed step by step.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve

from drynpu.kernels import KernelPlan, KernelSpec, Named, TaskType, TensorDesc, tensor_like
from drynpu.kernels.ops import Sides, attention_gradient, drop_mask, fused_attention, product_kernel
from drynpu_torch.rules._call import AtenCall

_RANK, _WIDTH_UNIT = 4, 4
_PATTERN: Final = TensorDesc((2048, 2048), "BOOL")
"""The mask of a causal call."""


def attention(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a call with four dims; for others PyTorch's inner operators have plans."""
    operands = call.tensors("query", "key", "value")
    if any(len(t.shape) != _RANK for t in operands):
        return KernelPlan(claims=False)
    mask = call.tensor("mask")
    odd = operands[0].dtype == "FLOAT" and any(t.shape[-1] % _WIDTH_UNIT for t in operands)
    if odd or (mask is not None and mask.dtype != "BOOL"):
        return _step_by_step(call, mask)
    plan = fused_attention(call)
    if plan is None:
        return None
    before, dropped = _dropped_pairs(call, mask)
    *draw, main = plan.kernels
    inputs = (*main.inputs[:3], *([dropped] if dropped else []), *main.inputs[3 + (mask is not None) :])
    return evolve(plan, kernels=(*before, *draw, evolve(main, inputs=inputs)))


def gradient(call: AtenCall) -> KernelPlan | None:
    """
    Return the plan of the gradient, by the fused kernel.

    PyTorch's CPU hands over masks of BOOL as numbers, so that masks of numbers, which the device would compute step by
    step in this direction, too, are not told from them.
    """
    plan = attention_gradient(call)
    mask = call.tensor("mask")
    if plan is None or (mask is None and not call.flag("causal")):
        return plan
    (main,) = plan.kernels
    dropped = tensor_like(mask, dtype="BOOL") if mask is not None else _PATTERN
    return evolve(
        plan, kernels=(evolve(main, inputs=(*main.inputs[:4], dropped, *main.inputs[4 + (mask is not None) :])),)
    )


def _dropped_pairs(call: AtenCall, mask: TensorDesc | None) -> tuple[list[KernelSpec], TensorDesc | None]:
    """Return the kernels that make the mask of the fused kernel, and the mask."""
    if mask is not None:
        return [call.under("aclnnLogicalNot").kernel("LogicalNot", [mask], [mask])], mask
    if not call.flag("causal"):
        return [], None
    ones = call.under("aclnnInplaceOne").kernel("OnesLike", [_PATTERN], [_PATTERN], cost=0, read=0)
    return [ones, call.under("aclnnTriu").kernel("Triu", [_PATTERN], [_PATTERN])], _PATTERN


def _step_by_step(call: AtenCall, mask: TensorDesc | None) -> KernelPlan:
    """Return scaling of both operands, their product, the mask, softmax, and the sum of the values."""
    query, key, value = call.tensors("query", "key", "value")
    batch, queries, keys = query.shape[:2], query.shape[2], key.shape[2]
    turned = call.tensor_of((*key.shape[:2], key.shape[3], keys), key.dtype)
    scores = call.tensor_of((*batch, queries, keys), query.dtype)
    scaling, adding = call.under("aclnnMuls", "MulAiCore"), call.under("aclnnAdd")
    product = call.under("aclnnBatchMatMul")
    kernels = [scaling.kernel("Mul", [t, TensorDesc((), t.dtype)], [t]) for t in (query, turned)]
    kernels.append(product_kernel(product, Sides(queries, query.shape[3], keys, batch), [query, turned], scores))
    if call.flag("causal"):
        pairs = call.tensor_of((queries, keys), "BOOL")
        kernels.append(call.under("aclnnTril").kernel("Tril", [pairs], [pairs]))
        mask = call.tensor_of((queries, keys), query.dtype)
        kernels.append(call.under("aclnnInplaceMaskedFillScalar").kernel("MaskedFill", [mask, pairs], [mask]))
    kernels += [adding.kernel("Add", [scores, mask], [scores])] if mask is not None else []
    kernels.append(call.under("aclnnSoftmax").kernel("SoftmaxV2", [scores], [scores], cost=5))
    if call.number("dropout", 0.0) > 0:
        bits, drawing = drop_mask(scores.elements), call.under("aclnnDropoutGenMaskV2")
        kernels.append(drawing.kernel("DSAGenBitMask", [], [bits], task=TaskType.DSA, cost=0))
        kernels.append(call.under("aclnnDropoutDoMask").kernel("DropOutDoMask", [scores, bits], [scores], cost=2))
    out = call.tensor_of((*batch, queries, value.shape[3]), query.dtype)
    kernels.append(product_kernel(product, Sides(queries, keys, value.shape[3], batch), [scores, value], out))
    return call.plan(*kernels)


NAMES: Final = (
    Named(attention, "query! key! value! mask dropout causal", "scaled_dot_product_attention=FlashAttentionScore:"),
    Named(
        gradient,
        "dy query key value out statistics dropout causal mask",
        "_scaled_dot_product_flash_attention_for_cpu_backward=FlashAttentionScoreGrad:",
    ),
)
