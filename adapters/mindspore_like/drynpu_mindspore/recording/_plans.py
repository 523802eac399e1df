"""Plans of operators as MindSpore launches them."""

from __future__ import annotations

from attrs import evolve

from drynpu.kernels import KernelPlan, Signature
from drynpu.kernels.ops import for_unified_cores, with_constants, without_constants
from drynpu.platforms import Platform
from drynpu.recorder import Planner
from drynpu_mindspore.rules import api_of


def launching_plans(plan: Planner) -> Planner:
    """
    Return *plan* as MindSpore launches it: each operator by a call of its own.

    Where the rule names none, it is the aclnn operator that `api_of` has, for the single-op path of ACL, which compiles
    at every call, is none that MindSpore goes.
    """

    def planned(signature: Signature) -> KernelPlan:
        kernel_plan = plan(signature)
        return (
            kernel_plan
            if kernel_plan.api or not kernel_plan.kernels
            else evolve(kernel_plan, api=api_of(signature.name))
        )

    return planned


def sunk_plans(plan: Planner, platform: Platform) -> Planner:
    """
    Return *plan* as the graph engine launches it (jit level O2): the host calls nothing for a node.

    Axes and sizes are constants of the graph, for which the first generation's operator library has kernels of their
    own; it lacks those that came with cores apart.
    """
    typed = with_constants(plan) if platform.compiles_constants else without_constants(plan)
    typed = typed if platform.split else for_unified_cores(typed)

    def planned(signature: Signature) -> KernelPlan:
        kernel_plan = typed(signature)
        return evolve(kernel_plan, in_graph=True, synchronizes=False) if kernel_plan.kernels else kernel_plan

    return planned
