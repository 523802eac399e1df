"""Element-wise operators of three operands, clamping and the gradients of activations."""

from __future__ import annotations

from collections.abc import Sequence

from drynpu.kernels import KernelPlan, Signature, TensorDesc
from drynpu_torch.rules._dtypes import promote
from drynpu_torch.rules._elementwise import is_wrapped_number
from drynpu_torch.rules._shapes import attribute, broadcast
from drynpu_torch.rules._work import Rule, kernel, plan, scalar, tensor

__all__ = ["composed_rules"]


def _common(operands: Sequence[TensorDesc], dtype: str) -> TensorDesc | None:
    shape = broadcast([t.shape for t in operands])
    return tensor(shape, dtype, "ND") if shape is not None else None


def _numbers_as_scalars(operands: Sequence[TensorDesc], dtype: str) -> list[TensorDesc]:
    return [scalar(dtype) if is_wrapped_number(t) else t for t in operands]


def _ternary_rule(api: str, function: str | None, op_type: str, cost: float, *, inplace: bool) -> Rule:
    """Three tensors of one dtype, or two and a weight; the number of the call is listed last."""
    full = f"aclnnInplace{api}" if inplace else f"aclnn{api}"

    def rule(signature: Signature) -> KernelPlan | None:
        operands = [t for t in (signature.tensor(i) for i in range(3)) if t is not None]
        if len(operands) < 2:
            return None
        dtype = promote([t.dtype for t in operands if not is_wrapped_number(t)] or [operands[0].dtype])
        out = operands[0] if inplace else _common(operands, dtype)
        if out is None:
            return None
        inputs = [*_numbers_as_scalars(operands, dtype), scalar(dtype)]
        return plan(full, kernel(full, function, op_type, inputs, [out], cost=cost, over=out.elements))

    return rule


def _where(signature: Signature) -> KernelPlan | None:
    condition = signature.tensor(0)
    choices = [t for t in (signature.tensor(1), signature.tensor(2)) if t is not None]
    if condition is None or not choices:
        return None  # where(condition) is nonzero, which speaks for itself
    dtype = promote([t.dtype for t in choices if not is_wrapped_number(t)] or [choices[0].dtype])
    out = _common([condition, *choices], dtype)
    if out is None:
        return None
    inputs = [condition, *_numbers_as_scalars(choices, dtype)]
    inputs += [scalar(dtype)] * (3 - len(inputs))
    return plan("aclnnSWhere", kernel("aclnnSWhere", None, "SelectV2", inputs, [out]))


def _masked_fill(*, inplace: bool) -> Rule:
    """The out-of-place form copies first (``aclnnInplaceMaskedFill*`` is all there is)."""

    def rule(signature: Signature) -> KernelPlan | None:
        x, mask, value = signature.tensor(0), signature.tensor(1), signature.tensor(2)
        if x is None or mask is None:
            return None
        api = "aclnnInplaceMaskedFillScalar" if value is None else "aclnnInplaceMaskedFillTensor"
        out = x if inplace else _common([x, mask], x.dtype)
        if out is None:
            return None
        fill = kernel(api, None, "MaskedFill", [out, mask, scalar(x.dtype)], [out], over=out.elements)
        copy = kernel("aclnnInplaceCopy", None, "TensorMove", [x], [out], cost=0)
        return plan(api, fill) if inplace else plan(api, copy, fill)

    return rule


def _clamp_rule(api: str, at_low: int | None, at_high: int | None, *, inplace: bool) -> Rule:
    full = f"aclnnInplace{api}" if inplace else f"aclnn{api}"

    def rule(signature: Signature) -> KernelPlan | None:
        x = signature.tensor(0)
        if x is None:
            return None
        given = [
            signature.tensor(at) or scalar(x.dtype)
            for at in (at_low, at_high)
            if at is not None and (signature.tensor(at) is not None or attribute(signature, at) is not None)
        ]
        both = len(given) > 1
        low = at_low is not None and (signature.tensor(at_low) is not None or attribute(signature, at_low) is not None)
        op_type = "ClipByValueV2" if both else "Maximum" if low else "Minimum"
        out = x if inplace else _common([x, *given], x.dtype)
        if out is None:
            return None
        inputs = [x, *_numbers_as_scalars(given, x.dtype)]
        return plan(full, kernel(full, None, op_type, inputs, [out], cost=2 if both else 1, over=out.elements))

    return rule


