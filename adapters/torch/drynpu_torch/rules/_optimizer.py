"""
Optimizers: multi-tensor (foreach) kernels, fused steps, gradient scaling.

Kineto gives tensor lists without dtypes; the lists of an optimizer are taken as FLOAT (see ``signature_from_kineto``).
Interfaces with a ``V2`` have an L0 function of the same name; generated ones show the bare type.
"""

from __future__ import annotations

from typing import Final

from drynpu.kernels import KernelPlan, KernelSpec, Signature, TensorDesc
from drynpu_torch.rules._shapes import attribute
from drynpu_torch.rules._work import Rule, kernel, plan, scalar, tensor

__all__ = ["optimizer_rules"]

_WITH_NUMBER: Final = {
    "add": 1, "sub": 1, "mul": 1, "div": 1, "lerp": 3, "addcmul": 3, "addcdiv": 3, "pow": 4,
    "maximum": 1, "minimum": 1, "clamp_max": 1, "clamp_min": 1,
}  # fmt: skip
_TYPE_WORD: Final = {"clamp_max": "Minimum", "clamp_min": "Maximum"}
_PLAIN: Final = {
    "sqrt": 1, "rsqrt": 1, "neg": 1, "exp": 1, "abs": 1, "reciprocal": 1, "sign": 2, "log": 1, "sigmoid": 4, "tanh": 8,
    "zero": 0, "erf": 12, "sin": 12, "cos": 12, "round": 1, "floor": 1, "ceil": 1,
}  # fmt: skip
_SECOND_VERSION: Final = frozenset(
    {
        "ForeachAddList",
        "ForeachAddScalar",
        "ForeachAddcdivScalar",
        "ForeachAddcmulScalar",
        "ForeachDivScalar",
        "ForeachMaximumScalar",
        "ForeachMinimumScalar",
        "ForeachMulScalar",
        "ForeachPowScalar",
        "ForeachSubList",
        "ForeachSubScalar",
    }
)
_ADAMW_OPS, _SGD_OPS = 14, 4


def _lists(signature: Signature) -> list[tuple[TensorDesc, ...]]:
    return [value for value in signature.inputs if isinstance(value, tuple)]


def _foreach_kernel(op_type: str, inputs: list[TensorDesc], outputs: list[TensorDesc], cost: float) -> KernelSpec:
    work = sum(t.elements for t in outputs)
    if op_type in _SECOND_VERSION:
        return kernel(f"aclnn{op_type}V2", f"{op_type}V2", op_type, inputs, outputs, cost=cost, over=work)
    return kernel("", "", op_type, inputs, outputs, cost=cost, over=work)


def _suffix(signature: Signature, base: str, lists: list[tuple[TensorDesc, ...]]) -> str:
    """Which form: with a list of tensors, a list of numbers, or one number."""
    numbers = any(isinstance(attribute(signature, i), tuple) for i in range(len(signature.attributes)))
    if numbers:
        return "ScalarList"
    if base in {"addcmul", "addcdiv"}:
        return "Scalar"
    if base == "lerp":
        return "List" if len(lists) > 2 else "Scalar"
    return "List" if len(lists) > 1 else "Scalar"


def _foreach_rule(base: str, cost: float) -> Rule:
    word = _TYPE_WORD.get(base, base.capitalize())

    def rule(signature: Signature) -> KernelPlan | None:
        lists = _lists(signature)
        if not lists or not lists[0]:
            return None
        op_type = f"Foreach{word}{_suffix(signature, base, lists)}"
        inputs = [t for part in lists for t in part] + [scalar(lists[0][0].dtype)]
        spec = _foreach_kernel(op_type, inputs, list(lists[0]), cost)
        return plan(_api(op_type), spec)

    return rule


def _api(op_type: str) -> str:
    return f"aclnn{op_type}V2" if op_type in _SECOND_VERSION else f"aclnn{op_type}"


def _foreach_plain_rule(base: str, cost: float) -> Rule:
    op_type = "ForeachZeroInplace" if base == "zero" else f"Foreach{base.capitalize()}"

    def rule(signature: Signature) -> KernelPlan | None:
        lists = _lists(signature)
        if not lists or not lists[0]:
            return None
        parts = list(lists[0])
        spec = kernel(
            "",
            "",
            op_type,
            parts,
            parts,
            cost=cost,
            over=sum(t.elements for t in parts),
            read=0 if base == "zero" else None,
        )
        return plan(_api(op_type), spec)

    return rule


