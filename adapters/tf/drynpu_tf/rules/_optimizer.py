"""
Variables and optimizers.

A variable is read where an operator takes it; assigning is a kernel. An optimizer is one kernel per variable that
reads the variable, its slots and the gradient and writes back what it changes. Of a resource variable TensorFlow
passes a handle: its shape is that of the gradient.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from drynpu.kernels import KernelPlan, NodeCall, Rule, TaskType, TensorDesc, node_kernel, node_rule, plan_of

__all__ = ["optimizer_rules"]


@frozen(kw_only=True)
class _Update:
    """An optimizer: GE's type, the state it updates (variable and slots come first), where its gradient is."""

    op_type: str
    state: int
    gradient: int
    cost: float
    task: TaskType = TaskType.AI_VECTOR_CORE


_UPDATES: Final = {
    "ApplyGradientDescent": _Update(op_type="ApplyGradientDescent", state=1, gradient=2, cost=2),
    "ApplyMomentum": _Update(op_type="ApplyMomentumD", state=2, gradient=3, cost=4),
    "ApplyKerasMomentum": _Update(op_type="ApplyKerasMomentumD", state=2, gradient=3, cost=4),
    "ApplyAdam": _Update(op_type="ApplyAdamD", state=3, gradient=9, cost=12),
    "ApplyAdamWithAmsgrad": _Update(op_type="ApplyAdamWithAmsgradD", state=4, gradient=10, cost=13),
    "ApplyAdaMax": _Update(op_type="ApplyAdaMaxD", state=3, gradient=8, cost=9),
    "ApplyRMSProp": _Update(op_type="ApplyRMSPropD", state=3, gradient=7, cost=9),
    "ApplyCenteredRMSProp": _Update(op_type="ApplyCenteredRMSPropD", state=4, gradient=8, cost=12),
    "ApplyAdagrad": _Update(op_type="ApplyAdagradD", state=2, gradient=3, cost=5),
    "ApplyAdagradV2": _Update(op_type="ApplyAdagradV2D", state=2, gradient=4, cost=6),
    "ApplyAdadelta": _Update(op_type="ApplyAdadeltaD", state=3, gradient=6, cost=12),
    "ApplyFtrl": _Update(op_type="ApplyFtrlD", state=3, gradient=3, cost=14),
    "ApplyFtrlV2": _Update(op_type="ApplyFtrlV2D", state=3, gradient=3, cost=15),
    "ApplyProximalGradientDescent": _Update(op_type="ApplyProximalGradientDescent", state=1, gradient=4, cost=5),
    "ApplyProximalAdagrad": _Update(op_type="ApplyProximalAdagradD", state=2, gradient=5, cost=8),
    "ApplyAddSign": _Update(op_type="ApplyAddSignD", state=2, gradient=6, cost=7),
    "ApplyPowerSign": _Update(op_type="ApplyPowerSignD", state=2, gradient=6, cost=9),
}
# Those of rows have the gradient's rows and an index behind it.
_SPARSE: Final = {
    # The graph engine has none of these two: TensorFlow's own run on the AI CPU.
    "SparseApplyMomentum": _Update(op_type="SparseApplyMomentum", state=2, gradient=3, cost=4, task=TaskType.AI_CPU),
    "SparseApplyKerasMomentum": _Update(
        op_type="SparseApplyKerasMomentum", state=2, gradient=3, cost=4, task=TaskType.AI_CPU
    ),
    "SparseApplyAdagrad": _Update(op_type="SparseApplyAdagradD", state=2, gradient=3, cost=5),
    "SparseApplyAdagradV2": _Update(op_type="SparseApplyAdagradV2D", state=2, gradient=4, cost=6),
    "SparseApplyRMSProp": _Update(op_type="SparseApplyRMSPropD", state=3, gradient=7, cost=9),
    "SparseApplyFtrl": _Update(op_type="SparseApplyFtrlD", state=3, gradient=3, cost=14),
    "SparseApplyFtrlV2": _Update(op_type="SparseApplyFtrlV2D", state=3, gradient=3, cost=15),
    "SparseApplyAdadelta": _Update(op_type="SparseApplyAdadeltaD", state=3, gradient=6, cost=12),
}


def _dense(update: _Update) -> Rule:
    def read(call: NodeCall) -> KernelPlan | None:
        grad = call.tensor(update.gradient)
        if grad is None:
            return None
        state = [TensorDesc(grad.shape, grad.dtype)] * update.state
        numbers = [
            t
            for i in range(update.state, len(call.signature.inputs))
            if (t := call.tensor(i)) is not None and i != update.gradient
        ]
        spec = node_kernel(call, update.op_type, [*state, *numbers, grad], state, cost=update.cost, over=grad.elements)
        return plan_of(spec)

    return node_rule(read)


def _rows(update: _Update) -> Rule:
    """Only the rows of the index are read and written, of the variable and of its slots."""

    def read(call: NodeCall) -> KernelPlan | None:
        grad, index = call.tensor(update.gradient), call.tensor(update.gradient + 1)
        if grad is None or index is None:
            return None
        known = [t for t in (call.tensor(i) for i in range(update.state)) if t is not None]
        moved = update.state * grad.size_bytes
        return plan_of(
            node_kernel(
                call,
                update.op_type,
                [*known, grad, index],
                known,
                task=update.task,
                cost=update.cost,
                over=grad.elements,
                read=moved + grad.size_bytes + index.size_bytes,
                written=moved,
            )
        )

    return node_rule(read)


def _assign(call: NodeCall) -> KernelPlan | None:
    """``Assign(ref, value)``, ``AssignVariableOp(handle, value)``."""
    value = call.tensor(1)
    return (
        None
        if value is None
        else plan_of(node_kernel(call, "Assign", [value, value], [value], cost=0, read=value.size_bytes))
    )


def _assign_with(op_type: str) -> Rule:
    """``AssignAdd`` and ``AssignSub``: the variable is read and written."""

    def read(call: NodeCall) -> KernelPlan | None:
        value = call.tensor(1)
        return None if value is None else plan_of(node_kernel(call, op_type, [value, value], [value]))

    return node_rule(read)


def optimizer_rules() -> dict[str, Rule]:
    """Return the rules by operator type; reference and resource variables have the same kernels."""
    rules: dict[str, Rule] = {"Assign": node_rule(_assign), "AssignVariableOp": node_rule(_assign)}
    for verb in ("AssignAdd", "AssignSub"):
        rules[verb] = rules[f"{verb}VariableOp"] = _assign_with(verb)
    for name, update in _UPDATES.items():
        rules[name] = rules[f"Resource{name}"] = _dense(update)
    for name, update in _SPARSE.items():
        rules[name] = rules[f"Resource{name}"] = _rows(update)
    return rules
