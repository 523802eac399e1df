"""Element-wise primitives, their gradients, casts, selections and fills."""

from __future__ import annotations

from typing import Final

from drynpu.kernels import KernelPlan, Rule, TensorDesc, broadcast_shape, element_operations, kernel_types, plan_of
from drynpu_mindspore.rules._signature import Call
from drynpu_mindspore.rules._work import kernel, rule_of

__all__ = ["elementwise_rules"]

# Primitives, with GE's type where it is another.
_UNARY: Final = kernel_types("""
    Abs Neg Sign Square Sqrt Rsqrt Reciprocal Exp Expm1 Log Log1p Sin Cos Tan Sinh Cosh Asin Acos Atan Asinh Acosh
    Atanh Erf Erfc Tanh Sigmoid Softplus SoftplusExt=SoftplusV2 Softsign Mish ReLU=Relu ReLU6=Relu6 Elu EluExt=Elu
    SeLU=Selu LeakyReLUExt=LeakyRelu HSwish=HardSwish HSigmoid=HardSigmoid HShrink=HardShrink SiLU=Swish GeLU=Gelu
    GeluExt=GeluV2 FastGeLU=FastGelu Floor Ceil Round Trunc Rint LogicalNot BitwiseNot=Invert
""")
_TO_BOOL: Final = ("IsNan", "IsInf", "IsFinite")
_BINARY: Final = kernel_types("""
    Add AddExt=Add Sub SubExt=Sub Mul Muls Div=RealDiv RealDiv DivMod=FloorDiv DivNoNan FloorDiv FloorMod Mod
    TruncateDiv TruncateMod Maximum Minimum Pow PowTensorScalar=Pow SquaredDifference Xdivy Xlogy Atan2 BitwiseAnd
    BitwiseOr BitwiseXor InplaceAddExt=Add InplaceSubExt=Sub InplaceMul=Mul InplaceDiv=RealDiv
""")
_COMPARISONS: Final = kernel_types("""
    Equal NotEqual Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr LogicalXor=NotEqual
""")
# Two or three tensors of one shape: the incoming gradient and saved values, in whichever order the primitive has them.
_GRADIENTS: Final = kernel_types("""
    ReluGrad ReLU6Grad=Relu6Grad EluGrad SeluGrad HSwishGrad=HardSwishGrad HSigmoidGrad=HardSigmoidGrad SigmoidGrad
    TanhGrad SqrtGrad RsqrtGrad ReciprocalGrad SoftplusGrad SiLUGrad=SiluGrad GeLUGrad=GeluGrad
    FastGeLUGrad=FastGeluGrad MishGrad AbsGrad
""")
_LOSSES: Final = {
    "SigmoidCrossEntropyWithLogits": 8,
    "SigmoidCrossEntropyWithLogitsGrad": 6,
    "BinaryCrossEntropy": 6,
    "BinaryCrossEntropyGrad": 6,
    "SmoothL1Loss": 4,
    "SmoothL1LossGrad": 4,
    "KLDivLoss": 4,
    "KLDivLossGrad": 3,
}


def _joined(call: Call, operands: int, dtype: str | None) -> TensorDesc | None:
    """Return what the launch returns, worked out from its inputs where MindSpore did not say."""
    if call.output() is not None:
        return call.output()
    inputs = call.tensors()[:operands]
    shape = broadcast_shape([t.shape for t in inputs]) if len(inputs) == operands else None
    return TensorDesc(shape, dtype or inputs[0].dtype) if shape is not None else None


def _rule(op_type: str, operands: int, dtype: str | None = None, cost: float | None = None) -> Rule:
    def read(call: Call) -> KernelPlan | None:
        inputs, out = call.tensors(), _joined(call, operands, dtype)
        if not inputs or out is None:
            return None
        operations = element_operations(op_type) if cost is None else cost
        return plan_of(kernel(op_type, inputs[:operands], [out], cost=operations, over=out.elements))

    return rule_of(read, op_type)


def _cast(call: Call) -> KernelPlan | None:
    x, out = call.tensor(0), call.output()
    if x is None or out is None:
        return None
    return plan_of() if x.dtype == out.dtype else plan_of(kernel("Cast", [x], [out]))


def _fill(op_type: str) -> Rule:
    """Fills write what they return and read nothing of it."""

    def read(call: Call) -> KernelPlan | None:
        out = call.output()
        return None if out is None else plan_of(kernel(op_type, call.tensors(), [out], cost=0, read=0))

    return rule_of(read, op_type)


def _sum(call: Call) -> KernelPlan | None:
    """``AddN``: any number of tensors of one shape."""
    inputs = call.tensors()
    if not inputs:
        return None
    out = call.output() or inputs[0]
    return plan_of(kernel("AddN", inputs, [out], cost=max(len(inputs) - 1, 1), over=out.elements))


def elementwise_rules() -> dict[str, Rule]:
    """Return the rules by primitive."""
    rules = {name: _rule(op_type, 1) for name, op_type in _UNARY.items()}
    rules |= {name: _rule(name, 1, "BOOL") for name in _TO_BOOL}
    rules |= {name: _rule(op_type, 2) for name, op_type in (_BINARY | _GRADIENTS).items()}
    rules |= {name: _rule(op_type, 2, "BOOL") for name, op_type in _COMPARISONS.items()}
    rules |= {name: _rule(name, 3 if name.endswith("Grad") else 2, cost=cost) for name, cost in _LOSSES.items()}
    fills = {"OnesLike": "OnesLike", "ZerosLike": "ZerosLike", "Ones": "OnesLike", "Zeros": "ZerosLike"}
    fills |= {"Fill": "Fill", "FillV2": "Fill", "FillScalar": "Fill", "FullLike": "Fill"}
    rules |= {name: _fill(ge) for name, ge in fills.items()}
    return rules | {
        "Cast": rule_of(_cast, "Cast"),
        "AddN": rule_of(_sum, "AddN"),
        "Select": _rule("SelectV2", 3),
        "ClipByValue": _rule("ClipByValue", 3),
        "BCEWithLogitsLoss": _rule("BCEWithLogitsLoss", 2, cost=8),
        "MaskedFill": _rule("MaskedFill", 3),
        "PReLU": _rule("PRelu", 2),
        "PReLUGrad": _rule("PReluGrad", 3),
        "LeakyReLUGradExt": _rule("LeakyReluGrad", 2),
    }
