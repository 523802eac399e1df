"""
Optimizers: multi-tensor (foreach) kernels, fused steps, gradient scaling.

Kineto gives tensor lists without dtypes; the lists of an optimizer are taken as FLOAT (see ``signature_from_kineto``).
Interfaces with a ``V2`` have an L0 function of the same name; generated ones show the bare type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from drynpu.kernels import KernelPlan, KernelSpec, Named, TensorDesc
from drynpu_torch.rules._call import AtenCall, scalar

_VERSION_TWO: Final = """
AddList AddScalar AddcdivScalar AddcmulScalar DivScalar MaximumScalar MinimumScalar MulScalar PowScalar SubList
SubScalar
"""
# Kernels that are launched through the second version of their interface.
_SECOND_VERSION: Final = frozenset(f"Foreach{name}" for name in _VERSION_TWO.split())
_NORM_OPS = 4
"""Operations per element of a norm: an assumed number, as the costs ``*n`` in tables."""


def foreach(call: AtenCall) -> KernelPlan | None:
    """Return the plan of an operator on lists of tensors, with a list of numbers or one number."""
    lists, word = call.lists, call.binding.kernel
    if not lists or not lists[0]:
        return None
    inputs = [*(t for part in lists for t in part), scalar(lists[0][0].dtype)]
    return _multi_tensor(call, f"{word}{_suffix(call, word, len(lists))}", inputs, lists[0])


def foreach_one(call: AtenCall) -> KernelPlan | None:
    """Return the plan of an operator on one list of tensors; zeros are written without reading."""
    lists = call.lists
    if not lists or not lists[0]:
        return None
    read = 0 if call.binding.kernel == "ZeroInplace" else None
    return _multi_tensor(call, call.binding.kernel, [*lists[0]], lists[0], read=read)


def foreach_norm(call: AtenCall) -> KernelPlan | None:
    """Return the plan of norms, one number for each tensor."""
    lists = call.lists
    if not lists or not lists[0]:
        return None
    parts, outputs = lists[0], [TensorDesc((), t.dtype) for t in lists[0]]
    over = _elements(parts)
    return _multi_tensor(call, "Norm", [*parts, scalar(parts[0].dtype)], outputs, cost=_NORM_OPS, over=over)


def foreach_copy(call: AtenCall) -> KernelPlan | None:
    """Return the plan of copying the second list into the first."""
    lists = call.lists
    return _multi_tensor(call, "Copy", [*lists[1]], lists[0], cost=0) if len(lists) > 1 and lists[0] else None


def adamw(call: AtenCall) -> KernelPlan | None:
    """
    Return the plan of ``params grads exp_avgs exp_avg_sqs max_exp_avg_sqs steps``.

    torch_npu calls ApplyAdamWV2 once per parameter. As measured the kernel lists var, m, v, grad, step and no outputs,
    though it writes var, m and v.
    """
    lists = call.lists
    if len(lists) < 4 or len({len(part) for part in lists[:4]}) > 1:
        return None
    largest = lists[4] if len(lists) > 5 else ()
    kernels = []
    for position, (param, grad, first, second) in enumerate(zip(*lists[:4], strict=True)):
        state, extra = (param, first, second), largest[position : position + 1]
        inputs = [*state, grad, TensorDesc((1,), "INT64"), *extra]
        kernels.append(_step(call, inputs, param, (*state, *extra)))
    return call.plan(*kernels)


def sgd(call: AtenCall) -> KernelPlan | None:
    """Return the plan of ``params grads momentum_buffers``; drynpu assumes GE's operator SGD for each parameter."""
    lists = call.lists
    if len(lists) < 2:
        return None
    buffers = lists[2] if len(lists) > 2 else ()
    kernels = []
    for position, (param, grad) in enumerate(zip(*lists[:2], strict=False)):
        extra = buffers[position : position + 1]
        kernels.append(_step(call, [param, grad, *extra], param, (param, *extra)))
    return call.plan(*kernels)


