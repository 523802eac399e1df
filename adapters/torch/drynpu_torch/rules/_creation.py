"""Creation, filling and random numbers. Fills write only; random bits come from the DSA engine."""

from __future__ import annotations

import math

from drynpu.kernels import KernelPlan, KernelSpec, Signature, TaskType, TensorDesc
from drynpu_torch.rules._dtypes import ge_dtype_of_code
from drynpu_torch.rules._shapes import attribute, ceil_div, flag, integers, number
from drynpu_torch.rules._work import Rule, kernel, like, plan, scalar, tensor

__all__ = ["creation_rules"]

_DEFAULT_FLOAT = "FLOAT"


def _set_all(api: str, op_type: str, out: TensorDesc) -> KernelPlan:
    """ZerosLike and OnesLike: the tensor is listed as input, nothing of it is read."""
    return plan(api, kernel(api, None, op_type, [out], [out], cost=0, read=0))


def _fill(api: str, out: TensorDesc) -> KernelPlan:
    dims = TensorDesc((max(len(out.shape), 1),), "INT64")
    return plan(api, kernel(api, None, "Fill", [dims, scalar(out.dtype)], [out], cost=0, read=0))


def _in_place(api: str, op_type: str) -> Rule:
    def rule(signature: Signature) -> KernelPlan | None:
        x = signature.tensor(0)
        if x is None:
            return None
        return _fill(api, x) if op_type == "Fill" else _set_all(api, op_type, x)

    return rule


def _fill_in_place(signature: Signature) -> KernelPlan | None:
    x = signature.tensor(0)
    if x is None:
        return None
    return _fill("aclnnInplaceFillScalar" if signature.tensor(1) is None else "aclnnInplaceFillTensor", x)


def _of_size(api: str, op_type: str, dtype_at: int) -> Rule:
    """``zeros(size, dtype, ...)``, ``ones``, ``full(size, value, dtype, ...)``; default dtype taken as FLOAT."""

    def rule(signature: Signature) -> KernelPlan | None:
        size = integers(signature, 0)
        if size is None or min(size, default=0) < 0:
            return None
        out = tensor(size, ge_dtype_of_code(attribute(signature, dtype_at)) or _default(signature))
        return _fill(api, out) if op_type == "Fill" else _set_all(api, op_type, out)

    return rule


def _scalar_tensor(signature: Signature) -> KernelPlan | None:
    """``scalar_tensor(value, dtype, ...)``."""
    value = attribute(signature, 0)
    if not isinstance(value, (bool, int, float)):
        return None
    return _fill("aclnnInplaceFillScalar", scalar(ge_dtype_of_code(attribute(signature, 1)) or _DEFAULT_FLOAT))


def _default(signature: Signature) -> str:
    """Dtype of ``full`` without a dtype: that of the value."""
    if signature.name != "aten::full":
        return _DEFAULT_FLOAT
    value = attribute(signature, 1)
    return "BOOL" if isinstance(value, bool) else "INT64" if isinstance(value, int) else _DEFAULT_FLOAT


def _like_rule(api: str, op_type: str, dtype_at: int) -> Rule:
    def rule(signature: Signature) -> KernelPlan | None:
        x = signature.tensor(0)
        if x is None:
            return None
        out = like(x, dtype=ge_dtype_of_code(attribute(signature, dtype_at)))
        return _fill(api, out) if op_type == "Fill" else _set_all(api, op_type, out)

    return rule


def _new_rule(api: str, op_type: str, dtype_at: int) -> Rule:
    def rule(signature: Signature) -> KernelPlan | None:
        x, size = signature.tensor(0), integers(signature, 1)
        if x is None or size is None or min(size, default=0) < 0:
            return None
        out = tensor(size, ge_dtype_of_code(attribute(signature, dtype_at)) or x.dtype)
        return _fill(api, out) if op_type == "Fill" else _set_all(api, op_type, out)

    return rule


