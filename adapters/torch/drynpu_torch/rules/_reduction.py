"""Reductions, scans, sorting. Task types are those measured: the new reduction kernels pair cores (MIX_AIV)."""

from __future__ import annotations

from drynpu.kernels import KernelPlan, KernelSpec, Signature, TaskType, TensorDesc
from drynpu.kernels.ops import FLOATING, axes_of, reduced, replaced
from drynpu_torch.rules._dtypes import ge_dtype_of_code
from drynpu_torch.rules._elementwise import cast
from drynpu_torch.rules._shapes import attribute, flag, integers, whole
from drynpu_torch.rules._work import Rule, kernel, like, plan, tensor, to_host

__all__ = ["reduction_rules"]

_LOSS_NORM_OPS = 4
_SUMMED_FORM = 3


def _dims(signature: Signature, at: int) -> tuple[tuple[int, ...], bool]:
    """
    Return (axes, keepdim).

    ``sum(x, dtype)`` has two arguments and reduces all; a longer call carries dims at *at* and keepdim after it.
    """
    x = signature.tensors()[0]
    if len(signature.inputs) < at + 2:
        return axes_of(x.shape, None), False
    return axes_of(x.shape, integers(signature, at)), flag(signature, at + 1)


def _axes_tensor(axes: tuple[int, ...]) -> TensorDesc:
    return TensorDesc((max(len(axes), 1),), "INT64")


def _reduce(
    api: str, function: str, op_type: str, x: TensorDesc, axes: tuple[int, ...], out: TensorDesc, *, cost: float = 1
) -> KernelSpec:
    task = TaskType.MIX_AIV if op_type in {"ReduceSum", "ReduceMean"} else TaskType.AI_VECTOR_CORE
    inputs = [x, _axes_tensor(axes)]
    return kernel(api, function, op_type, inputs, [out], task=task, cost=cost, over=x.elements, read=x.size_bytes)


def _wanted_dtype(signature: Signature, x: TensorDesc, *, integers_widen: bool) -> str:
    found = next((ge_dtype_of_code(attribute(signature, i)) for i in (3, 1) if _is_dtype(signature, i)), None)
    if found:
        return found
    return "INT64" if integers_widen and x.dtype not in FLOATING and not x.dtype.startswith("COMPLEX") else x.dtype


def _is_dtype(signature: Signature, at: int) -> bool:
    """Whether the argument at *at* is the dtype: the second of a two-argument call, the fourth otherwise."""
    if at == 1 and len(signature.inputs) > 2:
        return False
    return at < len(signature.attributes) and ge_dtype_of_code(attribute(signature, at)) is not None


def _sum_rule(api: str, function: str, op_type: str) -> Rule:
    def rule(signature: Signature) -> KernelPlan | None:
        x = signature.tensor(0)
        if x is None:
            return None
        axes, keep = _dims(signature, 1)
        dtype = _wanted_dtype(signature, x, integers_widen=op_type != "ReduceMean")
        casts = [cast(api, x, dtype)] if dtype != x.dtype else []
        source = casts[0].outputs[0] if casts else x
        out = tensor(reduced(x.shape, axes, keep=keep), dtype)
        return plan(api, *casts, _reduce(api, function, op_type, source, axes, out))

    return rule


def _extreme_rule(api: str, op_type: str) -> Rule:
    """``amax``, ``amin``, ``all``, ``any`` with dims; the result of the last two is BOOL."""

    def rule(signature: Signature) -> KernelPlan | None:
        x = signature.tensor(0)
        if x is None:
            return None
        axes, keep = _dims(signature, 1)
        logical = op_type in {"ReduceAll", "ReduceAny"}
        source, casts = x, []
        if logical and x.dtype != "BOOL":
            casts = [cast(api, x, "BOOL")]
            source = casts[0].outputs[0]
        out = tensor(reduced(x.shape, axes, keep=keep), source.dtype)
        function = op_type if logical else f"{op_type}AiCore"
        return plan(api, *casts, _reduce(api, function, op_type, source, axes, out))

    return rule


def _max_rule(name: str) -> Rule:
    """``max`` and ``min``: of all elements, along one dimension, or of two tensors."""
    word = "Max" if name == "max" else "Min"

    def rule(signature: Signature) -> KernelPlan | None:
        x, other = signature.tensor(0), signature.tensor(1)
        if x is None:
            return None
        if other is not None:
            return None  # max(a, b) calls maximum(a, b), which speaks
        axes = integers(signature, 1)
        if not axes or len(signature.inputs) < _SUMMED_FORM:
            everything = axes_of(x.shape, None)
            out = tensor((), x.dtype)
            return plan(
                f"aclnn{word}", _reduce(f"aclnn{word}", f"Reduce{word}AiCore", f"Reduce{word}", x, everything, out)
            )
        shape = reduced(x.shape, axes_of(x.shape, axes), keep=flag(signature, 2))
        api = f"aclnn{word}Dim"
        index, value = tensor(shape, "INT32"), tensor(shape, x.dtype)
        op_type = f"Arg{word}WithValue"
        return plan(
            api,
            kernel(api, op_type, op_type, [x], [index, value]),
            cast(api, index, "INT64"),
        )

    return rule


def _argument_rule(word: str) -> Rule:
    api, op_type = f"aclnnArg{word}", "ArgMaxV2" if word == "Max" else "ArgMin"

    def rule(signature: Signature) -> KernelPlan | None:
        x = signature.tensor(0)
        if x is None:
            return None
        axes = axes_of(x.shape, integers(signature, 1))
        out = tensor(reduced(x.shape, axes, keep=flag(signature, 2)), "INT64")
        axis = TensorDesc((1,), "INT64")
        return plan(api, kernel(api, None, op_type, [x, axis], [out], over=x.elements))

    return rule


