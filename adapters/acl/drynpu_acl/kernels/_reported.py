"""What the model compiler reports: what it made one operator of (``fusion_op``), what memory it planned."""

from __future__ import annotations

from collections.abc import Iterable

from drynpu.kernels import NodeCall, Signature, TensorDesc
from drynpu.simulate import FusionOp, StaticMemory


def fusions(signatures: Iterable[Signature]) -> tuple[FusionOp, ...]:
    """
    Return the operators of a compiled graph that are made of several nodes, in the order of *signatures*.

    Sizes are those of the tensors: constants among the inputs are weights, workspaces are not modelled and 0.
    """
    return tuple(_fusion(signature) for signature in signatures if NodeCall(signature).texts("_members"))


def _fusion(signature: Signature) -> FusionOp:
    call = NodeCall(signature)
    weights = frozenset(call.integers("_weights"))
    sizes = [tensor.size_bytes if isinstance(tensor, TensorDesc) else 0 for tensor in signature.inputs]
    return FusionOp(
        name=call.node + call.text("_tail"),
        original_ops=call.texts("_members"),
        input_bytes=sum(size for number, size in enumerate(sizes) if number not in weights),
        output_bytes=sum(tensor.size_bytes for tensor in call.outputs),
        weight_bytes=sum(size for number, size in enumerate(sizes) if number in weights),
    )


def planned_memory(signatures: Iterable[Signature]) -> tuple[StaticMemory, ...]:
    """
    Return the memory of what each operator of a compiled graph makes, from its own place to that of the last reader.

    Sizes are those of the tensors; a compiler's own adds alignment and workspaces, which are not modelled.
    """
    found = []
    for call in map(NodeCall, signatures):
        lives = call.integers("_lives")
        if len(lives) == 2 and call.outputs:
            first, last = lives
            size = sum(tensor.size_bytes for tensor in call.outputs)
            name = call.node + call.text("_tail")
            last_node = None if last < 0 else last
            found.append(StaticMemory(op_name=name, size_bytes=size, first_node=first, last_node=last_node))
    return tuple(found)
