"""
What the model compiler makes of a graph whose shapes are known.

- **Constants.** What is made of weights, constants and shapes alone is computed once, when the model is compiled.
- **Fusion.** A batch norm behind a convolution is folded into its weights; a bias goes into the product before it;
  Relu and LeakyRelu go into a convolution, and on unified chips (310, 310P, 910) activations into products as well.
  Only what nobody else takes is fused. These are the vendor's ConvBatchnormFusionPass, MatMulBiasAddFusionPass,
  TbeConvFixPipeFusionPass, TbeConv2DReluv2Pass and ATbeMatMulElemwiseFusionPass.
- **Formats.** Images are NC1HWC0 from the first convolution, pooling or batch norm to the first operator that cannot
  read them; TransData kernels stand at the borders. Weights are stored as the cube unit wants them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from drynpu.kernels import Signature, TensorDesc, node_signature
from drynpu_acl.kernels._layout import Layout, lay_out
from drynpu_acl.kernels._nodes import CONVOLUTIONS, SHAPE_READERS, GraphNode, Work, takers_of
from drynpu_acl.kernels._placement import FREE

__all__ = ["Compiled", "GraphNode", "Operation", "compile_graph"]

_PRODUCTS: Final = frozenset({"Gemm", "MatMul"})
_AFTER_CONVOLUTION: Final = frozenset({"Relu", "LeakyRelu"})
_AFTER_PRODUCT: Final = frozenset({"Relu", "LeakyRelu", "Elu", "Sigmoid", "Tanh", "Selu", "Softplus", "Softsign"})
_WITH_BIAS: Final = 3
"""Inputs of a convolution that has a bias."""
_RANDOM: Final = frozenset({"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli"})


@frozen(eq=False)
class Operation:
    """An operator of the compiled graph: its signature, the numbers of the nodes it is made of, and their names."""

    signature: Signature
    members: tuple[int, ...]
    names: tuple[str, ...]


@frozen(eq=False)
class Compiled:
    """The operators of a compiled graph in the order in which they run, constants and changes of shape left out."""

    operations: tuple[Operation, ...]

    @property
    def fused(self) -> tuple[Operation, ...]:
        """Operators that are made of several nodes."""
        return tuple(operation for operation in self.operations if len(operation.members) > 1)


def compile_graph(
    nodes: Sequence[GraphNode],
    tensors: Mapping[str, TensorDesc],
    constants: frozenset[str],
    outputs: Sequence[str],
    *,
    split: bool,
) -> Compiled:
    """
    Return what runs on the device.

    Parameters
    ----------
    nodes:
        In the order in which they run.
    tensors:
        Shape and type of every tensor by name; one that holds no numbers may be missing.
    constants:
        Names of weights.
    outputs:
        Names of the graph's results.
    split:
        Whether the chip has cube and vector cores apart; unified chips fuse more.
    """
    known = _known(nodes, constants)
    works = [
        Work(node, (number,), node.inputs, node.outputs[0] if node.outputs else "", names=(node.name,))
        for number, node in enumerate(nodes)
        if not (node.outputs and known.issuperset(filter(None, node.outputs)))
    ]
    works = _fuse(works, tensors, known, frozenset(outputs), split=split)
    layout = lay_out(works, tensors, known, frozenset(outputs))
    launching = [work for work in works if work.node.op_type not in FREE]
    until = _lives(works, launching, frozenset(outputs))
    return Compiled(
        tuple(
            Operation(_signature(work, tensors, known, layout, number, until[number]), work.members, work.names)
            for number, work in enumerate(launching)
        )
    )


def _lives(works: Sequence[Work], launching: Sequence[Work], results: frozenset[str]) -> list[int]:
    """Return the last of *launching* that reads what each of them makes, -1 for results: they are there to the end."""
    number = {id(work): index for index, work in enumerate(launching)}
    maker: dict[str, int] = {}
    until = list(range(len(launching)))
    for work in works:
        index = number.get(id(work))
        made = [maker[name] for name in work.inputs if name in maker]
        if index is not None:
            for source in made:
                until[source] = index
        # A change of shape has the memory of its input.
        owner = index if index is not None else made[0] if made else None
        if owner is not None:
            maker.update((name, owner) for name in (work.output, *work.node.outputs[1:]) if name)
    for name in results:
        if name in maker:
            until[maker[name]] = -1
    return until


def _known(nodes: Sequence[GraphNode], constants: frozenset[str]) -> frozenset[str]:
    """Return the tensors that the compiler works out: weights, shapes (they are fixed by now), what follows of both."""
    known = {"", *constants}
    for node in nodes:
        if node.op_type not in _RANDOM and (node.op_type in SHAPE_READERS or known.issuperset(node.inputs)):
            known.update(node.outputs)
    return frozenset(known)


def _fuse(
    works: list[Work],
    tensors: Mapping[str, TensorDesc],
    known: frozenset[str],
    results: frozenset[str],
    *,
    split: bool,
) -> list[Work]:
    """Let operators take in those behind them, again and again; the first of them keeps the place in the order."""
    takers = takers_of(works)
    gone: set[int] = set()
    for work in works:
        if id(work) in gone:
            continue
        while work.output not in results and len(takers.get(work.output, ())) == 1:
            (second,) = takers[work.output]
            if not _fits(work, second, tensors, known, split=split):
                break
            folded = second.node.op_type == "BatchNormalization"
            if folded:  # its shift becomes the convolution's bias
                work.inputs = (*work.inputs, *second.inputs[2:3]) if len(work.inputs) < _WITH_BIAS else work.inputs
            else:
                work.inputs = (*work.inputs, *(name for name in second.inputs if name not in {work.output, ""}))
            work.output = second.output
            work.members = (*work.members, *second.members)
            work.names = (*work.names, *second.names)
            if not folded:
                work.fused = (*work.fused, second.node.op_type)
                renamed = second.node.op_type != "Add"
                work.tail += second.node.name if renamed else ""
            gone.add(id(second))
    # An operator with everything it took in runs where the last of its nodes would: all of its inputs are there.
    return sorted((work for work in works if id(work) not in gone), key=lambda work: max(work.members))


def _fits(first: Work, second: Work, tensors: Mapping[str, TensorDesc], known: frozenset[str], *, split: bool) -> bool:
    kind, after = first.node.op_type, second.node.op_type
    others = [name for name in second.inputs if name != first.output]
    if kind in CONVOLUTIONS:
        if after == "BatchNormalization":
            return not first.fused and second.inputs[0] == first.output and known.issuperset(others)
        return after in _AFTER_CONVOLUTION and not first.fused
    if kind not in _PRODUCTS:
        return False
    if after == "Add":
        return kind == "MatMul" and not first.fused and _is_bias(first.output, others, tensors, known)
    return not split and after in _AFTER_PRODUCT and set(first.fused) <= {"Add"}


def _is_bias(product: str, others: list[str], tensors: Mapping[str, TensorDesc], known: frozenset[str]) -> bool:
    """Whether what is added to a product is one constant per column."""
    made, other = tensors.get(product), tensors.get(others[0]) if len(others) == 1 else None
    return made is not None and other is not None and others[0] in known and other.shape == made.shape[-1:]


def _signature(
    work: Work,
    tensors: Mapping[str, TensorDesc],
    known: frozenset[str],
    layout: Layout,
    number: int,
    until: int,
) -> Signature:
    attrs: dict[str, Any] = dict(work.node.attrs)
    notes: dict[str, Any] = {"_fused": work.fused, "_tail": work.tail}
    if len(work.names) > 1:
        notes["_members"] = work.names
        notes["_weights"] = tuple(number for number, name in enumerate(work.inputs) if name and name in known)
    notes["_before"] = tuple(layout.before.get(id(work), ()))
    notes["_after"] = tuple(layout.after.get(id(work), ()))
    if id(work) in layout.workers:
        notes["_blocked"] = True
    outputs = (work.output, *work.node.outputs[1:])
    return node_signature(
        work.node.op_type,
        [tensors.get(name) for name in work.inputs],
        [tensors.get(name) for name in outputs if name],
        attrs | {key: value for key, value in notes.items() if value} | {"_lives": (number, until)},
        node=work.node.name or work.node.op_type,
    )
