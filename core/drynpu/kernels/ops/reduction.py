"""
Reductions, and other operators that pass over one tensor: arg-max, top-k, running sums.

They cost element operations per element of what they read. Axes are attributes of the kernels of graphs, which do not
read them.
"""

from __future__ import annotations

from drynpu.kernels._call import OperatorCall
from drynpu.kernels._types import KernelPlan


def reduction(call: OperatorCall) -> KernelPlan | None:
    """``x``: over some of the axes. Over none, or over axes of length 1, it is a change of shape."""
    x, out = call.tensor("x"), call.output()
    if x is None or (out is None and not call.outputs_optional):
        return None
    if out is not None and x.elements == out.elements and call.simplified:
        return call.plan()
    outputs = [] if out is None else [out]
    return call.plan(call.kernel(call.binding.kernel, [x], outputs, cost=call.binding.operations, over=x.elements))


def one_pass(call: OperatorCall) -> KernelPlan | None:
    """``x``: one pass over it, whatever the operator returns."""
    x = call.tensor("x")
    if x is None or not (call.outputs or call.outputs_optional):
        return None
    cost = call.binding.operations
    return call.plan(call.kernel(call.binding.kernel, [x], call.outputs, cost=cost, over=x.elements))