def _foreach_norm(signature: Signature) -> KernelPlan | None:
    lists = _lists(signature)
    if not lists or not lists[0]:
        return None
    parts = lists[0]
    outputs = [tensor((), t.dtype) for t in parts]
    spec = kernel(
        "", "", "ForeachNorm", [*parts, scalar(parts[0].dtype)], outputs, cost=4, over=sum(t.elements for t in parts)
    )
    return plan("aclnnForeachNorm", spec)


def _foreach_copy(signature: Signature) -> KernelPlan | None:
    lists = _lists(signature)
    if len(lists) < 2 or not lists[0]:
        return None
    return plan("aclnnForeachCopy", kernel("", "", "ForeachCopy", list(lists[1]), list(lists[0]), cost=0))


def _fused_adamw(signature: Signature) -> KernelPlan | None:
    """
    ``_fused_adamw_(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps, ...)``.

    torch_npu calls ApplyAdamWV2 once per parameter. As measured the kernel lists var, m, v, grad, step and no
    outputs, though it writes var, m and v.
    """
    lists = _lists(signature)
    if len(lists) < 4:
        return None
    params, grads, first, second = lists[:4]
    if not len(params) == len(grads) == len(first) == len(second):
        return None
    largest = lists[4] if len(lists) > 5 else ()
    kernels = []
    for position, param in enumerate(params):
        extra = [largest[position]] if position < len(largest) else []
        state = [param, first[position], second[position], *extra]
        inputs = [*state[:3], grads[position], TensorDesc((1,), "INT64"), *extra]
        written = sum(t.size_bytes for t in state)
        spec = kernel("", "", "ApplyAdamWV2", inputs, [], cost=_ADAMW_OPS, over=param.elements, written=written)
        kernels.append(spec)
    return plan("aclnnApplyAdamWV2", *kernels)


def _fused_sgd(signature: Signature) -> KernelPlan | None:
    """``_fused_sgd_(params, grads, momentum_buffers, ...)``: GE's SGD operator per parameter stands for it."""
    lists = _lists(signature)
    if len(lists) < 2:
        return None
    params, grads = lists[:2]
    buffers = lists[2] if len(lists) > 2 else ()
    kernels = []
    for position, (param, grad) in enumerate(zip(params, grads, strict=False)):
        extra = [buffers[position]] if position < len(buffers) else []
        written = sum(t.size_bytes for t in (param, *extra))
        inputs = [param, grad, *extra]
        kernels.append(kernel("", "", "SGD", inputs, [], cost=_SGD_OPS, over=param.elements, written=written))
    return plan("", *kernels)


def _unscale(signature: Signature) -> KernelPlan | None:
    """``_amp_foreach_non_finite_check_and_unscale_(grads, found_inf, inv_scale)``."""
    lists, found, scale = _lists(signature), signature.tensor(1), signature.tensor(2)
    if not lists or not lists[0] or found is None or scale is None:
        return None
    parts, op_type = list(lists[0]), "ForeachNonFiniteCheckAndUnscale"
    spec = kernel("", "", op_type, [*parts, found, scale], parts, cost=2, over=sum(t.elements for t in parts))
    return plan(f"aclnn{op_type}", spec)


def _update_scale(signature: Signature) -> KernelPlan | None:
    """``_amp_update_scale_(scale, growth_tracker, found_inf, ...)``."""
    state = [t for t in (signature.tensor(i) for i in range(3)) if t is not None]
    if len(state) < 3:
        return None
    api, op_type = "aclnnAmpUpdateScale", "AmpUpdateScale"
    return plan(api, kernel(api, None, op_type, state, state[:2], cost=4))


def optimizer_rules() -> dict[str, Rule]:
    """Return the rules by operator name; the multi-tensor operators have in-place twins."""
    rules: dict[str, Rule] = {
        "aten::_foreach_norm": _foreach_norm,
        "aten::_foreach_copy_": _foreach_copy,
        "aten::_fused_adamw_": _fused_adamw,
        "aten::_fused_adam_": _fused_adamw,
        "aten::_fused_sgd_": _fused_sgd,
        "aten::_amp_foreach_non_finite_check_and_unscale_": _unscale,
        "aten::_amp_update_scale_": _update_scale,
    }
    for mark in ("", "_"):
        for base, cost in _WITH_NUMBER.items():
            rules[f"aten::_foreach_{base}{mark}"] = _foreach_rule(base, cost)
        for base, cost in _PLAIN.items():
            rules[f"aten::_foreach_{base}{mark}"] = _foreach_plain_rule(base, cost)
    return rules
