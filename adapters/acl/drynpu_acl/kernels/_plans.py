"""Plans of nodes: what the graph engine makes of the plan of an operator."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from drynpu.kernels import UNMAPPED_SUFFIX, KernelPlan, NodeCall, Signature


def node_plans(plan: Callable[[Signature], KernelPlan]) -> Callable[[Signature], KernelPlan]:
    """
    Return *plan* for nodes of graphs.

    The graph engine launches the kernels of a node without a call of their own and waits for none of them. The kernel
    of an operator without a rule is called as the node and keeps its suffix; what the node returns is known.
    """

    def of(signature: Signature) -> KernelPlan:
        found = plan(signature)
        if not found.mapped:
            call = NodeCall(signature)
            kernels = tuple(
                evolve(
                    kernel,
                    name=f"{call.node}{UNMAPPED_SUFFIX}",
                    op_type=signature.name,
                    outputs=call.outputs,
                    bytes_written=sum(t.size_bytes for t in call.outputs),
                )
                for kernel in found.kernels
            )
            found = evolve(found, kernels=kernels)
        return evolve(found, api="", claims=True, synchronizes=False, in_graph=True)

    return of
