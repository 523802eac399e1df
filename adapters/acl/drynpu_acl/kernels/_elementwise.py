"""Element-wise operators, casts and selections."""

from __future__ import annotations

from typing import Final

from drynpu.kernels import KernelPlan, TensorDesc
from drynpu_acl.kernels._call import Call, Rule, rule_of
from drynpu_acl.kernels._work import blocked, is_image, kernel, plan

__all__ = ["ELEMENTWISE", "element_operations", "elementwise_rules", "fused_operations", "image_of"]

# ONNX type | GE type (the same if missing) | element operations (1 if missing).
_TABLE: Final = """
Abs
Neg
Sign | | 2
Sqrt
Reciprocal
Exp
Log
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
Tanh | | 8
Sigmoid | | 4
HardSigmoid | | 3
HardSwish | | 4
Mish | | 20
Softplus | SoftplusV2 | 6
Softsign | | 3
Relu
LeakyRelu | | 2
PRelu | PRelu | 2
ThresholdedRelu | ThresholdedRelu
Elu | | 4
Celu | CeluV2 | 4
Selu | | 4
Gelu | | 16
Floor
Ceil
Round
Not | LogicalNot
Clip | ClipByValue | 2
IsNaN | IsNan
IsInf | IsInf
Add
Sub
Mul
Div | RealDiv
Mod | FloorMod | 4
Pow | | 4
Max | Maximum
Min | Minimum
Sum | AddN
Mean | Mean | 2
And | LogicalAnd
Or | LogicalOr
Xor | LogicalXor
BitShift | LeftShift
BitwiseAnd
BitwiseOr
BitwiseXor
BitwiseNot | Invert
Equal
Greater
GreaterOrEqual | GreaterEqual
Less
LessOrEqual | LessEqual
Where | SelectV2
"""


def _table() -> dict[str, tuple[str, float]]:
    found = {}
    for line in _TABLE.strip().splitlines():
        parts = [part.strip() for part in line.split("|")]
        name, ge, cost = (*parts, *[""] * (3 - len(parts)))
        found[name] = (ge or name, float(cost or 1))
    return found


ELEMENTWISE: Final = tuple(_table())
_MANY: Final = frozenset({"Max", "Min", "Sum", "Mean"})


def element_operations(op_type: str) -> float:
    """Return the operations per element of an element-wise operator, 1 for others (a bias)."""
    return _table().get(op_type, ("", 1.0))[1]


def fused_operations(call: Call, out: TensorDesc) -> int:
    """Return the vector operations of what was fused into a cube kernel that makes *out*."""
    return round(out.elements * sum(element_operations(name) for name in call.texts("_fused")))


def image_of(call: Call, tensor: TensorDesc) -> TensorDesc:
    """Return a tensor as the node works on it: blocked where the compiler chose so."""
    return blocked(tensor) if "_blocked" in call.attrs and is_image(tensor) else tensor


def _rule(op_type: str, cost: float, *, many: bool) -> Rule:
    def read(call: Call) -> KernelPlan | None:
        inputs, out = call.tensors(), call.output()
        if not inputs or out is None:
            return None
        factor = max(len(inputs) - 1, 1) if many else 1
        taken = [image_of(call, t) for t in inputs]
        return plan(kernel(call, op_type, taken, [image_of(call, out)], cost=cost * factor, over=out.elements))

    return rule_of(read)


def _cast(call: Call) -> KernelPlan | None:
    x, out = call.tensor(0), call.output()
    if x is None or out is None:
        return None
    # A conversion to the same type is removed by the graph engine.
    return plan() if x.dtype == out.dtype else plan(kernel(call, "Cast", [x], [out]))


def elementwise_rules() -> dict[str, Rule]:
    """Return the rules by operator type."""
    rules = {name: _rule(ge, cost, many=name in _MANY) for name, (ge, cost) in _table().items()}
    return rules | {"Cast": rule_of(_cast), "CastLike": rule_of(_cast)}
