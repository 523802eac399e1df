"""
What the graph engine makes one operator of.

Graph fusion puts a bias into the operator before it, which keeps its name; UB fusion joins kernels, under the names of
all of them one after another (no longer than 512 characters) and the type of the first. The patterns are those of the
vendor's list of fusion passes that training graphs meet:

- bias: AABiasaddConvFusion, MatMulBiasAddFusionPass;
- activation after a convolution: TbeConvFixPipeFusionPass (split chips), TbeConv2DReluv2Pass (unified chips);
- BNTrainingReduce into a 16-bit convolution: TbeConvBnreduceFusionPass;
- unified chips only: BNTrainingUpdate with what follows, activations after products (ATbeMatMulElemwiseFusionPass),
  the gradient of Relu after 16-bit Conv2DBackpropInput (TbeConv2DBackpropElemwiseFusionPass), chains of up to six
  element-wise operators (TbeEltwiseFusionPass). First-generation profiles show them (device_and_cost_model.md 4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from attrs import frozen

from drynpu.kernels import Signature, TensorDesc
from drynpu_tf.rules._elementwise import ELEMENTWISE
from drynpu_tf.rules._nodes import Place, Work, consumers_of

__all__ = ["fuse"]

_CONVOLUTIONS: Final = frozenset({"Conv2D", "DepthwiseConv2dNative"})
_PRODUCTS: Final = frozenset({"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"})
_NORMS: Final = frozenset({"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})
_ADDITIONS: Final = frozenset({"Add", "AddV2"})
_AFTER_CONVOLUTION: Final = frozenset({"Relu", "LeakyRelu"})
_AFTER_PRODUCT: Final = frozenset(
    {"Elu", "LeakyRelu", "Softsign", "Relu6", "Relu", "Softplus", "Sigmoid", "Tanh", "Selu", "TanhGrad"}
)
_LONGEST_CHAIN: Final = 6
_HALF: Final = frozenset({"FLOAT16", "DT_BF16"})


@frozen
class _Step:
    """A way to grow an operator by the one behind it: which pairs, and whether the name of the second is added."""

    fits: Callable[[Work, Work], bool]
    renames: bool = True
    again: int = 1
    """How often in a row."""


def fuse(works: Sequence[Work], *, split: bool) -> list[Work]:
    """
    Return the operators after fusion, in the order of *works*; an operator made of several has several members.

    Parameters
    ----------
    split:
        Whether cube and vector cores are apart (A2 and later); unified chips fuse more.
    """
    found = list(works)
    for step in _steps(split=split):
        for _ in range(step.again):
            found = _pass(found, step)
    return _normalised(found)


def _steps(*, split: bool) -> tuple[_Step, ...]:
    common = (_Step(_takes_bias, renames=False), _Step(_activated_convolution))
    if split:
        return common
    return (
        *common,
        _Step(_activated_product),
        _Step(_activated_norm),
        _Step(_gradient_of_relu),
        _Step(_chain, again=_LONGEST_CHAIN - 1),
    )


def _pass(works: list[Work], step: _Step) -> list[Work]:
    """Join pairs whose first has no other consumer; each operator takes part once."""
    takers, by_name = consumers_of(works), {work.name: work for work in works}
    gone: set[str] = set()
    joined: dict[str, Work] = {}
    for second in works:
        for position, (producer, slot) in enumerate(second.inputs):
            first = by_name.get(producer)
            if first is None or slot or {first.name, second.name} & (gone | joined.keys()):
                continue
            if not _only_taker(first, takers) or not step.fits(first, second):
                continue
            joined[second.name] = _joined(first, second, position, renames=step.renames)
            gone.add(first.name)
            break
    return [joined.get(work.name, work) for work in works if work.name not in gone]


def _only_taker(first: Work, takers: dict[Place, list[Work]]) -> bool:
    """Whether the first output goes to one place; further ones (statistics of a norm) stay outputs."""
    return len(takers.get((first.name, 0), ())) == 1


def _joined(first: Work, second: Work, position: int, *, renames: bool) -> Work:
    """Return *second* computed by the kernel of *first*: its other inputs follow those of *first*."""
    call, after = first.call, second.call
    others = [i for i in range(len(second.inputs)) if i != position]
    inputs = (*first.signature.inputs, *(_at(second, i) for i in others))
    outputs = (*after.outputs[:1], *call.outputs[1:])
    attrs = call.attrs
    attrs["_fused"] = (*call.texts("_fused"), second.op_type, *after.texts("_fused"))
    attrs["_tail"] = call.text("_tail") + (after.node + after.text("_tail") if renames else "")
    named = tuple(sorted(attrs.items()))
    signature = Signature(first.op_type, inputs, (outputs, call.node, named), first.signature.placement)
    places = (*first.inputs, *(second.inputs[i] for i in others))
    return Work(second.name, places, signature, (*first.members, *second.members))


def _at(work: Work, position: int) -> TensorDesc | tuple[TensorDesc, ...] | None:
    return work.signature.inputs[position] if position < len(work.signature.inputs) else None


def _normalised(works: list[Work]) -> list[Work]:
    """Give the sums of a batch norm to the 16-bit convolution before it; the norm keeps its second half."""
    by_name = {work.name: work for work in works}
    for work in works:
        if not _training_norm(work):
            continue
        first = by_name.get(work.inputs[0][0]) if work.inputs else None
        image = first.call.output() if first is not None else None
        if first is None or first.op_type != "Conv2D" or image is None or image.dtype not in _HALF:
            continue
        if first.call.texts("_fused"):
            continue
        _mark(first, _fused=("BNTrainingReduce",), _tail=f"{work.call.node}_Reduce")
        first.members = (*first.members, work.call.node)
        _mark(work, _reduced=True)
    return works


def _mark(work: Work, **attrs: object) -> None:
    outputs, node, named = work.signature.attributes
    values = tuple(sorted((dict(named) | attrs).items()))  # type: ignore[call-overload]
    work.signature = Signature(work.op_type, work.signature.inputs, (outputs, node, values), work.signature.placement)


def _takes_bias(first: Work, second: Work) -> bool:
    if first.call.texts("_fused"):
        return False
    if first.op_type in _CONVOLUTIONS:
        return second.op_type == "BiasAdd" and second.inputs[0] == (first.name, 0)
    out = first.call.output()
    if first.op_type not in _PRODUCTS or out is None or (first.op_type == "MatMul" and len(out.shape) != 2):
        return False
    if second.op_type == "BiasAdd":
        return second.inputs[0] == (first.name, 0)
    if second.op_type not in _ADDITIONS:
        return False
    other = second.call.tensor(1 if second.inputs[0] == (first.name, 0) else 0)
    return other is not None and other.shape == out.shape[-1:]


def _activated_convolution(first: Work, second: Work) -> bool:
    return first.op_type in _CONVOLUTIONS and second.op_type in _AFTER_CONVOLUTION


def _activated_product(first: Work, second: Work) -> bool:
    return first.op_type in _PRODUCTS and second.op_type in _AFTER_PRODUCT


def _training_norm(work: Work) -> bool:
    return work.op_type in _NORMS and work.call.attrs.get("is_training") is not False


def _activated_norm(first: Work, second: Work) -> bool:
    return _training_norm(first) and second.op_type in _AFTER_CONVOLUTION


def _gradient_of_relu(first: Work, second: Work) -> bool:
    out = first.call.output()
    return (
        first.op_type == "Conv2DBackpropInput"
        and second.op_type == "ReluGrad"
        and out is not None
        and out.dtype in _HALF
        and second.inputs[0] == (first.name, 0)
    )


def _chain(first: Work, second: Work) -> bool:
    if not {first.op_type, second.op_type} <= ELEMENTWISE:
        return False
    count = 2 + len(first.call.texts("_fused")) + len(second.call.texts("_fused"))
    one, other = first.call.output(), second.call.output()
    same = one is not None and other is not None and one.shape == other.shape and one.shape != ()
    return same and count <= _LONGEST_CHAIN
