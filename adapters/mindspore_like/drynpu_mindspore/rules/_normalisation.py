"""
Normalisations, softmax, losses, dropout.

A training batch norm is BNTrainingReduce and BNTrainingUpdate, its gradient BNTrainingUpdateGrad and
BNTrainingReduceGrad; that of inference is BNInfer (device_and_cost_model.md 4.3).
"""

from __future__ import annotations

import math

from drynpu.kernels import KernelPlan, Rule, TaskType, TensorDesc, plan_of
from drynpu_mindspore.rules._signature import Call
from drynpu_mindspore.rules._work import kernel, rule_of

__all__ = ["normalisation_rules"]

_SOFTMAX_OPS, _SOFTMAX_GRAD_OPS = 5, 4
_REDUCE_OPS, _UPDATE_OPS, _UPDATE_GRAD_OPS, _REDUCE_GRAD_OPS = 3, 3, 4, 6
_INFER_OPS, _CROSS_ENTROPY_OPS = 3, 8
_LAYER_NORM_OPS, _LAYER_NORM_GRAD_OPS = 8, 14
_DROPOUT_OPS = 2
_MASK_BITS = 128
"""A drop-out mask has a bit per element, in multiples of 128 bits (aclnnDropoutGenMask)."""


def _batch_norm(call: Call) -> KernelPlan | None:
    """``BatchNorm(x, scale, bias, mean, variance, is_training, ...)``."""
    given = [call.tensor(i) for i in range(5)]
    known = [t for t in given if t is not None]
    if len(known) < len(given):
        return None
    x, scale, offset, mean, variance = known
    training = call.flag("is_training", 5)
    if training is None:
        return None
    if not training:
        return plan_of(kernel("BNInfer", known, [x], cost=_INFER_OPS, over=x.elements))
    sums = [TensorDesc(scale.shape, "FLOAT")] * 2
    reduce = kernel("BNTrainingReduce", [x], sums, cost=_REDUCE_OPS, over=x.elements)
    inputs = [x, *sums, scale, offset, mean, variance]
    update = kernel("BNTrainingUpdate", inputs, [x, *sums, *sums], cost=_UPDATE_OPS, over=x.elements)
    return plan_of(reduce, update)


def _batch_norm_grad(call: Call) -> KernelPlan | None:
    """``BatchNormGrad(dy, x, scale, mean, variance, reserve, is_training, ...)``."""
    dy, x, scale = call.tensor(0), call.tensor(1), call.tensor(2)
    if dy is None or x is None or scale is None:
        return None
    channel = TensorDesc(scale.shape, "FLOAT")
    inputs = [dy, x, channel, channel]
    update = kernel("BNTrainingUpdateGrad", inputs, [channel, channel], cost=_UPDATE_GRAD_OPS, over=x.elements)
    if call.flag("is_training", 6) is False:
        return plan_of(update, kernel("BNInferGrad", [dy, scale, channel], [x], cost=_INFER_OPS, over=x.elements))
    inputs = [*inputs, scale, channel, channel]
    reduce = kernel("BNTrainingReduceGrad", inputs, [x], cost=_REDUCE_GRAD_OPS, over=x.elements)
    return plan_of(update, reduce)


def _layer_norm(call: Call) -> KernelPlan | None:
    """``LayerNorm(x, gamma, beta, ...) -> (y, mean, reciprocal deviation)``."""
    x, gamma, beta = (call.tensor(i) for i in range(3))
    if x is None or gamma is None or beta is None:
        return None
    kept = x.shape[: len(x.shape) - len(gamma.shape)]
    statistic = TensorDesc((*kept, *(1,) * len(gamma.shape)), "FLOAT")
    made = list(call.outputs) or [x, statistic, statistic]
    return plan_of(kernel("LayerNormV3", [x, gamma, beta], made, cost=_LAYER_NORM_OPS, over=x.elements))


def _layer_norm_grad(call: Call) -> KernelPlan | None:
    """``LayerNormGrad(x, dy, variance, mean, gamma, ...) -> (dx, dgamma, dbeta)``."""
    inputs, gamma = call.tensors()[:5], call.tensor(4)
    if len(inputs) < 5 or gamma is None:
        return None
    x = inputs[0]
    made = list(call.outputs) or [x, gamma, gamma]
    return plan_of(kernel("LayerNormGradV3", inputs, made, cost=_LAYER_NORM_GRAD_OPS, over=x.elements))


def _group_norm(call: Call) -> KernelPlan | None:
    """``GroupNorm(x, groups, gamma, beta, epsilon) -> (y, mean, reciprocal deviation)``."""
    inputs = call.tensors()
    if len(inputs) < 3 or not call.outputs:
        return None
    x = inputs[0]
    return plan_of(kernel("GroupNorm", inputs, call.outputs, cost=_LAYER_NORM_OPS, over=x.elements))


def _group_norm_grad(call: Call) -> KernelPlan | None:
    """``GroupNormGrad(dy, x, mean, deviation, gamma, ...) -> (dx, dgamma, dbeta)``."""
    inputs = call.tensors()
    if len(inputs) < 5 or not call.outputs:
        return None
    x = inputs[1]
    return plan_of(kernel("GroupNormGrad", inputs, call.outputs, cost=_LAYER_NORM_GRAD_OPS, over=x.elements))


