"""Element-wise operators, casts and selections."""

from __future__ import annotations

from typing import Final

from drynpu.kernels import (
    KernelPlan,
    NodeCall,
    Rule,
    TensorDesc,
    element_operations,
    kernel_types,
    node_kernel,
    node_rule,
)
from drynpu_acl.kernels._work import blocked, is_image, plan

__all__ = ["ELEMENTWISE", "elementwise_rules", "fused_operations", "image_of", "operations_of"]

# ONNX's types, with GE's where it is another.
_KERNELS: Final = kernel_types("""
    Abs Neg Sign Sqrt Reciprocal Exp Log Sin Cos Tan Sinh Cosh Asin Acos Atan Asinh Acosh Atanh Erf Tanh Sigmoid
    HardSigmoid HardSwish Mish Softplus=SoftplusV2 Softsign Relu LeakyRelu PRelu ThresholdedRelu Elu Celu=CeluV2
    Selu Gelu Floor Ceil Round Not=LogicalNot Clip=ClipByValue IsNaN=IsNan IsInf Add Sub Mul Div=RealDiv
    Mod=FloorMod Pow Max=Maximum Min=Minimum Sum=AddN Mean And=LogicalAnd Or=LogicalOr Xor=LogicalXor
    BitShift=LeftShift BitwiseAnd BitwiseOr BitwiseXor BitwiseNot=Invert Equal Greater GreaterOrEqual=GreaterEqual
    Less LessOrEqual=LessEqual Where=SelectV2
""")


ELEMENTWISE: Final = tuple(_KERNELS)
_MANY: Final = frozenset({"Max", "Min", "Sum", "Mean"})


def operations_of(name: str) -> float:
    """Return the operations per element of a fused element-wise operator, 1 for others (a bias)."""
    return element_operations(_KERNELS.get(name, ""))


def fused_operations(call: NodeCall, out: TensorDesc) -> int:
    """Return the vector operations of what was fused into a cube kernel that makes *out*."""
    return round(out.elements * sum(operations_of(name) for name in call.texts("_fused")))


def image_of(call: NodeCall, tensor: TensorDesc) -> TensorDesc:
    """Return a tensor as the node works on it: blocked where the compiler chose so."""
    return blocked(tensor) if "_blocked" in call.attrs and is_image(tensor) else tensor


def _rule(op_type: str, *, many: bool) -> Rule:
    def read(call: NodeCall) -> KernelPlan | None:
        inputs, out = call.tensors(), call.output()
        if not inputs or out is None:
            return None
        cost = element_operations(op_type) * (max(len(inputs) - 1, 1) if many else 1)
        taken = [image_of(call, t) for t in inputs]
        return plan(node_kernel(call, op_type, taken, [image_of(call, out)], cost=cost, over=out.elements))

    return node_rule(read)


def _cast(call: NodeCall) -> KernelPlan | None:
    x, out = call.tensor(0), call.output()
    if x is None or out is None:
        return None
    # A conversion to the same type is removed by the graph engine.
    return plan() if x.dtype == out.dtype else plan(node_kernel(call, "Cast", [x], [out]))


def elementwise_rules() -> dict[str, Rule]:
    """Return the rules by operator type."""
    rules = {name: _rule(op_type, many=name in _MANY) for name, op_type in _KERNELS.items()}
    return rules | {"Cast": node_rule(_cast), "CastLike": node_rule(_cast)}