def unscale(call: AtenCall) -> KernelPlan | None:
    """Return the plan of dividing gradients by the scale and finding infinite ones."""
    parts = call.parts
    if not parts:
        return None
    inputs = [*parts, *call.tensors("found", "scale")]
    return call.plan(call.under("").kernel(call.binding.kernel, inputs, parts, cost=2, over=_elements(parts)))


def update_scale(call: AtenCall) -> KernelPlan | None:
    """Return the plan of updating the scale of gradients."""
    state = call.tensors("scale", "tracker", "found")
    return call.plan(call.main_kernel(state, state[:2], cost=4))


def _multi_tensor(
    call: AtenCall, word: str, inputs: list[TensorDesc], outputs: Sequence[TensorDesc], **options: Any
) -> KernelPlan:
    op_type = f"Foreach{word}"
    outputs = [TensorDesc((t.elements,), t.dtype) if t.shape else t for t in outputs]  # they are listed flat (measured)
    api, options = f"aclnn{op_type}", {"cost": call.binding.operations, "over": _elements(outputs), **options}
    if op_type in _SECOND_VERSION:
        call = call.under(f"{api}V2", f"{op_type}V2")
        return call.plan(call.kernel(op_type, inputs, outputs, **options))
    return call.under(api).plan(call.under("").kernel(op_type, inputs, outputs, **options))


def _suffix(call: AtenCall, word: str, lists: int) -> str:
    """Return the ending of the kernel's name: it takes a list of tensors, a list of numbers, or one number."""
    if any(isinstance(value, tuple) for value in call.arguments):
        return "ScalarList"
    if word in {"Addcmul", "Addcdiv"}:
        return "Scalar"
    return "List" if lists > (2 if word == "Lerp" else 1) else "Scalar"


def _step(call: AtenCall, inputs: list[TensorDesc], param: TensorDesc, state: Sequence[TensorDesc]) -> KernelSpec:
    """Return the kernel that updates one parameter; it lists no outputs."""
    cost, written = call.binding.operations, sum(t.size_bytes for t in state)
    return call.under("").kernel(call.binding.kernel, inputs, [], cost=cost, over=param.elements, written=written)


def _elements(tensors: Sequence[TensorDesc]) -> int:
    return sum(t.elements for t in tensors)


NAMES: Final = (
    Named(
        foreach,
        "",
        "_foreach_add(_)=:Add _foreach_sub(_)=:Sub _foreach_mul(_)=:Mul _foreach_div(_)=:Div _foreach_lerp(_)=:Lerp "
        "_foreach_addcmul(_)=:Addcmul _foreach_addcdiv(_)=:Addcdiv _foreach_pow(_)=:Pow _foreach_maximum(_)=:Maximum "
        "_foreach_minimum(_)=:Minimum _foreach_clamp_max(_)=:Minimum _foreach_clamp_min(_)=:Maximum",
    ),
    Named(
        foreach_one,
        "",
        "_foreach_sqrt(_)=:Sqrt _foreach_rsqrt(_)=:Rsqrt _foreach_neg(_)=:Neg _foreach_exp(_)=:Exp "
        "_foreach_abs(_)=:Abs _foreach_reciprocal(_)=:Reciprocal _foreach_sign(_)=:Sign _foreach_log(_)=:Log "
        "_foreach_sigmoid(_)=:Sigmoid _foreach_tanh(_)=:Tanh _foreach_erf(_)=:Erf _foreach_sin(_)=:Sin "
        "_foreach_cos(_)=:Cos _foreach_round(_)=:Round _foreach_floor(_)=:Floor _foreach_ceil(_)=:Ceil "
        "_foreach_zero(_)=:ZeroInplace*0",
    ),
    Named(foreach_norm, "", "_foreach_norm=:Norm"),
    Named(foreach_copy, "", "_foreach_copy_=:Copy"),
    Named(adamw, "", "_fused_adamw_=ApplyAdamWV2 _fused_adam_=ApplyAdamWV2"),
    Named(sgd, "", "_fused_sgd_=:SGD"),
    Named(unscale, "parts found! scale!", "_amp_foreach_non_finite_check_and_unscale_=ForeachNonFiniteCheckAndUnscale"),
    Named(update_scale, "scale! tracker! found!", "_amp_update_scale_=AmpUpdateScale"),
)
