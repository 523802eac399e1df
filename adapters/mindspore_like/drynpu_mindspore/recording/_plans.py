"""Plans of operators as MindSpore launches them."""

from __future__ import annotations

from attrs import evolve

from drynpu.kernels import KernelPlan, Signature
from drynpu.recorder import Planner
from drynpu_mindspore.rules import api_of


def launching_plans(plan: Planner, *, whole_graph: bool) -> Planner:
    """
    Return *plan* as MindSpore launches it.

    With *whole_graph* (jit level O2) the graph engine launches node by node, without a call for each. Else each
    operator is a call of its own; where the rule names none, it is the aclnn operator that `api_of` has,
    for the single-op path of ACL, which compiles at every call, is none that MindSpore goes.
    """

    def planned(signature: Signature) -> KernelPlan:
        found = plan(signature)
        if not found.kernels:
            return found
        if whole_graph:
            return evolve(found, in_graph=True, synchronizes=False)
        return found if found.api else evolve(found, api=api_of(signature.name))

    return planned
