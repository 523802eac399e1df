"""Reductions, scans, sorting. Task types are those measured: the new reduction kernels pair cores (MIX_AIV)."""

from __future__ import annotations

from typing import Final

from attrs import evolve

from drynpu.kernels import KernelPlan, KernelSpec, Named, TaskType, TensorDesc, tensor_like
from drynpu.kernels.ops import FLOATING, axes_of, cast_kernel, reduced, replaced
from drynpu_torch.rules._call import AtenCall

# sum(x, dtype) has two arguments and reduces all; a longer call has axes, keep and dtype.
_SHORT_FORM = 2
"""Arguments of a call without axes, which reduces all of them."""
_PAIRS_CORES: Final = frozenset({"ReduceSum", "ReduceMean"})


def total(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a sum or product; integers and BOOL are summed as INT64."""
    (x,) = call.tensors("x")
    widens = x.dtype not in FLOATING and not x.dtype.startswith("COMPLEX")
    return _sum(call, "INT64" if widens else x.dtype)


def mean(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a mean, which has the type of ``x``."""
    return _sum(call, call.tensors("x")[0].dtype)


def extreme(call: AtenCall) -> KernelPlan | None:
    """Return the plan of finding the largest or the smallest value."""
    return _reduction(call, call.tensors("x")[0].dtype)


def truth(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a reduction of truth values."""
    return _reduction(call, "BOOL")


def largest(call: AtenCall) -> KernelPlan | None:
    """Return the plan of an extreme value, with its place where an axis is given; two tensors have other rules."""
    (x,), axes = call.tensors("x"), call.dims("axes")
    if call.signature.tensor(1) is not None:
        return None
    word = call.binding.api.removeprefix("aclnn")
    if not axes or len(call.signature.inputs) <= _SHORT_FORM:
        out = TensorDesc((), x.dtype)
        return call.plan(_reduce(call.launching(f"Reduce{word}"), x, axes_of(x.shape, None), out))
    shape = reduced(x.shape, axes_of(x.shape, axes), keep=call.flag("keep"))
    index, value = call.tensor_of(shape, "INT32"), call.tensor_of(shape, x.dtype)
    call = call.under(f"aclnn{word}Dim")
    return call.plan(call.kernel(f"Arg{word}WithValue", [x], [index, value]), cast_kernel(call, index, "INT64"))


def position(call: AtenCall) -> KernelPlan | None:
    """Return the plan of finding the place of the largest or the smallest value."""
    (x,) = call.tensors("x")
    shape = reduced(x.shape, axes_of(x.shape, call.dims("axes")), keep=call.flag("keep"))
    return call.plan(
        call.main_kernel([x, TensorDesc((1,), "INT64")], [call.tensor_of(shape, "INT64")], over=x.elements)
    )


def norm(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a norm, measured as MIX_AIV."""
    (x,) = call.tensors("x")
    shape = reduced(x.shape, axes_of(x.shape, call.dims("axes")), keep=call.flag("keep"))
    out = call.tensor_of(shape, call.dtype("dtype") or x.dtype)
    return call.plan(call.main_kernel([x], [out], task=TaskType.MIX_AIV, over=x.elements))


def spread(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a variance: the mean, then the deviation from it."""
    (x,) = call.tensors("x")
    axes = axes_of(x.shape, call.dims("axes"))
    average = call.tensor_of(reduced(x.shape, axes, keep=True), x.dtype)
    out = call.tensor_of(reduced(x.shape, axes, keep=call.flag("keep")), x.dtype)
    deviation = call.kernel("ReduceStdV2Update", [x, average], [out], cost=3, over=x.elements)
    return call.plan(_reduce(call.launching("ReduceMean"), x, axes, average), deviation)


def scan(call: AtenCall) -> KernelPlan | None:
    """Return the plan of running sums or products."""
    (x,) = call.tensors("x")
    casts, source = _cast_to(call, x, call.dtype("dtype") or (x.dtype if x.dtype in FLOATING else "INT64"))
    return call.plan(*casts, call.main_kernel([source, TensorDesc((), "INT64")], [source]))


def top(call: AtenCall) -> KernelPlan | None:
    """Return the plan of finding the largest values and their places."""
    (x,), count = call.tensors("x"), call.whole("count", 1)
    if not x.shape or count < 0:
        return None
    shape = replaced(x.shape, call.whole("axis", -1), count)
    values, indices = call.tensor_of(shape, x.dtype), call.tensor_of(shape, "INT32")
    inputs, cost = [x, TensorDesc((), "INT32")], max(count, 1).bit_length()
    spec = call.kernel("TopKV2", inputs, [values, indices], task=TaskType.MIX_AIV, cost=cost, over=x.elements)
    return call.plan(spec, cast_kernel(call, indices, "INT64"))


def sort(call: AtenCall) -> KernelPlan | None:
    """Return the plan of sorting values and their places along the last axis."""
    (x,) = call.tensors("x")
    indices, cost = tensor_like(x, dtype="INT32"), max(x.shape[-1] if x.shape else 1, 1).bit_length()
    spec = call.kernel("Sort", [x], [x, indices], task=TaskType.MIX_AIV, cost=cost)
    return call.plan(spec, cast_kernel(call, indices, "INT64"))


def equal(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a comparison of two tensors, whose result the host waits for."""
    out = TensorDesc((1,), "BOOL")
    plan = call.plan(call.main_kernel(call.tensors("x", "y"), [out]), call.copy_to_host(out))
    return evolve(plan, synchronizes=True)


def _sum(call: AtenCall, usual: str) -> KernelPlan:
    short = len(call.signature.inputs) <= _SHORT_FORM
    return _reduction(call, call.dtype("dtype") or (call.dtype("axes") if short else None) or usual)


def _reduction(call: AtenCall, dtype: str) -> KernelPlan:
    """Return the plan over ``axes``, or over all where the call is too short to have them."""
    (x,), long = call.tensors("x"), len(call.signature.inputs) > _SHORT_FORM
    axes = axes_of(x.shape, call.dims("axes") if long else None)
    casts, source = _cast_to(call, x, dtype)
    out = call.tensor_of(reduced(x.shape, axes, keep=long and call.flag("keep")), dtype)
    return call.plan(*casts, _reduce(call, source, axes, out))


def _reduce(call: AtenCall, x: TensorDesc, axes: tuple[int, ...], out: TensorDesc) -> KernelSpec:
    task = TaskType.MIX_AIV if call.binding.kernel in _PAIRS_CORES else TaskType.AI_VECTOR_CORE
    inputs = [x, TensorDesc((max(len(axes), 1),), "INT64")]
    return call.kernel(call.binding.kernel, inputs, [out], task=task, over=x.elements, read=x.size_bytes)


def _cast_to(call: AtenCall, x: TensorDesc, dtype: str) -> tuple[list[KernelSpec], TensorDesc]:
    casts = [cast_kernel(call, x, dtype)] if dtype != x.dtype else []
    return casts, casts[0].outputs[0] if casts else x


NAMES: Final = (
    Named(total, "x! axes keep dtype", "sum=ReduceSum nansum=ReduceNansum:ReduceSum prod=Prod:ReduceProd"),
    Named(mean, "x! axes keep dtype", "mean=Mean:ReduceMean"),
    Named(extreme, "x! axes keep", "amax=Amax:ReduceMax amin=Amin:ReduceMin"),
    Named(truth, "x! axes keep", "all=All:ReduceAll any=Any:ReduceAny"),
    Named(largest, "x! axes keep", "max=Max: min=Min:"),
    Named(position, "x! axes keep", "argmax=ArgMax:ArgMaxV2 argmin=ArgMin"),
    Named(norm, "x! order axes keep dtype", "linalg_vector_norm=LinalgVectorNorm:LpNormV2*4"),
    Named(spread, "x! axes correction keep", "var=Var: std=Std: var_mean=VarMean: std_mean=StdMean:"),
    Named(scan, "x! axis dtype", "cumsum(_)=Cumsum cumprod=Cumprod"),
    Named(top, "x! count axis", "topk=Topk:"),
    Named(sort, "x!", "sort=Sort"),
    Named(equal, "x! y!", "equal=Equal:TensorEqual"),
)