def _over_first(op_type: str, cost: float, operands: int = 1) -> Rule:
    """Operators that return what their first input looks like."""

    def read(call: Call) -> KernelPlan | None:
        inputs = call.tensors()[:operands]
        if len(inputs) < operands:
            return None
        return plan_of(kernel(op_type, inputs, [inputs[0]], cost=cost, over=inputs[0].elements))

    return rule_of(read, op_type)


def _cross_entropy(call: Call) -> KernelPlan | None:
    """``(logits, labels) -> (loss, gradient of the logits)``; both come from one kernel."""
    logits, labels = call.tensor(0), call.tensor(1)
    if logits is None or labels is None:
        return None
    made = list(call.outputs) or [TensorDesc(logits.shape[:1], logits.dtype), logits]
    op_type = "SoftmaxCrossEntropyWithLogits"
    return plan_of(kernel(op_type, [logits, labels], made, cost=_CROSS_ENTROPY_OPS, over=logits.elements))


def _sparse_cross_entropy(call: Call) -> KernelPlan | None:
    """
    ``(logits, labels) -> mean loss``, or with ``is_grad`` the gradient.

    On a device MindSpore unfolds it (its pass SparseSoftmaxCrossEntropyWithLogitsUnifyMindIR): the labels become
    one-hot rows, then comes the dense operator, then a mean over the batch, or for the gradient a scaling by it.
    """
    logits, labels = call.tensor(0), call.tensor(1)
    gradient = call.attrs.get("is_grad")
    if logits is None or labels is None or len(logits.shape) != 2 or not isinstance(gradient, bool):
        return None
    rows = TensorDesc(logits.shape[:1], logits.dtype)
    scalar = TensorDesc((), logits.dtype)
    one_hot = kernel("OneHot", [labels, scalar, scalar], [logits], cost=1, over=logits.elements)
    op_type = "SoftmaxCrossEntropyWithLogits"
    dense = kernel(op_type, [logits, logits], [rows, logits], cost=_CROSS_ENTROPY_OPS, over=logits.elements)
    if gradient:
        return plan_of(one_hot, dense, kernel("RealDiv", [logits, scalar], [logits]))
    return plan_of(one_hot, dense, kernel("ReduceMean", [rows], [scalar], over=rows.elements))


def _dropout(call: Call) -> KernelPlan | None:
    """``Dropout(x, keep_prob, seed, ...)``: a mask by the random number unit, then its use."""
    x = call.tensor(0)
    if x is None:
        return None
    bits = -(-x.elements // _MASK_BITS) * _MASK_BITS
    mask = TensorDesc((bits // 8,), "UINT8")
    made = kernel("DropOutGenMask", [], [mask], task=TaskType.DSA, cost=0, over=x.elements)
    return plan_of(made, kernel("DropOutDoMaskV3", [x, mask], [x], cost=_DROPOUT_OPS, over=x.elements))


def _dropout_grad(call: Call) -> KernelPlan | None:
    """``DropoutGrad(dy, mask)``."""
    dy = call.tensor(0)
    if dy is None:
        return None
    mask = TensorDesc((math.prod([-(-dy.elements // _MASK_BITS), _MASK_BITS // 8]),), "UINT8")
    return plan_of(kernel("DropOutDoMaskV3", [dy, mask], [dy], cost=_DROPOUT_OPS, over=dy.elements))


def normalisation_rules() -> dict[str, Rule]:
    """Return the rules by primitive."""
    return {
        "BatchNorm": rule_of(_batch_norm, "BNTrainingUpdate"),
        "BatchNormGrad": rule_of(_batch_norm_grad, "BNTrainingReduceGrad"),
        "LayerNorm": rule_of(_layer_norm, "LayerNormV3"),
        "LayerNormExt": rule_of(_layer_norm, "LayerNormV3"),
        "LayerNormGrad": rule_of(_layer_norm_grad, "LayerNormGradV3"),
        "GroupNorm": rule_of(_group_norm, "GroupNorm"),
        "GroupNormGrad": rule_of(_group_norm_grad, "GroupNormGrad"),
        "Softmax": _over_first("SoftmaxV2", _SOFTMAX_OPS),
        "LogSoftmax": _over_first("LogSoftmaxV2", _SOFTMAX_OPS),
        "SoftmaxGrad": _over_first("SoftmaxGrad", _SOFTMAX_GRAD_OPS, 2),
        "LogSoftmaxGrad": _over_first("LogSoftmaxGrad", _SOFTMAX_GRAD_OPS, 2),
        "SoftmaxCrossEntropyWithLogits": rule_of(_cross_entropy, "SoftmaxCrossEntropyWithLogits"),
        "SparseSoftmaxCrossEntropyWithLogits": rule_of(_sparse_cross_entropy, "SoftmaxCrossEntropyWithLogits"),
        "Dropout": rule_of(_dropout, "DropOutDoMaskV3"),
        "DropoutGrad": rule_of(_dropout_grad, "DropOutDoMaskV3"),
    }