def _norm(signature: Signature) -> KernelPlan | None:
    """``linalg_vector_norm(x, ord, dim, keepdim, dtype)``; LpNormV2 measured as MIX_AIV."""
    x = signature.tensor(0)
    if x is None:
        return None
    axes = axes_of(x.shape, integers(signature, 2))
    out = tensor(reduced(x.shape, axes, keep=flag(signature, 3)), ge_dtype_of_code(attribute(signature, 4)) or x.dtype)
    api = "aclnnLinalgVectorNorm"
    spec = kernel(api, "LpNormV2", "LpNormV2", [x], [out], task=TaskType.MIX_AIV, cost=_LOSS_NORM_OPS, over=x.elements)
    return plan(api, spec)


def _spread_rule(word: str, *, with_mean: bool) -> Rule:
    """``var`` and ``std``: the mean, then the deviation from it."""

    def rule(signature: Signature) -> KernelPlan | None:
        x = signature.tensor(0)
        if x is None:
            return None
        axes = axes_of(x.shape, integers(signature, 1))
        keep = len(signature.inputs) > _SUMMED_FORM and flag(signature, 3)
        api = f"aclnn{word}" + ("Mean" if with_mean else "")
        mean = tensor(reduced(x.shape, axes, keep=True), x.dtype)
        out = tensor(reduced(x.shape, axes, keep=keep), x.dtype)
        deviation = kernel(api, "ReduceStdV2Update", "ReduceStdV2Update", [x, mean], [out], cost=3, over=x.elements)
        return plan(api, _reduce(api, "ReduceMeanAiCore", "ReduceMean", x, axes, mean), deviation)

    return rule


def _scan_rule(api: str, op_type: str) -> Rule:
    def rule(signature: Signature) -> KernelPlan | None:
        x = signature.tensor(0)
        if x is None:
            return None
        dtype = ge_dtype_of_code(attribute(signature, 2)) or (x.dtype if x.dtype in FLOATING else "INT64")
        casts = [cast(api, x, dtype)] if dtype != x.dtype else []
        source = casts[0].outputs[0] if casts else x
        axis = TensorDesc((), "INT64")
        return plan(api, *casts, kernel(api, None, op_type, [source, axis], [like(source)]))

    return rule


def _topk(signature: Signature) -> KernelPlan | None:
    x = signature.tensor(0)
    if x is None or not x.shape:
        return None
    count, axis = whole(signature, 1, 1), whole(signature, 2, -1)
    if count < 0:
        return None
    shape = replaced(x.shape, axis, count)
    values, indices = tensor(shape, x.dtype), tensor(shape, "INT32")
    main = kernel(
        "aclnnTopk",
        "TopkV2AiCore",
        "TopKV2",
        [x, TensorDesc((), "INT32")],
        [values, indices],
        task=TaskType.MIX_AIV,
        cost=max(count, 1).bit_length(),
        over=x.elements,
    )
    return plan("aclnnTopk", main, cast("aclnnTopk", indices, "INT64"))


def _sort(signature: Signature) -> KernelPlan | None:
    x = signature.tensor(0)
    if x is None:
        return None
    indices = like(x, dtype="INT32")
    length = max(x.shape[-1] if x.shape else 1, 1)
    main = kernel("aclnnSort", None, "Sort", [x], [like(x), indices], task=TaskType.MIX_AIV, cost=length.bit_length())
    return plan("aclnnSort", main, cast("aclnnSort", indices, "INT64"))


def _equal(signature: Signature) -> KernelPlan | None:
    """``torch.equal``: one number comes back to the host."""
    a, b = signature.tensor(0), signature.tensor(1)
    if a is None or b is None:
        return None
    out = TensorDesc((1,), "BOOL")
    spec = kernel("aclnnEqual", None, "TensorEqual", [a, b], [out])
    return plan("aclnnEqual", spec, to_host(out), synchronizes=True)


def reduction_rules() -> dict[str, Rule]:
    """Return the rules by operator name."""
    return {
        "aten::sum": _sum_rule("aclnnReduceSum", "ReduceSumOpAiCore", "ReduceSum"),
        "aten::nansum": _sum_rule("aclnnReduceNansum", "ReduceSumOpAiCore", "ReduceSum"),
        "aten::mean": _sum_rule("aclnnMean", "ReduceMeanAiCore", "ReduceMean"),
        "aten::prod": _sum_rule("aclnnProd", "ReduceProdAiCore", "ReduceProd"),
        "aten::amax": _extreme_rule("aclnnAmax", "ReduceMax"),
        "aten::amin": _extreme_rule("aclnnAmin", "ReduceMin"),
        "aten::all": _extreme_rule("aclnnAll", "ReduceAll"),
        "aten::any": _extreme_rule("aclnnAny", "ReduceAny"),
        "aten::max": _max_rule("max"),
        "aten::min": _max_rule("min"),
        "aten::argmax": _argument_rule("Max"),
        "aten::argmin": _argument_rule("Min"),
        "aten::linalg_vector_norm": _norm,
        "aten::var": _spread_rule("Var", with_mean=False),
        "aten::std": _spread_rule("Std", with_mean=False),
        "aten::var_mean": _spread_rule("Var", with_mean=True),
        "aten::std_mean": _spread_rule("Std", with_mean=True),
        "aten::cumsum": _scan_rule("aclnnCumsum", "Cumsum"),
        "aten::cumsum_": _scan_rule("aclnnCumsum", "Cumsum"),
        "aten::cumprod": _scan_rule("aclnnCumprod", "Cumprod"),
        "aten::topk": _topk,
        "aten::sort": _sort,
        "aten::equal": _equal,
    }
