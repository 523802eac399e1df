"""
Element-wise operators of one or two operands.

The number in the tables is our count of element operations per element: 1 where the vector unit has an
instruction (add, exp, sqrt, division, ...), more where it evaluates a polynomial or a chain; 16 for GELU with erf
is that of device_and_cost_model.md 2.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from drynpu.kernels import KernelPlan, KernelSpec, Signature, TensorDesc
from drynpu_torch.rules._dtypes import FLOATING, category, promote
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
        table[name] = _Op(api, op_type, function or None, float(cost or 1), result)
    return table


_UNARY: Final = """
abs | Abs | Abs
neg | Neg | Neg
exp | Exp | Exp | 1 | float
exp2 | Exp2 | Pow | 4 | float
expm1 | Expm1 | Expm1 | 2 | float
log | Log | Log | 1 | float
log2 | Log2 | Log | 2 | float
log10 | Log10 | Log | 2 | float
log1p | Log1p | Log1p | 2 | float
sqrt | Sqrt | Sqrt | 1 | float
rsqrt | Rsqrt | Rsqrt | 1 | float
reciprocal | Reciprocal | Reciprocal | 1 | float
sin | Sin | Sin | 12 | float
cos | Cos | Cos | 12 | float
tan | Tan | Tan | 16 | float
asin | Asin | Asin | 16 | float
acos | Acos | Acos | 16 | float
atan | Atan | Atan | 16 | float
sinh | Sinh | Sinh | 6 | float
cosh | Cosh | Cosh | 6 | float
asinh | Asinh | Asinh | 8 | float
acosh | Acosh | Acosh | 8 | float
atanh | Atanh | Atanh | 8 | float
tanh | Tanh | Tanh | 8 | float
sigmoid | Sigmoid | Sigmoid | 4 | float
erf | Erf | Erf | 12 | float
erfc | Erfc | Erfc | 13 | float
erfinv | Erfinv | Erfinv | 16 | float
floor | Floor | Floor
ceil | Ceil | Ceil
round | Round | Round
trunc | Trunc | Trunc
frac | Frac | Sub | 2
sign | Sign | Sign | 2
sgn | Sign | Sign | 2
relu | Relu | Relu | 1 | | Relu
relu6 | Relu6 | Relu6 | 2
silu | Silu | Swish | 5 | | SiluAiCore
mish | Mish | Mish | 10
gelu | Gelu | Gelu | 16 | | Gelu
elu | Elu | Elu | 4
celu | Celu | CeluV2 | 4
selu | Selu | Selu | 4
softplus | Softplus | SoftplusV2 | 6
hardswish | Hardswish | HardSwish | 4
hardsigmoid | Hardsigmoid | HardSigmoid | 3
leaky_relu | LeakyRelu | LeakyRelu | 2
log_sigmoid_forward | LogSigmoidForward | LogSigmoid | 6
hardtanh | Hardtanh | ClipByValueV2 | 2 | | ClipByValueV2AiCore
logical_not | LogicalNot | LogicalNot | 1 | bool
isnan | NeTensor | NotEqual | 1 | bool
isinf | IsInf | IsInf | 1 | bool
isposinf | IsPosInf | IsPosInf | 1 | bool
isneginf | IsNegInf | IsNegInf | 1 | bool
isfinite | IsFinite | IsFinite | 1 | bool
signbit | Signbit | Less | 1 | bool
nan_to_num | NanToNum | NanToNum | 3
"""

# Fields: api with a tensor | type | cost | result | api with a number.
_BINARY: Final = """
add | Add | Add | 1 | | Adds
sub | Sub | Sub | 1 | | Subs
mul | Mul | Mul | 1 | | Muls
div | Div | RealDiv | 1 | float | Divs
true_divide | Div | RealDiv | 1 | float | Divs
maximum | Maximum | Maximum
minimum | Minimum | Minimum
fmax | Maximum | Maximum
fmin | Minimum | Minimum
floor_divide | FloorDivide | FloorDiv | 2 | | FloorDivides
remainder | RemainderTensorTensor | FloorMod | 4 | | RemainderTensorScalar
fmod | FmodTensor | Mod | 4 | | FmodScalar
atan2 | Atan2 | Atan2 | 20 | float
hypot | Hypot | Sqrt | 4 | float
logaddexp | LogAddExp | LogAddExp | 6 | float
xlogy | XLogYTensor | Xlogy | 2 | float | XLogYScalarOther
copysign | Copysign | Sign | 3 | float
eq | EqTensor | Equal | 1 | bool | EqScalar
ne | NeTensor | NotEqual | 1 | bool | NeScalar
gt | GtTensor | Greater | 1 | bool | GtScalar
ge | GeTensor | GreaterEqual | 1 | bool | GeScalar
lt | LtTensor | Less | 1 | bool | LtScalar
le | LeTensor | LessEqual | 1 | bool | LeScalar
logical_and | LogicalAnd | LogicalAnd | 1 | bool
logical_or | LogicalOr | LogicalOr | 1 | bool
logical_xor | LogicalXor | NotEqual | 1 | bool
bitwise_and | BitwiseAndTensor | BitwiseAnd | 1 | | BitwiseAndScalar
bitwise_or | BitwiseOrTensor | BitwiseOr | 1 | | BitwiseOrScalar
bitwise_xor | BitwiseXorTensor | BitwiseXor | 1 | | BitwiseXorScalar
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
