"""Element-wise primitives, their gradients, casts, selections and fills."""

from __future__ import annotations

from typing import Final

from drynpu.kernels import KernelPlan, Rule, TensorDesc, broadcast_shape, plan_of
from drynpu_mindspore.rules._signature import Call
from drynpu_mindspore.rules._work import kernel, rule_of

__all__ = ["elementwise_rules"]

# Primitive | GE type (the same if missing) | element operations (1 if missing).
_UNARY: Final = """
Abs
Neg
Sign | | 2
Square
Sqrt
Rsqrt
Reciprocal
Exp
Expm1
Log
Log1p
Sin | | 12
Cos | | 12
Tan | | 16
Sinh | | 8
Cosh | | 8
Asin | | 16
Acos | | 16
Atan | | 16
Asinh | | 16
Acosh | | 16
Atanh | | 16
Erf | | 12
Erfc | | 12
Tanh | | 8
Sigmoid | | 4
Softplus | | 6
SoftplusExt | SoftplusV2 | 6
Softsign | | 3
Mish | | 10
ReLU | Relu
ReLU6 | Relu6 | 2
Elu | | 4
EluExt | Elu | 4
SeLU | Selu | 4
LeakyReLUExt | LeakyRelu | 2
HSwish | HardSwish | 4
HSigmoid | HardSigmoid | 3
HShrink | HardShrink
SiLU | Swish | 5
GeLU | Gelu | 16
GeluExt | GeluV2 | 16
FastGeLU | FastGelu | 8
Floor
Ceil
Round
Trunc
Rint
LogicalNot
BitwiseNot | Invert
"""
_TO_BOOL: Final = ("IsNan", "IsInf", "IsFinite")
_BINARY: Final = """
Add
AddExt | Add
Sub
SubExt | Sub
Mul
Muls
Div | RealDiv
RealDiv
DivMod | FloorDiv | 2
DivNoNan | | 2
FloorDiv | | 2
FloorMod | | 4
Mod | | 4
TruncateDiv | | 2
TruncateMod | | 4
Maximum
Minimum
Pow | | 4
PowTensorScalar | Pow | 4
SquaredDifference | | 2
Xdivy | | 2
Xlogy | | 2
Atan2 | | 20
BitwiseAnd
BitwiseOr
BitwiseXor
InplaceAddExt | Add
InplaceSubExt | Sub
InplaceMul | Mul
InplaceDiv | RealDiv
"""
_COMPARISONS: Final = """
Equal
NotEqual
Greater
GreaterEqual
Less
LessEqual
LogicalAnd
LogicalOr
LogicalXor | NotEqual
"""
# Two or three tensors of one shape: the incoming gradient and saved values, in whichever order the primitive has them.
_GRADIENTS: Final = """
ReluGrad
ReLU6Grad | Relu6Grad | 2
EluGrad | | 4
SeluGrad | SeluGrad | 4
HSwishGrad | HardSwishGrad | 4
HSigmoidGrad | HardSigmoidGrad | 3
SigmoidGrad | | 3
TanhGrad | | 3
SqrtGrad | | 2
RsqrtGrad | | 3
ReciprocalGrad | | 3
SoftplusGrad | | 6
SiLUGrad | SiluGrad | 7
GeLUGrad | GeluGrad | 20
FastGeLUGrad | FastGeluGrad | 10
MishGrad | | 12
AbsGrad | | 2
"""
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


def _table(text: str) -> dict[str, tuple[str, float]]:
    found = {}
    for line in text.strip().splitlines():
        parts = [part.strip() for part in line.split("|")]
        name, ge, cost = (*parts, *[""] * (3 - len(parts)))
        found[name] = (ge or name, float(cost or 1))
    return found


def _joined(call: Call, operands: int, dtype: str | None) -> TensorDesc | None:
    """Return what the launch returns, worked out from its inputs where MindSpore did not say."""
    if call.output() is not None:
        return call.output()
    inputs = call.tensors()[:operands]
    shape = broadcast_shape([t.shape for t in inputs]) if len(inputs) == operands else None
    return TensorDesc(shape, dtype or inputs[0].dtype) if shape is not None else None


def _rule(op_type: str, cost: float, operands: int, dtype: str | None = None) -> Rule:
    def read(call: Call) -> KernelPlan | None:
        inputs, out = call.tensors(), _joined(call, operands, dtype)
        if not inputs or out is None:
            return None
        return plan_of(kernel(op_type, inputs[:operands], [out], cost=cost, over=out.elements))

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
    rules = {name: _rule(ge, cost, 1) for name, (ge, cost) in _table(_UNARY).items()}
    rules |= {name: _rule(name, 1, 1, "BOOL") for name in _TO_BOOL}
    rules |= {name: _rule(ge, cost, 2) for name, (ge, cost) in (_table(_BINARY) | _table(_GRADIENTS)).items()}
    rules |= {name: _rule(ge, cost, 2, "BOOL") for name, (ge, cost) in _table(_COMPARISONS).items()}
    rules |= {name: _rule(name, cost, 3 if name.endswith("Grad") else 2) for name, cost in _LOSSES.items()}
    fills = {"OnesLike": "OnesLike", "ZerosLike": "ZerosLike", "Ones": "OnesLike", "Zeros": "ZerosLike"}
    fills |= {"Fill": "Fill", "FillV2": "Fill", "FillScalar": "Fill", "FullLike": "Fill"}
    rules |= {name: _fill(ge) for name, ge in fills.items()}
    return rules | {
        "Cast": rule_of(_cast, "Cast"),
        "AddN": rule_of(_sum, "AddN"),
        "Select": _rule("SelectV2", 1, 3),
        "ClipByValue": _rule("ClipByValue", 2, 3),
        "BCEWithLogitsLoss": _rule("BCEWithLogitsLoss", 8, 2),
        "MaskedFill": _rule("MaskedFill", 1, 3),
        "PReLU": _rule("PRelu", 2, 2),
        "PReLUGrad": _rule("PReluGrad", 4, 3),
        "LeakyReLUGradExt": _rule("LeakyReluGrad", 2, 2),
    }
