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

from attrs import define, field, frozen

from drynpu.kernels import Signature, TensorDesc
from drynpu_acl.kernels._call import signature
from drynpu_acl.kernels._elementwise import ELEMENTWISE
from drynpu_acl.kernels._movement import FREE
from drynpu_acl.kernels._work import blocked, is_image

__all__ = ["Compiled", "GraphNode", "Operation", "compile_graph"]

_CONVOLUTIONS: Final = frozenset({"Conv", "ConvTranspose"})
_PRODUCTS: Final = frozenset({"Gemm", "MatMul"})
_AFTER_CONVOLUTION: Final = frozenset({"Relu", "LeakyRelu"})
_AFTER_PRODUCT: Final = frozenset({"Relu", "LeakyRelu", "Elu", "Sigmoid", "Tanh", "Selu", "Softplus", "Softsign"})
_IMAGE_WORKERS: Final = frozenset(
    {*_CONVOLUTIONS, "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "BatchNormalization"}
)
# They make values of the shape of their input or of constants; C0 depends on the type, so comparisons stay plain.
_FOLLOWERS: Final = frozenset(ELEMENTWISE) - {
    *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not", "And", "Or", "Xor", "IsNaN", "IsInf", "Where")
}
_SHAPE_READERS: Final = frozenset({"Shape", "Size"})
_WITH_BIAS: Final = 3
"""Inputs of a convolution that has a bias."""
_RANDOM: Final = frozenset({"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli"})


@frozen(eq=False)
class GraphNode:
    """A node as the model has it: names of tensors, attributes as plain values."""

    name: str
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Mapping[str, Any] = field(factory=dict)


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


@define(eq=False)
class _Work:
    """An operator while the graph is compiled."""

    node: GraphNode
    members: tuple[int, ...]
    inputs: tuple[str, ...]
    output: str
    fused: tuple[str, ...] = ()
    tail: str = ""
    names: tuple[str, ...] = ()


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
        _Work(node, (number,), node.inputs, node.outputs[0] if node.outputs else "", names=(node.name,))
        for number, node in enumerate(nodes)
        if not (node.outputs and known.issuperset(filter(None, node.outputs)))
    ]
    works = _fuse(works, tensors, known, frozenset(outputs), split=split)
    layout = _lay_out(works, tensors, known, frozenset(outputs))
    launching = [work for work in works if work.node.op_type not in FREE]
    until = _lives(works, launching, frozenset(outputs))
    return Compiled(
        tuple(
            Operation(_signature(work, tensors, known, layout, number, until[number]), work.members, work.names)
            for number, work in enumerate(launching)
        )
    )


def _lives(works: Sequence[_Work], launching: Sequence[_Work], results: frozenset[str]) -> list[int]:
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
        if node.op_type not in _RANDOM and (node.op_type in _SHAPE_READERS or known.issuperset(node.inputs)):
            known.update(node.outputs)
    return frozenset(known)


def _takers(works: Sequence[_Work]) -> dict[str, list[_Work]]:
    found: dict[str, list[_Work]] = {}
    for work in works:
        for name in work.inputs:
            found.setdefault(name, []).append(work)
    return found


def _fuse(
    works: list[_Work],
    tensors: Mapping[str, TensorDesc],
    known: frozenset[str],
    results: frozenset[str],
    *,
    split: bool,
) -> list[_Work]:
    """Let operators take in those behind them, again and again; the first of them keeps the place in the order."""
    takers = _takers(works)
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


def _fits(
    first: _Work, second: _Work, tensors: Mapping[str, TensorDesc], known: frozenset[str], *, split: bool
) -> bool:
    kind, after = first.node.op_type, second.node.op_type
    others = [name for name in second.inputs if name != first.output]
    if kind in _CONVOLUTIONS:
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


@define(eq=False)
class _Layout:
    """Which tensors are blocked, and the kernels that change formats before and behind each operator."""

    blocked: set[str] = field(factory=set)
    before: dict[int, list[tuple[int, TensorDesc, TensorDesc]]] = field(factory=dict)
    after: dict[int, list[tuple[int, TensorDesc, TensorDesc]]] = field(factory=dict)
    workers: set[int] = field(factory=set)


def _lay_out(
    works: Sequence[_Work], tensors: Mapping[str, TensorDesc], known: frozenset[str], results: frozenset[str]
) -> _Layout:
    layout, converted, count = _Layout(), set[str](), 0
    for work in works:
        if _works_blocked(work, tensors, known, layout.blocked):
            layout.workers.add(id(work))
            layout.blocked.add(work.output)
    takers = _takers(works)
    for work in works:
        if id(work) not in layout.workers:
            continue
        for name in _images(work, tensors, known):
            if name not in layout.blocked and name not in converted:
                converted.add(name)
                image = _plain(tensors[name])
                layout.before.setdefault(id(work), []).append((count, image, blocked(image)))
                count += 1
        behind = [t for t in takers.get(work.output, ()) if t.node.op_type not in _SHAPE_READERS]
        if work.output in results or any(id(taker) not in layout.workers for taker in behind):
            image = _plain(tensors[work.output])
            layout.after.setdefault(id(work), []).append((count, blocked(image), image))
            count += 1
    return layout


def _plain(tensor: TensorDesc) -> TensorDesc:
    return TensorDesc(tensor.shape, tensor.dtype, "NCHW")


def _works_blocked(work: _Work, tensors: Mapping[str, TensorDesc], known: frozenset[str], already: set[str]) -> bool:
    out = tensors.get(work.output)
    if out is None or not is_image(out):
        return False
    images = _images(work, tensors, known)
    if work.node.op_type in _IMAGE_WORKERS:
        return bool(images)
    if work.node.op_type not in _FOLLOWERS or not already.intersection(images):
        return False
    # Whole images and single numbers go in; anything that has to be stretched is read plain.
    found = [tensors.get(name) for name in work.inputs if name]
    return all(t is not None and (t.shape == out.shape or t.elements == 1) and t.dtype == out.dtype for t in found)


def _images(work: _Work, tensors: Mapping[str, TensorDesc], known: frozenset[str]) -> list[str]:
    """Return the inputs that are images; weights are not."""
    names = work.inputs[:1] if work.node.op_type in _IMAGE_WORKERS else work.inputs
    return [n for n in dict.fromkeys(names) if n not in known and n in tensors and is_image(tensors[n])]


def _signature(
    work: _Work,
    tensors: Mapping[str, TensorDesc],
    known: frozenset[str],
    layout: _Layout,
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
    return signature(
        work.node.op_type,
        [tensors.get(name) for name in work.inputs],
        [tensors.get(name) for name in outputs if name],
        attrs | {key: value for key, value in notes.items() if value} | {"_lives": (number, until)},
        node=work.node.name,
    )
