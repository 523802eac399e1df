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
    element_operations,
    kernel_types,
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
    "elementwise_rules",
    "fused_operations",
    "operations_of",
]

# TensorFlow's types, with GE's where it is another.
_UNARY: Final = kernel_types("""
    Abs Neg Sign Square Sqrt Rsqrt Reciprocal Inv Exp Expm1 Log Log1p Sin Cos Tan Sinh Cosh Asin Acos Atan Asinh
    Acosh Atanh Erf Erfc Tanh Sigmoid Softplus Softsign Relu Relu6 Elu Selu LeakyRelu Gelu Floor Ceil Round Rint
    LogicalNot Invert OnesLike ZerosLike Cast
""")
_TO_BOOL: Final = ["IsNan", "IsInf", "IsFinite"]
_BINARY: Final = kernel_types("""
    Add AddV2=Add Sub Mul MulNoNan Div DivNoNan RealDiv FloorDiv TruncateDiv FloorMod Mod TruncateMod Maximum
    Minimum Pow SquaredDifference Xdivy Xlogy Atan2 BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift LogicalAnd
    LogicalOr Equal NotEqual Greater GreaterEqual Less LessEqual ApproximateEqual
""")
# Two tensors of one shape: the incoming gradient and the saved value, in whichever order the operator has them.
_GRADIENTS: Final = kernel_types("""
    ReluGrad Relu6Grad EluGrad SeluGrad LeakyReluGrad SigmoidGrad TanhGrad SqrtGrad RsqrtGrad ReciprocalGrad InvGrad
    SoftplusGrad SoftsignGrad
""")
_OF_LISTS: Final = frozenset({"AddN", "ZerosLike"})
_COMPARISONS: Final = frozenset(
    ["Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual", "LogicalAnd", "LogicalOr", "ApproximateEqual"]
)


UNARY: Final = (*_UNARY, *_TO_BOOL)
BINARY: Final = tuple(_BINARY)
GRADIENTS: Final = tuple(_GRADIENTS)
_KERNELS: Final = _UNARY | _BINARY | _GRADIENTS
CHANGES_TYPE: Final = _COMPARISONS | {*_TO_BOOL, "Cast"}


def operations_of(name: str) -> float:
    """Return the operations per element of a fused element-wise operator, 1 for others (a bias)."""
    return element_operations(_KERNELS.get(name, ""))


def fused_operations(call: NodeCall, out: TensorDesc) -> int:
    """Return the vector operations of what was fused into a cube kernel that makes *out*: biases, activations."""
    names = call.texts("_fused") or call.texts("fused_ops")
    return round(out.elements * sum(operations_of(name) for name in names))


def _joined(call: NodeCall, dtype: str | None = None) -> TensorDesc | None:
    """Return what the call returns, worked out from its inputs where TensorFlow did not say."""
    known = call.output()
    if known is not None:
        return known
    inputs = call.tensors()
    shape = broadcast_shape([t.shape for t in inputs]) if inputs else None
    return TensorDesc(shape, dtype or inputs[-1].dtype) if shape is not None else None


def _rule(op_type: str, operands: int, dtype: str | None = None) -> Rule:
    def read(call: NodeCall) -> KernelPlan | None:
        inputs, out = call.tensors(), _joined(call, dtype)
        if _handles_only(call):
            return plan_of(node_kernel(call, call.signature.name, [], [], task=TaskType.AI_CPU))
        # In loops TensorFlow does not tell every operand, but always the result.
        if not inputs or out is None or (len(inputs) < operands and call.output() is None):
            return None
        fused = call.texts("_fused")
        taken = inputs if fused else inputs[:operands]
        every = element_operations(op_type) + sum(operations_of(name) for name in fused)
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
    rules = {name: _rule(op_type, 1) for name, op_type in _UNARY.items()}
    rules |= {name: _rule(name, 1, "BOOL") for name in _TO_BOOL}
    for name, op_type in (_BINARY | _GRADIENTS).items():
        rules[name] = _rule(op_type, 2, "BOOL" if name in _COMPARISONS else None)
    return rules | {
        "Cast": node_rule(_cast),
        "OnesLike": _sparing("OnesLike"),
        "ZerosLike": _sparing("ZerosLike"),
        "Fill": _sparing("Fill"),
        "AddN": _many("AddN", 1),
        "AccumulateNV2": _many("AccumulateNV2", 1),
        "ClipByValue": _rule("ClipByValue", 3),
        "Select": _rule("Select", 3),
        "SelectV2": _rule("SelectV2", 3),
    }
