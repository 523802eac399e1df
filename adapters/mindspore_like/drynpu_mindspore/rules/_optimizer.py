"""
Parameters and optimizers.

An optimizer is one kernel per parameter that reads the parameter, its state and the gradient, and writes back what it
changes. MindSpore passes the parameter and its state first.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from drynpu.kernels import KernelPlan, Rule, plan_of
from drynpu_mindspore.rules._signature import Call
from drynpu_mindspore.rules._work import kernel, rule_of

__all__ = ["optimizer_rules"]


@frozen(kw_only=True)
class _Update:
    """An optimizer: GE's type, where what it changes is, element operations per element."""

    op_type: str
    state: tuple[int, ...]
    cost: float


_UPDATES: Final = {
    "ApplyGradientDescent": _Update(op_type="ApplyGradientDescent", state=(0,), cost=2),
    "ApplyMomentum": _Update(op_type="ApplyMomentum", state=(0, 1), cost=4),
    "FusedWeightApplyMomentum": _Update(op_type="ApplyMomentum", state=(0, 1), cost=6),
    # SGD(parameter, gradient, learning rate, accumulation, momentum, statistics)
    "SGD": _Update(op_type="SGD", state=(0, 3), cost=4),
    "Adam": _Update(op_type="ApplyAdamD", state=(0, 1, 2), cost=12),
    "ApplyAdam": _Update(op_type="ApplyAdamD", state=(0, 1, 2), cost=12),
    "AdamWeightDecay": _Update(op_type="ApplyAdamW", state=(0, 1, 2), cost=14),
    "AdamW": _Update(op_type="ApplyAdamWV2", state=(0, 1, 2), cost=14),
    "ApplyAdaMax": _Update(op_type="ApplyAdaMax", state=(0, 1, 2), cost=9),
    "ApplyAdagrad": _Update(op_type="ApplyAdagradD", state=(0, 1), cost=5),
    "ApplyAdagradV2": _Update(op_type="ApplyAdagradV2D", state=(0, 1), cost=6),
    "ApplyAdadelta": _Update(op_type="ApplyAdadeltaD", state=(0, 1, 2), cost=12),
    "ApplyRMSProp": _Update(op_type="ApplyRMSPropD", state=(0, 1, 2), cost=9),
    "ApplyCenteredRMSProp": _Update(op_type="ApplyCenteredRMSPropD", state=(0, 1, 2, 3), cost=12),
    "ApplyFtrl": _Update(op_type="ApplyFtrl", state=(0, 1, 2), cost=14),
    "ApplyProximalAdagrad": _Update(op_type="ApplyProximalAdagradD", state=(0, 1), cost=8),
    "Lamb": _Update(op_type="Lamb", state=(0, 1, 2), cost=20),
}


def _updated(update: _Update) -> Rule:
    def read(call: Call) -> KernelPlan | None:
        state = [t for t in (call.tensor(i) for i in update.state) if t is not None]
        if len(state) < len(update.state):
            return None
        return plan_of(kernel(update.op_type, call.tensors(), state, cost=update.cost, over=state[0].elements))

    return rule_of(read, update.op_type)


def _assign(call: Call) -> KernelPlan | None:
    target, value = call.tensor(0), call.tensor(1)
    if target is None:
        return None
    moved = value or target
    return plan_of(kernel("Assign", [target, moved], [target], cost=0, read=moved.size_bytes))


def _assign_with(op_type: str) -> Rule:
    """The parameter is read and written."""

    def read(call: Call) -> KernelPlan | None:
        target, value = call.tensor(0), call.tensor(1)
        return None if target is None else plan_of(kernel(op_type, [target, value or target], [target]))

    return rule_of(read, op_type)


def optimizer_rules() -> dict[str, Rule]:
    """Return the rules by primitive."""
    rules = {name: _updated(update) for name, update in _UPDATES.items()}
    return rules | {
        "Assign": rule_of(_assign, "Assign"),
        "AssignAdd": _assign_with("AssignAdd"),
        "AssignSub": _assign_with("AssignSub"),
    }
