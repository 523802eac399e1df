"""Plans of nodes: what the graph engine makes of the plan of an operator."""

from __future__ import annotations

from attrs import evolve

from drynpu.kernels import UNMAPPED_SUFFIX, KernelPlan, Signature
from drynpu.recorder import Planner

_NODE = 1
"""Where ``drynpu_tf.rules.signature`` puts the name of the node."""


def node_plans(plan: Planner) -> Planner:
    """
    Return *plan* for nodes of graphs as well.

    The graph engine launches the kernels of a node without a call of their own and waits for none of them. The kernel
    of an operator without a rule is called as the node, as others are by their rules, and keeps its suffix.
    """

    def planned(signature: Signature) -> KernelPlan:
        found = plan(signature)
        node = signature.attributes[_NODE] if len(signature.attributes) > _NODE else ""
        if not isinstance(node, str) or not node:
            return found
        if not found.mapped:
            kernels = tuple(
                evolve(kernel, name=f"{node}{UNMAPPED_SUFFIX}", op_type=signature.name) for kernel in found.kernels
            )
            found = evolve(found, kernels=kernels)
        return evolve(found, claims=True, synchronizes=False, in_graph=True)

    return planned
