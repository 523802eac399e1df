"""
Variables and optimizers.

A variable is read where an operator takes it; assigning is a kernel. An optimizer is one kernel per variable that reads
the variable, its state and the gradient, and writes back what it changes.
"""

from __future__ import annotations

from drynpu.kernels._call import OperatorCall
from drynpu.kernels._types import KernelPlan, TaskType, TensorDesc

_STATE = "state"
# The graph engine has none of these: TensorFlow's own run on the AI CPU.
_ON_AI_CPU = frozenset(
    {
        "SparseApplyAdagradDA",
        "SparseApplyCenteredRMSProp",
        "SparseApplyKerasMomentum",
        "SparseApplyMomentum",
        "SparseApplyProximalGradientDescent",
    }
)


def update(call: OperatorCall) -> KernelPlan | None:
    """``state``, as often as there are tensors that change: an optimizer that is given all of its tensors."""
    arguments = call.binding.arguments
    state = call.tensors(*(i for i, name in enumerate(arguments) if name == _STATE))
    if len(state) < arguments.count(_STATE):
        return None
    cost, over = call.binding.operations, state[0].elements
    return call.plan(call.kernel(call.binding.kernel, call.tensors(), state, cost=cost, over=over))


def update_by_handle(call: OperatorCall) -> KernelPlan | None:
    """``state ... grad``: state that may be known by its handle only has the shape of the gradient."""
    grad, count = call.tensor("grad"), call.binding.arguments.count(_STATE)
    if grad is None:
        return None
    state = [TensorDesc(grad.shape, grad.dtype)] * count
    others = [i for i in range(count, len(call.signature.inputs)) if i != call.place("grad")]
    inputs = [*state, *(call.tensors(*others) if others else []), grad]
    cost, over = call.binding.operations, grad.elements
    return call.plan(call.kernel(call.binding.kernel, inputs, state, cost=cost, over=over))


def update_rows(call: OperatorCall) -> KernelPlan | None:
    """``state ... grad index``: only the rows of the index are read and written, of the variable and of its state."""
    grad, index, count = call.tensor("grad"), call.tensor("index"), call.binding.arguments.count(_STATE)
    if grad is None or index is None:
        return None
    state, moved = call.tensors(*range(count)), count * grad.size_bytes
    spec = call.kernel(
        call.binding.kernel,
        [*state, grad, index],
        state,
        task=TaskType.AI_CPU if call.binding.kernel in _ON_AI_CPU else TaskType.AI_VECTOR_CORE,
        cost=call.binding.operations,
        over=grad.elements,
        read=moved + grad.size_bytes + index.size_bytes,
        written=moved,
    )
    return call.plan(spec)


def assign(call: OperatorCall) -> KernelPlan | None:
    """``x value``: the value is read, the variable written."""
    return _assign(call, cost=0)


def assign_with(call: OperatorCall) -> KernelPlan | None:
    """``x value``: the variable is read, changed and written."""
    return _assign(call, cost=1)


def _assign(call: OperatorCall, *, cost: int) -> KernelPlan | None:
    value = call.tensor("value") or call.tensor("x")
    variable = call.tensor("x") if "x" in call.binding.arguments else value
    if value is None or variable is None:
        return None
    read = value.size_bytes if cost == 0 else None
    return call.plan(call.kernel(call.binding.kernel, [variable, value], [variable], cost=cost, read=read))
