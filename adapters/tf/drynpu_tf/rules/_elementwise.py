"""Element-wise operators, their gradients, casts, selections and fills."""

from __future__ import annotations

from typing import Final

from drynpu.kernels import (
    NO_DATA,
    KernelPlan,
    NodeCall,
    Rule,
    TaskType,
    TensorDesc,
    broadcast_shape,
    node_kernel,
    node_rule,
    plan_of,
)
from drynpu_tf.rules._dtypes import ge_dtype

__all__ = [
    "BINARY",
    "CHANGES_TYPE",
    "GRADIENTS",
    "UNARY",
    "element_operations",
    "elementwise_rules",
    "fused_operations",
]

# TensorFlow type | GE type (the same if missing) | element operations (1 if missing).
_UNARY: Final = """
Abs
Neg
Sign | | 2
Square
Sqrt
Rsqrt
Reciprocal
Inv
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
Softsign | | 3
Relu
Relu6 | | 2
Elu | | 4
Selu | | 4
LeakyRelu | | 2
Gelu | | 16
Floor
Ceil
Round
Rint
LogicalNot
Invert
OnesLike | | 0
ZerosLike | | 0
Cast
"""
_TO_BOOL: Final = ["IsNan", "IsInf", "IsFinite"]
_BINARY: Final = """
Add
AddV2 | Add
Sub
Mul
MulNoNan | | 2
Div
DivNoNan | | 2
RealDiv
FloorDiv | | 2
TruncateDiv | | 2
FloorMod | | 4
Mod | | 4
TruncateMod | | 4
Maximum
Minimum
Pow | | 4
SquaredDifference | | 2
Xdivy | | 2
Xlogy | | 2
Atan2 | | 20
BitwiseAnd
BitwiseOr
BitwiseXor
LeftShift
RightShift
LogicalAnd
LogicalOr
Equal
NotEqual
Greater
GreaterEqual
Less
LessEqual
ApproximateEqual | | 2
"""
# Two tensors of one shape: the incoming gradient and the saved value, in whichever order the operator has them.
_GRADIENTS: Final = """
ReluGrad
Relu6Grad | | 2
EluGrad | | 4
SeluGrad | | 4
LeakyReluGrad | | 2
SigmoidGrad | | 3
TanhGrad | | 3
SqrtGrad | | 2
RsqrtGrad | | 3
ReciprocalGrad | | 3
InvGrad | | 3
SoftplusGrad | | 6
SoftsignGrad | | 4
"""
_OF_LISTS: Final = frozenset({"AddN", "ZerosLike"})
_COMPARISONS: Final = frozenset(
    ["Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual", "LogicalAnd", "LogicalOr", "ApproximateEqual"]
)


def _table(text: str) -> dict[str, tuple[str, float]]:
    found = {}
    for line in text.strip().splitlines():
        parts = [part.strip() for part in line.split("|")]
        name, ge, cost = (*parts, *[""] * (3 - len(parts)))
        found[name] = (ge or name, float(cost or 1))
    return found


UNARY: Final = tuple(_table(_UNARY)) + tuple(_TO_BOOL)
BINARY: Final = tuple(_table(_BINARY))
GRADIENTS: Final = tuple(_table(_GRADIENTS))
CHANGES_TYPE: Final = _COMPARISONS | {*_TO_BOOL, "Cast"}


def element_operations(op_type: str) -> float:
    """Return the operations per element of a fused element-wise operator, 1 for others (a bias)."""
    return (_table(_UNARY) | _table(_BINARY) | _table(_GRADIENTS)).get(op_type, ("", 1.0))[1]


def fused_operations(call: NodeCall, out: TensorDesc) -> int:
    """Return the vector operations of what was fused into a cube kernel that makes *out*: biases, activations."""
    names = call.texts("_fused") or call.texts("fused_ops")
    return round(out.elements * sum(element_operations(name) for name in names))


