"""Plans of nodes, and the reports of the model compiler: operators made of several (``fusion_op``), planned memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import evolve

from drynpu.kernels import UNMAPPED_SUFFIX, KernelPlan, NodeCall, Signature
from drynpu.simulate import FusionOp, Planner, StaticMemory


def node_plans(plan: Planner) -> Planner:
    """
    Return *plan* for nodes of graphs.

    The graph engine launches the kernels of a node without a call of their own and waits for none of them. The kernel
    of an operator without a rule is called as the node and keeps its suffix; what the node returns is known.
    """

    def planned(signature: Signature) -> KernelPlan:
        kernel_plan = plan(signature)
        if not kernel_plan.mapped:
            call = NodeCall(signature)
            node: dict[str, Any] = {
                "name": f"{call.node}{UNMAPPED_SUFFIX}",
                "op_type": signature.name,
                "outputs": call.outputs,
                "bytes_written": sum(t.size_bytes for t in call.outputs),
            }
            kernel_plan = evolve(kernel_plan, kernels=tuple(evolve(kernel, **node) for kernel in kernel_plan.kernels))
        return evolve(kernel_plan, api="", claims=True, synchronizes=False, in_graph=True)

    return planned


def fusions(signatures: Iterable[Signature]) -> tuple[FusionOp, ...]:
    """
    Return the operators of a compiled graph that stand for several nodes, in the order of *signatures*.

    Sizes are tensor sizes: constants among the inputs are weights, workspaces are not modelled and 0.
    """
    return tuple(_fusion(signature) for signature in signatures if NodeCall(signature).texts("_members"))


def _fusion(signature: Signature) -> FusionOp:
    call = NodeCall(signature)
    name = call.node + call.text("_tail")
    return FusionOp.from_tensors(
        name, call.texts("_members"), signature.inputs, call.outputs, call.integers("_weights")
    )


def planned_memory(signatures: Iterable[Signature]) -> tuple[StaticMemory, ...]:
    """
    Return the memory of what each operator of a compiled graph makes, from its own place to the last reader's.

    Sizes are tensor sizes; a compiler's own adds alignment and workspaces, which are not modelled.
    """
    lifetimes = []
    for call in map(NodeCall, signatures):
        lives = call.integers("_lives")
        if len(lives) == 2 and call.outputs:
            first, last = lives
            size = sum(tensor.size_bytes for tensor in call.outputs)
            name = call.node + call.text("_tail")
            last_node = None if last < 0 else last
            lifetimes.append(StaticMemory(op_name=name, size_bytes=size, first_node=first, last_node=last_node))
    return tuple(lifetimes)