def _arange(signature: Signature) -> KernelPlan | None:
    """
    ``arange(end, ...)``, ``(start, end, ...)``, ``(start, end, step, ...)`` by the number of arguments.

    The out form, called inside, has the result as its last argument.
    """
    out = signature.tensor(len(signature.inputs) - 1) if signature.inputs else None
    count = {2: 1, 4: 3}.get(len(signature.inputs)) if out is not None else len(signature.inputs) - 4
    if count not in (1, 2, 3):
        return None
    numbers = [v for v in (attribute(signature, i) for i in range(count)) if isinstance(v, (int, float))]
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        return None
    start, end = (0, numbers[0]) if count == 1 else (numbers[0], numbers[1])
    step = numbers[2] if len(numbers) > 2 else 1
    whole = all(isinstance(value, int) for value in (start, end, step))
    given = None if out is not None else ge_dtype_of_code(attribute(signature, count))
    dtype = out.dtype if out is not None else given or ("INT64" if whole else _DEFAULT_FLOAT)
    length = max(int(-((start - end) // step)), 0) if step else 0
    # Bounds are handed over as INT64 or DOUBLE scalars (measured).
    bound = scalar("INT64" if dtype.startswith("INT") else "DOUBLE")
    result = tensor((length,), dtype)
    spec = kernel("aclnnArange", "ArangeAiCore", "Range", [bound] * 3, [result], cost=2, over=length, read=0)
    return plan("aclnnArange", spec)


def _dsa(api: str, op_type: str, out: TensorDesc) -> KernelSpec:
    return kernel(api, op_type, op_type, [], [out], task=TaskType.DSA, cost=0)


def _random_rule(api: str, op_type: str) -> Rule:
    def rule(signature: Signature) -> KernelPlan | None:
        x = signature.tensor(0)
        return plan(api, _dsa(api, op_type, x)) if x is not None else None

    return rule


def _drop(x: TensorDesc) -> KernelPlan:
    """One bit per element in whole groups of 128, then the masking."""
    mask = TensorDesc((ceil_div(x.elements, 128) * 16,), "UINT8")
    one = TensorDesc((1,), x.dtype)
    return plan(
        "aclnnDropoutDoMask",
        _dsa("aclnnDropoutGenMaskV2", "DSAGenBitMask", mask),
        kernel(
            "aclnnDropoutDoMask", "DropoutDoMaskAiCore", "DropOutDoMask", [x, mask, one], [x], cost=2, over=x.elements
        ),
    )


def _dropout(signature: Signature) -> KernelPlan | None:
    """``dropout(x, p, train)``: in training the CPU draws and multiplies; an NPU draws bits and masks."""
    x = signature.tensor(0)
    if x is None:
        return None
    active = flag(signature, 2) and 0 < number(signature, 1, 0.0) < 1
    return _drop(x) if active else KernelPlan(claims=False)


def _native_dropout(signature: Signature) -> KernelPlan | None:
    x = signature.tensor(0)
    if x is None:
        return None
    return _drop(x) if attribute(signature, 2) is not False else KernelPlan(claims=False)


def _native_dropout_backward(signature: Signature) -> KernelPlan | None:
    dy, mask = signature.tensor(0), signature.tensor(1)
    if dy is None or mask is None:
        return None
    api = "aclnnDropoutDoMask"
    bits = TensorDesc((ceil_div(dy.elements, 128) * 16,), "UINT8")
    inputs = [dy, bits, TensorDesc((1,), dy.dtype)]
    return plan(api, kernel(api, "DropoutDoMaskAiCore", "DropOutDoMask", inputs, [dy], cost=2, over=dy.elements))


def _randperm(signature: Signature) -> KernelPlan | None:
    length = attribute(signature, 0)
    if not isinstance(length, int) or length < 0:
        return None
    out = tensor((length,), "INT64")
    api = "aclnnRandperm"
    return plan(
        api, kernel(api, "StatelessRandpermAiCpu", "StatelessRandperm", [], [out], task=TaskType.AI_CPU, cost=8)
    )


def _multinomial(signature: Signature) -> KernelPlan | None:
    x, samples = signature.tensor(0), attribute(signature, 1)
    if x is None or not isinstance(samples, int) or samples < 0:
        return None
    out = tensor((*x.shape[:-1], samples), "INT64")
    api, op_type = "aclnnMultinomial", "MultinomialWithReplacement"
    return plan(api, kernel(api, f"{op_type}AiCpu", op_type, [x], [out], task=TaskType.AI_CPU, cost=4))


def creation_rules() -> dict[str, Rule]:
    """Return the rules by operator name."""
    return {
        "aten::zero_": _in_place("aclnnInplaceZero", "ZerosLike"),
        "aten::fill_": _fill_in_place,
        "aten::zeros": _of_size("aclnnInplaceZero", "ZerosLike", 1),
        "aten::ones": _of_size("aclnnInplaceOne", "OnesLike", 1),
        "aten::full": _of_size("aclnnInplaceFillScalar", "Fill", 2),
        "aten::zeros_like": _like_rule("aclnnInplaceZero", "ZerosLike", 1),
        "aten::ones_like": _like_rule("aclnnInplaceOne", "OnesLike", 1),
        "aten::full_like": _like_rule("aclnnInplaceFillScalar", "Fill", 2),
        "aten::new_zeros": _new_rule("aclnnInplaceZero", "ZerosLike", 2),
        "aten::new_ones": _new_rule("aclnnInplaceOne", "OnesLike", 2),
        "aten::new_full": _new_rule("aclnnInplaceFillScalar", "Fill", 3),
        "aten::scalar_tensor": _scalar_tensor,
        "aten::arange": _arange,
        "aten::normal_": _random_rule("aclnnInplaceNormal", "DSARandomNormal"),
        "aten::uniform_": _random_rule("aclnnInplaceUniform", "DSARandomUniform"),
        "aten::random_": _random_rule("aclnnInplaceRandom", "DSARandomUniform"),
        "aten::bernoulli_": _random_rule("aclnnInplaceBernoulli", "DSARandomUniform"),
        "aten::bernoulli": _random_rule("aclnnBernoulli", "DSARandomUniform"),
        "aten::exponential_": _random_rule("aclnnInplaceExponential", "DSARandomUniform"),
        "aten::randperm": _randperm,
        "aten::multinomial": _multinomial,
        "aten::dropout": _dropout,
        "aten::native_dropout": _native_dropout,
        "aten::native_dropout_backward": _native_dropout_backward,
    }