def _joined(call: NodeCall, dtype: str | None = None) -> TensorDesc | None:
    """Return what the call returns, worked out from its inputs where TensorFlow did not say."""
    known = call.output()
    if known is not None:
        return known
    inputs = call.tensors()
    shape = broadcast_shape([t.shape for t in inputs]) if inputs else None
    return TensorDesc(shape, dtype or inputs[-1].dtype) if shape is not None else None


def _rule(op_type: str, cost: float, operands: int, dtype: str | None = None) -> Rule:
    def read(call: NodeCall) -> KernelPlan | None:
        inputs, out = call.tensors(), _joined(call, dtype)
        if _handles_only(call):
            return plan_of(node_kernel(call, call.signature.name, [], [], task=TaskType.AI_CPU))
        # In loops TensorFlow does not tell every operand, but always the result.
        if not inputs or out is None or (len(inputs) < operands and call.output() is None):
            return None
        fused = call.texts("_fused")
        taken = inputs if fused else inputs[:operands]
        every = cost + sum(element_operations(name) for name in fused)
        return plan_of(node_kernel(call, op_type, taken, [out], cost=every, over=out.elements))

    return node_rule(read)


def _handles_only(call: NodeCall) -> bool:
    """
    Whether it works on lists of tensors (gradients of loops), which no kernel knows.

    Traces tell nothing of lists; of sums and zeros of which nothing is known they are what is left.
    """
    if call.tensors() or call.output() is not None:
        return False
    return bool(call.signature.tensors()) or call.signature.name in _OF_LISTS


def _cast(call: NodeCall) -> KernelPlan | None:
    x, out = call.tensor(0), call.output()
    if x is None:
        return None
    if out is None:
        dtype = ge_dtype(call.text("DstT"))
        if dtype == NO_DATA:  # nothing is said of the result
            return plan_of(node_kernel(call, "Cast", [x], []))
        out = TensorDesc(x.shape, dtype, x.format)
    # A conversion to the same type is removed by the graph engine.
    return plan_of() if x.dtype == out.dtype else plan_of(node_kernel(call, "Cast", [x], [out]))


def _sparing(op_type: str) -> Rule:
    """Fills write what they return and read next to nothing."""

    def read(call: NodeCall) -> KernelPlan | None:
        out = call.output() or call.tensor(0)
        if _handles_only(call):
            return plan_of(node_kernel(call, call.signature.name, [], [], task=TaskType.AI_CPU))
        if out is None:
            return None
        return plan_of(node_kernel(call, op_type, call.tensors(), [out], cost=0, read=0))

    return node_rule(read)


def _many(op_type: str, cost_per_input: float) -> Rule:
    """Sums of any number of tensors."""

    def read(call: NodeCall) -> KernelPlan | None:
        inputs, out = call.tensors(), _joined(call)
        if _handles_only(call):
            return plan_of(node_kernel(call, call.signature.name, [], [], task=TaskType.AI_CPU))
        if not inputs or out is None:
            return None
        cost = cost_per_input * max(len(inputs) - 1, 1)
        return plan_of(node_kernel(call, op_type, inputs, [out], cost=cost, over=out.elements))

    return node_rule(read)


def elementwise_rules() -> dict[str, Rule]:
    """Return the rules by operator type."""
    rules = {name: _rule(ge, cost, 1) for name, (ge, cost) in _table(_UNARY).items()}
    rules |= {name: _rule(name, 1, 1, "BOOL") for name in _TO_BOOL}
    for name, (ge, cost) in (_table(_BINARY) | _table(_GRADIENTS)).items():
        rules[name] = _rule(ge, cost, 2, "BOOL" if name in _COMPARISONS else None)
    return rules | {
        "Cast": node_rule(_cast),
        "OnesLike": _sparing("OnesLike"),
        "ZerosLike": _sparing("ZerosLike"),
        "Fill": _sparing("Fill"),
        "AddN": _many("AddN", 1),
        "AccumulateNV2": _many("AccumulateNV2", 1),
        "ClipByValue": _rule("ClipByValue", 2, 3),
        "Select": _rule("Select", 1, 3),
        "SelectV2": _rule("SelectV2", 1, 3),
    }
