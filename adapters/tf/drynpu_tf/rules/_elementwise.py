"""Element-wise operators of TensorFlow: what may be fused with what, and what its own passes made of several."""

from __future__ import annotations

from typing import Final

from drynpu.kernels import KernelPlan, OperatorCall, ops

KERNEL_TYPES: Final = ops.kernel_types_of("tf", "elementwise", "comparison", "fill")
_COMPARISONS: Final = ops.kernel_types_of("tf", "comparison").keys()

ELEMENTWISE: Final = frozenset(KERNEL_TYPES) - {"ClipByValue", "Select", "SelectV2", "Fill"}
"""Operators of one or two tensors that the graph engine fuses with one another."""
KEEPS_TYPE: Final = ELEMENTWISE - _COMPARISONS
"""Those of them that return the type that they are given."""


def unary_chain(call: OperatorCall) -> KernelPlan | None:
    """``_UnaryOpsComposition``: element-wise operators in one kernel, which bears the type of the first."""
    x, names = call.tensor(0), call.texts("op_names")
    if x is None or not names:
        return None
    cost = sum(call.operations_of(name) for name in names)
    return call.plan(call.kernel(names[0], [x], [call.output() or x], cost=cost))
