"""Plans of nodes: what the graph engine makes of the plan of an operator."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from drynpu.kernels import KernelPlan, KernelSpec, Signature
from drynpu_tf.capture import NodeSignature

__all__ = ["node_plans"]


def node_plans(plan: Callable[[Signature], KernelPlan]) -> Callable[[Signature], KernelPlan]:
    """
    Return *plan* for nodes as well.

    The graph engine launches the kernels of a node without a call of their own and without waiting for any of them; its
    main kernel is called as the node, others carry their type behind that.
    """

    def of(signature: Signature) -> KernelPlan:
        found = plan(signature)
        if not isinstance(signature, NodeSignature):
            return found
        main = _main(found.kernels)
        kernels = tuple(_named(kernel, signature.node, is_main=kernel is main) for kernel in found.kernels)
        return evolve(found, kernels=kernels, claims=True, synchronizes=False, in_graph=True)

    return of


def _main(kernels: tuple[KernelSpec, ...]) -> KernelSpec | None:
    """Return the kernel with the most matrix work, the last one where none has any."""
    if not kernels:
        return None
    main = max(kernels, key=lambda kernel: kernel.cube_flops)
    return main if main.cube_flops else kernels[-1]


def _named(kernel: KernelSpec, node: str, *, is_main: bool) -> KernelSpec:
    if kernel.copy is not None:
        return kernel
    return evolve(kernel, name=node if is_main else f"{node}/{kernel.op_type}")
