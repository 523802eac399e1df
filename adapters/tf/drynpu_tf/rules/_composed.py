"""What TensorFlow's own passes make of several operators, and fills with numbers known at compile time."""

from __future__ import annotations

from drynpu.kernels import KernelPlan, NodeCall, Rule, node_kernel, node_rule, plan_of
from drynpu_tf.rules._elementwise import operations_of

__all__ = ["composed_rules"]


def _unary_chain(call: NodeCall) -> KernelPlan | None:
    """``_UnaryOpsComposition``: element-wise operators in one kernel, which bears the type of the first."""
    x, names = call.tensor(0), call.texts("op_names")
    if x is None or not names:
        return None
    cost = sum(operations_of(name) for name in names)
    return plan_of(node_kernel(call, names[0], [x], [call.output() or x], cost=cost))


def _sequence(op_type: str) -> Rule:
    def read(call: NodeCall) -> KernelPlan | None:
        out = call.output()
        return None if out is None else plan_of(node_kernel(call, op_type, call.tensors(), [out], read=0))

    return node_rule(read)


def composed_rules() -> dict[str, Rule]:
    """Return the rules by operator type."""
    return {
        "_UnaryOpsComposition": node_rule(_unary_chain),
        "Range": _sequence("RangeD"),
        "LinSpace": _sequence("LinSpaceD"),
    }
