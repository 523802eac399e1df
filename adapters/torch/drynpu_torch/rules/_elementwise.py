"""Element-wise operators of one or two operands. Each has a twin that works in place."""

from __future__ import annotations

from typing import Final

from drynpu.kernels import KernelPlan, KernelSpec, Named, TensorDesc, broadcast_shape
from drynpu.kernels.ops import FLOATING, cast_kernel
from drynpu_torch.rules._call import AtenCall, is_wrapped_number, scalar
from drynpu_torch.rules._dtypes import category, promote

# floating: integers become FLOAT; logical: the result is BOOL.
# Interfaces for a tensor and a number, where the name does not follow from the interface for two tensors.
_WITH_NUMBER: Final = {
    **{api: f"{api}s" for api in ("aclnnAdd", "aclnnSub", "aclnnMul", "aclnnDiv", "aclnnFloorDivide", "aclnnDivMod")},
    "aclnnXLogYTensor": "aclnnXLogYScalarOther",
}
_ON_BOOL: Final = {"BitwiseAnd": "LogicalAnd", "BitwiseOr": "LogicalOr", "BitwiseXor": "NotEqual"}
_SCALED: Final = frozenset({"Add", "Sub"})


def unary(call: AtenCall) -> KernelPlan | None:
    """Return the plan of an operator whose result has the type of ``x``."""
    return _unary(call, _result_dtype(call.tensors("x"), floating=False))


def floating(call: AtenCall) -> KernelPlan | None:
    """Return the plan of an operator whose result is floating: integers become FLOAT."""
    return _unary(call, _result_dtype(call.tensors("x"), floating=True))