def _gradient_rule(api: str, function: str | None, op_type: str, cost: float) -> Rule:
    """Gradient of an activation: the first tensor is the incoming gradient, the second the saved one."""
    full = f"aclnn{api}Backward"

    def rule(signature: Signature) -> KernelPlan | None:
        given = signature.tensors()
        if len(given) < 2:
            return None
        dy, saved = given[:2]
        out = _common([dy, saved], promote([dy.dtype, saved.dtype]))
        if out is None:
            return None
        return plan(full, kernel(full, function, op_type, [dy, saved], [out], cost=cost, over=out.elements))

    return rule


def _glu(signature: Signature) -> KernelPlan | None:
    x = signature.tensor(0)
    axis = attribute(signature, 1)
    if x is None or not isinstance(axis, int) or not x.shape:
        return None
    axis %= len(x.shape)
    shape = tuple(dim // 2 if i == axis else dim for i, dim in enumerate(x.shape))
    return plan("aclnnGlu", kernel("aclnnGlu", "SigmoidAiCore", "GLU", [x], [tensor(shape, x.dtype)], cost=3))


_GRADIENTS = (
    ("threshold_backward", "Threshold", "ReluGrad", "ReluGrad", 1),
    ("gelu_backward", "Gelu", None, "GeluGrad", 24),
    ("silu_backward", "Silu", None, "SwishGrad", 8),
    ("sigmoid_backward", "Sigmoid", None, "SigmoidGrad", 3),
    ("tanh_backward", "Tanh", None, "TanhGrad", 3),
    ("mish_backward", "Mish", None, "MishGrad", 16),
    ("elu_backward", "Elu", None, "EluGradV2", 4),
    ("leaky_relu_backward", "LeakyRelu", None, "LeakyReluGrad", 2),
    ("hardtanh_backward", "Hardtanh", None, "HardtanhGrad", 2),
    ("hardswish_backward", "Hardswish", None, "HardSwishGrad", 4),
    ("hardsigmoid_backward", "Hardsigmoid", None, "HardSigmoidGrad", 3),
    ("softplus_backward", "Softplus", None, "SoftplusV2Grad", 6),
    ("log_sigmoid_backward", "LogSigmoid", None, "LogSigmoidGrad", 6),
)


def composed_rules() -> dict[str, Rule]:
    """Return the rules by operator name."""
    rules: dict[str, Rule] = {"aten::where": _where, "aten::glu": _glu}
    for inplace, mark in ((False, ""), (True, "_")):
        rules |= {
            f"aten::addcmul{mark}": _ternary_rule("Addcmul", None, "Addcmul", 3, inplace=inplace),
            f"aten::addcdiv{mark}": _ternary_rule("Addcdiv", None, "Addcdiv", 3, inplace=inplace),
            f"aten::lerp{mark}": _ternary_rule("Lerp", "Lerp", "Lerp", 3, inplace=inplace),
            f"aten::masked_fill{mark}": _masked_fill(inplace=inplace),
            f"aten::clamp{mark}": _clamp_rule("Clamp", 1, 2, inplace=inplace),
            f"aten::clip{mark}": _clamp_rule("Clamp", 1, 2, inplace=inplace),
            f"aten::clamp_min{mark}": _clamp_rule("ClampMin", 1, None, inplace=inplace),
            f"aten::clamp_max{mark}": _clamp_rule("ClampMax", None, 1, inplace=inplace),
        }
    for name, api, function, op_type, cost in _GRADIENTS:
        rules[f"aten::{name}"] = _gradient_rule(api, function, op_type, cost)
    return rules
