"""
Element-wise operators of one or two operands.

A number in the tables is the element operations per element where aclnn has the kernel do more than it does as an
operator of its own (``element_operations``).
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from drynpu.kernels import KernelPlan, KernelSpec, Signature, TensorDesc, element_operations
from drynpu.kernels.ops import FLOATING
from drynpu_torch.rules._dtypes import category, promote
from drynpu_torch.rules._shapes import attribute, broadcast, number
from drynpu_torch.rules._work import Rule, kernel, plan, scalar, tensor

__all__ = ["cast", "elementwise_rules", "is_wrapped_number"]

_NUMBER_DTYPES: Final = frozenset({"DOUBLE", "INT64", "BOOL", "COMPLEX128"})


@frozen
class _Op:
    """One entry of the tables: aclnn name without prefix, kernel type, L0 function (None: by rule), cost."""

    api: str
    op_type: str
    function: str | None = None
    cost: float = 1
    result: str = ""
    """``float``: integers become FLOAT; ``bool``: BOOL; empty: dtype of the operands."""


def _ops(text: str) -> dict[str, _Op]:
    """Read lines of ``aten name | api | type | cost | result | function``; trailing fields may be missing."""
    table = {}
    for line in text.strip().splitlines():
        name, api, op_type, *rest = (field.strip() for field in line.split("|"))
        cost, result, function = (*rest, *[""] * (3 - len(rest)))
        table[name] = _Op(api, op_type, function or None, float(cost) if cost else element_operations(op_type), result)
    return table


_UNARY: Final = """
abs | Abs | Abs
neg | Neg | Neg
exp | Exp | Exp | | float
exp2 | Exp2 | Pow | | float
expm1 | Expm1 | Expm1 | | float
log | Log | Log | | float
log2 | Log2 | Log | 2 | float
log10 | Log10 | Log | 2 | float
log1p | Log1p | Log1p | | float
sqrt | Sqrt | Sqrt | | float
rsqrt | Rsqrt | Rsqrt | | float
reciprocal | Reciprocal | Reciprocal | | float
sin | Sin | Sin | | float
cos | Cos | Cos | | float
tan | Tan | Tan | | float
asin | Asin | Asin | | float
acos | Acos | Acos | | float
atan | Atan | Atan | | float
sinh | Sinh | Sinh | | float
cosh | Cosh | Cosh | | float
asinh | Asinh | Asinh | | float
acosh | Acosh | Acosh | | float
atanh | Atanh | Atanh | | float
tanh | Tanh | Tanh | | float
sigmoid | Sigmoid | Sigmoid | | float
erf | Erf | Erf | | float
erfc | Erfc | Erfc | | float
erfinv | Erfinv | Erfinv | | float
floor | Floor | Floor
ceil | Ceil | Ceil
round | Round | Round
trunc | Trunc | Trunc
frac | Frac | Sub | 2
sign | Sign | Sign
sgn | Sign | Sign
relu | Relu | Relu | | | Relu
relu6 | Relu6 | Relu6
silu | Silu | Swish | | | SiluAiCore
mish | Mish | Mish
gelu | Gelu | Gelu | | | Gelu
elu | Elu | Elu
celu | Celu | CeluV2
selu | Selu | Selu
softplus | Softplus | SoftplusV2
hardswish | Hardswish | HardSwish
hardsigmoid | Hardsigmoid | HardSigmoid
leaky_relu | LeakyRelu | LeakyRelu
log_sigmoid_forward | LogSigmoidForward | LogSigmoid
hardtanh | Hardtanh | ClipByValueV2 | | | ClipByValueV2AiCore
logical_not | LogicalNot | LogicalNot | | bool
isnan | NeTensor | NotEqual | | bool
isinf | IsInf | IsInf | | bool
isposinf | IsPosInf | IsPosInf | | bool
isneginf | IsNegInf | IsNegInf | | bool
isfinite | IsFinite | IsFinite | | bool
signbit | Signbit | Less | | bool
nan_to_num | NanToNum | NanToNum
"""

# Fields: api with a tensor | type | cost | result | api with a number.
_BINARY: Final = """
add | Add | Add | | | Adds
sub | Sub | Sub | | | Subs
mul | Mul | Mul | | | Muls
div | Div | RealDiv | | float | Divs
true_divide | Div | RealDiv | | float | Divs
maximum | Maximum | Maximum
minimum | Minimum | Minimum
fmax | Maximum | Maximum
fmin | Minimum | Minimum
floor_divide | FloorDivide | FloorDiv | | | FloorDivides
remainder | RemainderTensorTensor | FloorMod | | | RemainderTensorScalar
fmod | FmodTensor | Mod | | | FmodScalar
atan2 | Atan2 | Atan2 | | float
hypot | Hypot | Sqrt | 4 | float
logaddexp | LogAddExp | LogAddExp | | float
xlogy | XLogYTensor | Xlogy | | float | XLogYScalarOther
copysign | Copysign | Sign | 3 | float
eq | EqTensor | Equal | | bool | EqScalar
ne | NeTensor | NotEqual | | bool | NeScalar
gt | GtTensor | Greater | | bool | GtScalar
ge | GeTensor | GreaterEqual | | bool | GeScalar
lt | LtTensor | Less | | bool | LtScalar
le | LeTensor | LessEqual | | bool | LeScalar
logical_and | LogicalAnd | LogicalAnd | | bool
logical_or | LogicalOr | LogicalOr | | bool
logical_xor | LogicalXor | NotEqual | | bool
bitwise_and | BitwiseAndTensor | BitwiseAnd | | | BitwiseAndScalar
bitwise_or | BitwiseOrTensor | BitwiseOr | | | BitwiseOrScalar
bitwise_xor | BitwiseXorTensor | BitwiseXor | | | BitwiseXorScalar
bitwise_left_shift | LeftShift | LeftShift
bitwise_right_shift | RightShift | RightShift
"""

_DUNDER: Final = {"__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor",
                  "__lshift__": "bitwise_left_shift", "__rshift__": "bitwise_right_shift"}  # fmt: skip
_ON_BOOL: Final = {"BitwiseAnd": "LogicalAnd", "BitwiseOr": "LogicalOr", "BitwiseXor": "NotEqual"}
_COMMUTES: Final = frozenset({"Add", "Mul", "Maximum", "Minimum", "Equal", "NotEqual", "LogicalAnd", "LogicalOr"})
_SCALED: Final = {"Add", "Sub"}


def is_wrapped_number(operand: TensorDesc) -> bool:
    """
    Tell whether an operand is a Python number that torch wrapped into a tensor.

    Those arrive as 0-dim tensors of the widest type. A genuine 0-dim DOUBLE or INT64 tensor looks the same and is
    taken for a number, too.
    """
    return operand.shape == () and operand.dtype in _NUMBER_DTYPES


def cast(api: str, source: TensorDesc, dtype: str) -> KernelSpec:
    """Return the kernel that converts *source* to *dtype*."""
    return kernel(api, None, "Cast", [source], [TensorDesc(source.shape, dtype, source.format)])


def _result_dtype(operands: list[TensorDesc], result: str) -> str:
    """Dtype that the operator computes in; numbers and 0-dim tensors only raise the category."""
    tensors = [t.dtype for t in operands if t.shape] or [t.dtype for t in operands if not is_wrapped_number(t)]
    dtype = promote(tensors or [t.dtype for t in operands])
    others = [t.dtype for t in operands if category(t.dtype) > category(dtype)]
    if others:
        wide = promote(others)
        dtype = "FLOAT" if tensors and wide == "DOUBLE" else wide
    return "FLOAT" if result == "float" and dtype not in FLOATING and category(dtype) < 2 else dtype


def _unary_rule(op: _Op, *, inplace: bool) -> Rule:
    def rule(signature: Signature) -> KernelPlan | None:
        x = signature.tensor(0)
        if x is None:
            return None
        dtype = "BOOL" if op.result == "bool" else _result_dtype([x], op.result)
        api = f"aclnnInplace{op.api}" if inplace else f"aclnn{op.api}"
        out = x if inplace else TensorDesc(x.shape, dtype, x.format)
        return plan(api, kernel(api, op.function, op.op_type, [x], [out], cost=op.cost))

    return rule


def _bitwise_not(signature: Signature) -> KernelPlan | None:
    x = signature.tensor(0)
    if x is None:
        return None
    op_type = "LogicalNot" if x.dtype == "BOOL" else "Invert"
    return plan("aclnnBitwiseNot", kernel("aclnnBitwiseNot", None, op_type, [x], [x]))


def _operands(signature: Signature) -> tuple[TensorDesc, TensorDesc | None] | None:
    """Return (tensor, other tensor or None for a number), in the order of the call; None when there is no tensor."""
    first, second = signature.tensor(0), signature.tensor(1)
    if first is None:
        return (second, None) if second is not None else None
    if second is None or (is_wrapped_number(second) and (first.shape or not is_wrapped_number(first))):
        return first, None
    if is_wrapped_number(first) and second.shape:
        return second, None
    if is_wrapped_number(second):
        return first, None
    return first, second


def _alpha(signature: Signature, op_type: str) -> float:
    return number(signature, 2, 1.0) if op_type in _SCALED else 1.0


def _binary_rule(op: _Op, with_number: str, *, inplace: bool) -> Rule:
    prefix = "aclnnInplace" if inplace else "aclnn"

    def rule(signature: Signature) -> KernelPlan | None:
        found = _operands(signature)
        if found is None:
            return None
        x, y = found
        both = [t for t in (signature.tensor(0), signature.tensor(1)) if t is not None]
        dtype = _result_dtype(both, op.result)
        api = prefix + (op.api if y is not None else with_number or op.api)
        op_type = _ON_BOOL.get(op.op_type, op.op_type) if dtype == "BOOL" else op.op_type
        if _alpha(signature, op_type) != 1 and y is not None and dtype in FLOATING:
            op_type = "AxpyV2" if dtype == "DT_BF16" else "Axpy"
        shape = broadcast([t.shape for t in (x, y) if t is not None])
        if shape is None:
            return None
        out = x if inplace and op.result != "bool" else tensor(shape, "BOOL" if op.result == "bool" else dtype, "ND")
        casts, inputs = _converted(api, [x] + ([y] if y is not None else [scalar(dtype)]), dtype, op_type)
        return plan(api, *casts, kernel(api, None, op_type, inputs, [out], cost=op.cost, over=out.elements))

    return rule


def _converted(
    api: str, operands: list[TensorDesc], dtype: str, op_type: str
) -> tuple[list[KernelSpec], list[TensorDesc]]:
    """Insert Cast kernels before operands of another type; mixtures of FLOAT and 16 bit are read as they are."""
    casts: list[KernelSpec] = []
    inputs: list[TensorDesc] = []
    for operand in operands:
        direct = operand.dtype == dtype or (operand.dtype in FLOATING and op_type in {"Add", "Sub", "Mul"})
        if direct:
            inputs.append(operand)
            continue
        casts.append(cast(api, operand, dtype))
        inputs.append(casts[-1].outputs[0])
    return casts, inputs


def _rsub(signature: Signature) -> KernelPlan | None:
    x, other = signature.tensor(0), signature.tensor(1)
    if x is None:
        return None
    tensors = [x] if other is None else [other, x]
    shape = broadcast([t.shape for t in tensors])
    if shape is None:
        return None
    dtype = _result_dtype(tensors, "")
    api = "aclnnRsubs" if other is None or is_wrapped_number(other) else "aclnnRsub"
    inputs = [scalar(dtype), x] if api == "aclnnRsubs" else tensors
    return plan(api, kernel(api, None, "Sub", inputs, [tensor(shape, dtype, "ND")]))


def _pow_rule(*, inplace: bool) -> Rule:
    prefix = "aclnnInplace" if inplace else "aclnn"

    def rule(signature: Signature) -> KernelPlan | None:
        base, exponent = signature.tensor(0), signature.tensor(1)
        if base is None and exponent is None:
            return None
        operands = [t for t in (base, exponent) if t is not None]
        by_number = exponent is None or is_wrapped_number(exponent)
        name = "PowTensorScalar" if by_number else "PowScalarTensor" if base is None else "PowTensorTensor"
        dtype = _result_dtype(operands, "float" if isinstance(attribute(signature, 1), float) else "")
        shape = broadcast([t.shape for t in operands])
        if shape is None:
            return None
        first = base if base is not None else scalar(dtype)
        second = exponent if exponent is not None and not by_number else scalar(dtype)
        api, op_type = prefix + name, "Pows" if by_number else "Pow"
        return plan(api, kernel(api, None, op_type, [first, second], [tensor(shape, dtype, "ND")], cost=4))

    return rule


def _div_rule(plain: Rule, *, inplace: bool) -> Rule:
    """``div`` with a rounding mode is another operator."""
    floor = _binary_rule(_Op("FloorDivide", "FloorDiv", None, 2), "FloorDivides", inplace=inplace)
    trunc = _binary_rule(_Op("DivMod", "Div", None, 2), "DivMods", inplace=inplace)

    def rule(signature: Signature) -> KernelPlan | None:
        mode = attribute(signature, 2)
        return (
            {"floor": floor, "trunc": trunc}.get(mode, plain)(signature) if isinstance(mode, str) else plain(signature)
        )

    return rule


def elementwise_rules() -> dict[str, Rule]:
    """Return the rules of element-wise operators; each has an in-place twin."""
    rules: dict[str, Rule] = {"aten::rsub": _rsub}
    for inplace, mark in ((False, ""), (True, "_")):
        for name, op in _ops(_UNARY).items():
            rules[f"aten::{name}{mark}"] = _unary_rule(op, inplace=inplace)
        for name, op in _ops(_BINARY).items():
            bare = _Op(op.api, op.op_type, None, op.cost, op.result)
            rules[f"aten::{name}{mark}"] = _binary_rule(bare, op.function or "", inplace=inplace)
        rules[f"aten::div{mark}"] = _div_rule(rules[f"aten::div{mark}"], inplace=inplace)
        rules[f"aten::pow{mark}"] = _pow_rule(inplace=inplace)
        rules[f"aten::bitwise_not{mark}"] = _bitwise_not
    for dunder, name in _DUNDER.items():
        rules[f"aten::{dunder}"] = rules[f"aten::{name}"]
        rules[f"aten::{dunder.replace('__', '__i', 1)}"] = rules[f"aten::{name}_"]
    return rules
