"""Losses. The class target of the NLL kernels is INT32 on the device, hence a Cast (measured)."""

from __future__ import annotations

from drynpu.kernels import KernelPlan, Signature, TaskType, TensorDesc
from drynpu_torch.rules._elementwise import cast
from drynpu_torch.rules._shapes import broadcast, number
from drynpu_torch.rules._work import Rule, kernel, like, plan, scalar, tensor

__all__ = ["loss_rules"]


def _class_weight(signature: Signature, at: int, x: TensorDesc) -> TensorDesc:
    """Return the class weights; torch_npu passes ones when there are none."""
    classes = x.shape[1] if len(x.shape) > 1 else x.elements
    return signature.tensor(at) or TensorDesc((classes,), x.dtype)


def _nll(signature: Signature) -> KernelPlan | None:
    """``nll_loss_forward(x, target, weight, reduction, ignore_index)``; reduction 0 keeps every loss."""
    x, target = signature.tensor(0), signature.tensor(1)
    if x is None or target is None:
        return None
    out = tensor(target.shape if number(signature, 3, 1) == 0 else (), x.dtype)
    total = scalar(x.dtype)
    api = f"aclnnNLLLoss{'2d' if len(x.shape) == 4 else ''}"
    inputs = [x, like(target, dtype="INT32"), _class_weight(signature, 2, x)]
    # Of the log-probabilities only those of the target classes are read.
    spec = kernel(
        api,
        None,
        "NLLLoss",
        inputs,
        [out, total],
        task=TaskType.MIX_AIV,
        cost=2,
        over=target.elements,
        read=target.elements * (4 + 2 * out.size_bytes // max(out.elements, 1)),
    )
    return plan(api, kernel(api, "MemSet", "MemSet", [], [out, total], cost=0), spec)


def _nll_backward(signature: Signature) -> KernelPlan | None:
    """``nll_loss_backward(dy, x, target, weight, reduction, ignore_index, total_weight)``."""
    dy, x, target = signature.tensor(0), signature.tensor(1), signature.tensor(2)
    if dy is None or x is None or target is None:
        return None
    api = f"aclnnNLLLoss{'2d' if len(x.shape) == 4 else ''}Backward"
    convert = cast(api, target, "INT32")
    weight = _class_weight(signature, 3, x)
    inputs = [x, dy, convert.outputs[0], weight, scalar(x.dtype)]
    spec = kernel(
        api,
        None,
        "NLLLossGrad",
        inputs,
        [x],
        cost=2,
        over=target.elements,
        read=dy.size_bytes + weight.size_bytes + 4 * target.elements,
    )
    return plan(api, convert, spec)


def _pointwise_rule(api: str, op_type: str, cost: float) -> Rule:
    """``loss(input, target, reduction)`` and the weighted forms, reduction after the last tensor."""

    def rule(signature: Signature) -> KernelPlan | None:
        x, target = signature.tensor(0), signature.tensor(1)
        shape = broadcast([t.shape for t in (x, target) if t is not None])
        if x is None or target is None or shape is None:
            return None
        at = 3 if op_type == "BinaryCrossEntropy" else 2
        out = tensor(shape if number(signature, at, 1) == 0 else (), x.dtype)
        return plan(api, kernel(api, op_type, op_type, [x, target], [out], cost=cost))

    return rule


def _pointwise_backward_rule(api: str, op_type: str, cost: float) -> Rule:
    def rule(signature: Signature) -> KernelPlan | None:
        dy, x, target = signature.tensor(0), signature.tensor(1), signature.tensor(2)
        if dy is None or x is None or target is None:
            return None
        return plan(api, kernel(api, op_type, op_type, [x, target, dy], [x], cost=cost))

    return rule


def loss_rules() -> dict[str, Rule]:
    """Return the rules by operator name."""
    rules: dict[str, Rule] = {
        "aten::nll_loss_forward": _nll,
        "aten::nll_loss2d_forward": _nll,
        "aten::nll_loss_backward": _nll_backward,
        "aten::nll_loss2d_backward": _nll_backward,
    }
    for name, api, op_type, cost in (
        ("mse_loss", "MseLoss", "MseLoss", 3),
        ("smooth_l1_loss", "SmoothL1Loss", "SmoothL1LossV2", 5),
        ("huber_loss", "HuberLoss", "SmoothL1LossV2", 5),
        ("soft_margin_loss", "SoftMarginLoss", "SoftMarginLoss", 6),
        ("binary_cross_entropy", "BinaryCrossEntropy", "BinaryCrossEntropy", 6),
    ):
        rules[f"aten::{name}"] = _pointwise_rule(f"aclnn{api}", op_type, cost)
        rules[f"aten::{name}_backward"] = _pointwise_backward_rule(f"aclnn{api}Backward", f"{op_type}Grad", cost)
    return rules
