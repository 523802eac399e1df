"""What the model compiler made one operator of, as ``fusion_op`` lists it."""

from __future__ import annotations

from collections.abc import Iterable

from drynpu.kernels import Signature, TensorDesc
from drynpu.session import FusionOp
from drynpu_acl.kernels._call import Call

__all__ = ["fusions"]


def fusions(signatures: Iterable[Signature]) -> tuple[FusionOp, ...]:
    """
    Return the operators of a compiled graph that are made of several nodes, in the order of *signatures*.

    Sizes are those of the tensors: constants among the inputs are weights, workspaces are not modelled and 0.
    """
    return tuple(_fusion(signature) for signature in signatures if Call(signature).texts("_members"))


def _fusion(signature: Signature) -> FusionOp:
    call = Call(signature)
    weights = frozenset(call.integers("_weights"))
    sizes = [tensor.size_bytes if isinstance(tensor, TensorDesc) else 0 for tensor in signature.inputs]
    return FusionOp(
        name=call.node + call.text("_tail"),
        original_ops=call.texts("_members"),
        input_bytes=sum(size for number, size in enumerate(sizes) if number not in weights),
        output_bytes=sum(tensor.size_bytes for tensor in call.outputs),
        weight_bytes=sum(size for number, size in enumerate(sizes) if number in weights),
    )