def logical(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a test of each element, whose result is BOOL."""
    return _unary(call, "BOOL")


def bitwise_not(call: AtenCall) -> KernelPlan | None:
    """Return the plan of inverting bits, which is another kernel for BOOL; one interface serves both forms."""
    (x,) = call.tensors("x")
    return call.plan(call.kernel("LogicalNot" if x.dtype == "BOOL" else "Invert", [x], [x]))


def _unary(call: AtenCall, dtype: str) -> KernelPlan:
    (x,), form = call.tensors("x"), call.form
    out = x if call.in_place else TensorDesc(x.shape, dtype, x.format)
    return form.plan(form.kernel(form.binding.kernel, [x], [out], cost=form.binding.operations))


def binary(call: AtenCall) -> KernelPlan | None:
    """Return the plan of an operator whose result has the type to which the operands are promoted."""
    return _binary(call)


def floating_binary(call: AtenCall) -> KernelPlan | None:
    """Return the plan of an operator of two operands whose result is floating."""
    return _binary(call, floating=True)


def comparison(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a comparison, whose result is BOOL."""
    return _binary(call, "BOOL")


def division(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a division, which is another operator where ``mode`` rounds."""
    rounding = {"floor": "aclnnFloorDivide:FloorDiv(x y)", "trunc": "aclnnDivMod:Div*2(x y)"}.get(call.text("mode"))
    return _binary(call, floating=True) if rounding is None else _binary(call.spelled(rounding))


def power(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a power; base or exponent may be a number."""
    base, exponent = call.tensor("x"), call.tensor("y")
    operands = call.tensors("x", "y")
    shape = broadcast_shape([t.shape for t in operands])
    if not operands or shape is None:
        return None
    by_number = exponent is None or is_wrapped_number(exponent)
    dtype = _result_dtype(operands, floating=isinstance(call.attribute("y"), float))
    inputs = [base or scalar(dtype), scalar(dtype) if by_number or exponent is None else exponent]
    word = "PowTensorScalar" if by_number else "PowScalarTensor" if base is None else "PowTensorTensor"
    form = call.under(f"aclnn{word}").form
    return form.plan(form.kernel("Pows" if by_number else "Pow", inputs, [TensorDesc(shape, dtype)], cost=4))


def reversed_subtraction(call: AtenCall) -> KernelPlan | None:
    """Return the plan of subtracting ``x`` from ``y``."""
    (x,), other = call.tensors("x"), call.tensor("y")
    operands = [x] if other is None else [other, x]
    shape, dtype = broadcast_shape([t.shape for t in operands]), _result_dtype(operands, floating=False)
    if shape is None:
        return None
    if other is None or is_wrapped_number(other):
        call, operands = call.under("aclnnRsubs"), [scalar(dtype), x]
    return call.plan(call.kernel("Sub", operands, [TensorDesc(shape, dtype)]))


def _binary(call: AtenCall, returned: str = "", *, floating: bool = False) -> KernelPlan | None:
    operands = _operands(call)
    shape = broadcast_shape([t.shape for t in operands])
    if not operands or shape is None:
        return None
    dtype = _result_dtype(call.tensors("x", "y"), floating=floating)
    api, op_type = call.binding.api, call.binding.kernel
    op_type = _ON_BOOL.get(op_type, op_type) if dtype == "BOOL" else op_type
    if len(operands) == 1:
        api = _WITH_NUMBER.get(api, f"{api.removesuffix('Tensor')}Scalar" if api.endswith("Tensor") else api)
    elif op_type in _SCALED and call.number("alpha", 1.0) != 1 and dtype in FLOATING:
        op_type = "AxpyV2" if dtype == "DT_BF16" else "Axpy"
    out = operands[0] if call.in_place and returned != "BOOL" else TensorDesc(shape, returned or dtype)
    form = call.under(api).form
    casts, inputs = _converted(form, operands if len(operands) > 1 else [*operands, scalar(dtype)], dtype, op_type)
    cost, over = call.binding.operations, out.elements
    return form.plan(*casts, form.kernel(op_type, inputs, [out], cost=cost, over=over))


def _operands(call: AtenCall) -> list[TensorDesc]:
    """Return both tensors, or one where the other is a number."""
    x, y = call.tensor("x"), call.tensor("y")
    if x is None or y is None:
        return call.tensors("x", "y")
    if is_wrapped_number(y) and (x.shape or not is_wrapped_number(x)):
        return [x]
    if is_wrapped_number(x) and y.shape:
        return [y]
    return [x] if is_wrapped_number(y) else [x, y]


def _converted(
    call: AtenCall, operands: list[TensorDesc], dtype: str, op_type: str
) -> tuple[list[KernelSpec], list[TensorDesc]]:
    """Return Cast kernels for operands of another type, and the operands after them; FLOAT mixes with 16 bit uncast."""
    casts: list[KernelSpec] = []
    inputs: list[TensorDesc] = []
    for operand in operands:
        if operand.dtype == dtype or (operand.dtype in FLOATING and op_type in {"Add", "Sub", "Mul"}):
            inputs.append(operand)
        else:
            casts.append(cast_kernel(call, operand, dtype))
            inputs.append(casts[-1].outputs[0])
    return casts, inputs


def _result_dtype(operands: list[TensorDesc], *, floating: bool) -> str:
    """Return the type that an operator computes in; numbers and 0-dim tensors count only by a higher category."""
    tensors = [t.dtype for t in operands if t.shape] or [t.dtype for t in operands if not is_wrapped_number(t)]
    dtype = promote(tensors or [t.dtype for t in operands])
    others = [t.dtype for t in operands if category(t.dtype) > category(dtype)]
    if others:
        wide = promote(others)
        dtype = "FLOAT" if tensors and wide == "DOUBLE" else wide
    return "FLOAT" if floating and dtype not in FLOATING and category(dtype) < 2 else dtype


NAMES: Final = (
    Named(
        unary,
        "x!",
        "abs(_)=Abs neg(_)=Neg floor(_)=Floor ceil(_)=Ceil round(_)=Round trunc(_)=Trunc frac(_)=Frac:Sub*2 "
        "sign(_)=Sign sgn(_)=Sign relu(_)=Relu relu6(_)=Relu6 silu(_)=Silu:SiluAiCore/Swish mish(_)=Mish "
        "gelu(_)=Gelu elu(_)=Elu celu(_)=Celu:CeluV2 selu(_)=Selu softplus(_)=Softplus:SoftplusV2 "
        "hardswish(_)=Hardswish:HardSwish hardsigmoid(_)=Hardsigmoid:HardSigmoid leaky_relu(_)=LeakyRelu "
        "log_sigmoid_forward(_)=LogSigmoidForward:LogSigmoid hardtanh(_)=Hardtanh:ClipByValueV2AiCore/ClipByValueV2 "
        "nan_to_num(_)=NanToNum hardshrink=Hardshrink:HardShrink",
    ),
    Named(
        floating,
        "x!",
        "exp(_)=Exp exp2(_)=Exp2:Pow expm1(_)=Expm1 log(_)=Log log2(_)=Log2:Log*2 log10(_)=Log10:Log*2 "
        "log1p(_)=Log1p sqrt(_)=Sqrt rsqrt(_)=Rsqrt reciprocal(_)=Reciprocal sin(_)=Sin cos(_)=Cos tan(_)=Tan "
        "asin(_)=Asin acos(_)=Acos atan(_)=Atan sinh(_)=Sinh cosh(_)=Cosh asinh(_)=Asinh acosh(_)=Acosh "
        "atanh(_)=Atanh tanh(_)=Tanh sigmoid(_)=Sigmoid erf(_)=Erf erfc(_)=Erfc erfinv(_)=Erfinv",
    ),
    Named(
        logical,
        "x!",
        "logical_not(_)=LogicalNot isnan(_)=NeTensor:NotEqual isinf(_)=IsInf isposinf(_)=IsPosInf "
        "isneginf(_)=IsNegInf isfinite(_)=IsFinite signbit(_)=Signbit:Less",
    ),
    Named(bitwise_not, "x!", "bitwise_not(_)=BitwiseNot:"),
    Named(
        binary,
        "x y alpha",
        "add(_)=Add sub(_)=Sub mul(_)=Mul maximum(_)=Maximum minimum(_)=Minimum fmax(_)=Maximum fmin(_)=Minimum "
        "floor_divide(_)=FloorDivide:FloorDiv remainder(_)=RemainderTensorTensor:FloorMod fmod(_)=FmodTensor:Mod "
        "bitwise_and(_)=BitwiseAndTensor:BitwiseAnd __and__=BitwiseAndTensor:BitwiseAnd "
        "__iand__=BitwiseAndTensor:BitwiseAnd bitwise_or(_)=BitwiseOrTensor:BitwiseOr "
        "__or__=BitwiseOrTensor:BitwiseOr __ior__=BitwiseOrTensor:BitwiseOr "
        "bitwise_xor(_)=BitwiseXorTensor:BitwiseXor __xor__=BitwiseXorTensor:BitwiseXor "
        "__ixor__=BitwiseXorTensor:BitwiseXor bitwise_left_shift(_)=LeftShift __lshift__=LeftShift "
        "__ilshift__=LeftShift bitwise_right_shift(_)=RightShift __rshift__=RightShift __irshift__=RightShift",
    ),
    Named(
        floating_binary,
        "x y",
        "true_divide(_)=Div:RealDiv atan2(_)=Atan2 hypot(_)=Hypot:Sqrt*4 logaddexp(_)=LogAddExp "
        "logaddexp2=LogAddExp2:LogAddExp xlogy(_)=XLogYTensor:Xlogy copysign(_)=Copysign:Sign*3 "
        "_prelu_kernel=Prelu:PRelu",
    ),
    Named(
        comparison,
        "x y",
        "eq(_)=EqTensor:Equal ne(_)=NeTensor:NotEqual gt(_)=GtTensor:Greater ge(_)=GeTensor:GreaterEqual "
        "lt(_)=LtTensor:Less le(_)=LeTensor:LessEqual logical_and(_)=LogicalAnd logical_or(_)=LogicalOr "
        "logical_xor(_)=LogicalXor:NotEqual",
    ),
    Named(division, "x y mode", "div(_)=Div:RealDiv"),
    Named(power, "x y", "pow(_)=Pow:"),
    Named(reversed_subtraction, "x! y", "rsub=Rsub:Sub"),
)
