"""
One node of a graph that the graph engine compiled (jit level O2): as a signature, and as rules read it.

Such a signature is one of :func:`drynpu.kernels.node_signature` with the arguments by position behind it. The kernel
bears the full name of the node, with the names of the nodes that were fused into it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from drynpu.kernels import KernelPlan, NodeCall, Operator, Rule, Signature, TensorDesc, framed, join_rules, ops
from drynpu.kernels.ops import blocked_image, is_image
from drynpu.kernels.ops.elementwise import accumulation, comparison, elementwise
from drynpu_mindspore.rules._launch import answer_known
from drynpu_mindspore.rules._tables import placement_rules

KERNEL_TYPES: Final = ops.kernel_types_of("mindspore", elementwise, comparison, accumulation)
"""GE's types of the element-wise operators, by primitive."""
UNFOLDED: Final = frozenset({"SparseSoftmaxCrossEntropyWithLogits", "Dropout"})
"""Primitives in whose place MindSpore puts several nodes, each with a name of its own, before the engine compiles."""


def graph_signature(launch: Signature, node: str) -> Signature:
    """Return the call of a *launch* as a call of the *node* of a compiled graph."""
    outputs, attrs, arguments = launch.attributes
    return Signature(launch.name, launch.inputs, (outputs or (), node, attrs, arguments), launch.placement)


def is_compiled(signature: Signature) -> bool:
    """Return whether :func:`graph_signature` made a signature."""
    parts = signature.attributes
    return len(parts) > 1 and isinstance(parts[1], str)


class CompiledCall(NodeCall):
    """A node of a compiled graph, whose arguments stand by position as in a launch."""

    guesses = False
    arguments_at = 3
    kernel_types = KERNEL_TYPES

    @property
    def compiled(self) -> bool:
        """Whether the compiler chose the formats around this node."""
        return "_graph" in self.attrs

    def image(self, image: TensorDesc) -> TensorDesc:
        """Return an image in the blocked format where the compiler chose formats, as it is elsewhere."""
        return blocked_image(image) if self.compiled and is_image(image.shape) else image

    def further(self, count: int) -> list[TensorDesc]:
        """Return the tensors at positions from *count* on, of operators that were fused into this one."""
        return [t for t in map(self.tensor, range(count, len(self.signature.inputs))) if t is not None]

    def kernel_name(self, op_type: str, *, suffix: str = "", tail: bool = True, on_cpu: bool = False) -> str:
        """Return the name of the node, or of a node that it was unfolded into."""
        name = super().kernel_name(op_type, suffix=suffix, tail=tail, on_cpu=on_cpu)
        if self.signature.name not in UNFOLDED or suffix:
            return name
        scope, _, last = name.rpartition("/")
        return f"{scope}/{op_type}{last.removeprefix(self.signature.name)}"

    def answer(self, operator: Operator) -> KernelPlan | None:
        """Return what *operator* makes of this node; see :meth:`LaunchCall.answer`."""
        return answer_known(self, operator)


def compiled_rules() -> dict[str, Rule]:
    """Return the rules of nodes of compiled graphs, by primitive."""
    rules = join_rules([ops.rules_of("mindspore", CompiledCall), placement_rules(CompiledCall)])
    return {name: framed(rule) for name, rule in rules.items()}


def either(launched: Mapping[str, Rule], compiled: Mapping[str, Rule]) -> dict[str, Rule]:
    """Return the rules of launches, by primitive, with the rules of nodes where a graph was compiled."""

    def choose(name: str, rule: Rule) -> Rule:
        in_graph = compiled[name]
        return lambda signature: in_graph(signature) if is_compiled(signature) else rule(signature)

    return {name: choose(name, rule) for name, rule in launched.items()}
