"""
Compilation of a graph whose shapes are known.

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
from typing import Final

from attrs import frozen

from drynpu.kernels import Signature, TensorDesc, node_signature
from drynpu.kernels.ops import FormatChanges, FusedTypes, Fusion, GraphOperator, Place, fuse
from drynpu_acl.kernels._layout import OnnxFormats
from drynpu_acl.kernels._nodes import CONVOLUTIONS, FREE, SHAPE_READERS, GraphNode

_TYPES: Final = FusedTypes(
    convolutions=CONVOLUTIONS,
    products=frozenset({"Gemm", "MatMul"}),
    after_convolution=frozenset({"Relu", "LeakyRelu"}),
    after_product=frozenset({"Relu", "LeakyRelu", "Elu", "Sigmoid", "Tanh", "Selu", "Softplus", "Softsign"}),
)
_RANDOM: Final = frozenset({"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli"})


@frozen(eq=False)
class Operation:
    """An operator of the compiled graph: its signature, the numbers of the nodes it stands for, and their names."""

    signature: Signature
    members: tuple[int, ...]
    names: tuple[str, ...]


@frozen(eq=False)
class Compiled:
    """The operators of a compiled graph in the order in which they run, constants and changes of shape left out."""

    operations: tuple[Operation, ...]

    @property
    def fused(self) -> tuple[Operation, ...]:
        """Operators that stand for several nodes."""
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
    operators = [
        GraphOperator(
            tuple((name, 0) for name in node.inputs),
            tuple((name, 0) for name in node.outputs if name),
            node_signature(
                node.op_type,
                [tensors.get(name) for name in node.inputs],
                [tensors.get(name) for name in node.outputs if name],
                node.attrs,
                node=node.name,
            ),
            (number,),
        )
        for number, node in enumerate(nodes)
        if not (node.outputs and known.issuperset(filter(None, node.outputs)))
    ]
    results = frozenset((name, 0) for name in outputs)
    operators = fuse(operators, _fusions(known, split=split, times=len(nodes)), results)
    layout = OnnxFormats(results=results, known=known, tensors=tensors).lay_out(operators)
    launching = [op for op in operators if op.op_type not in FREE]
    until = _lives(operators, launching, results)
    compiled = []
    for number, op in enumerate(launching):
        names = tuple(nodes[member].name for member in op.members)
        signature = _signature(op, names, known, layout.get(id(op)), (number, until[number]))
        compiled.append(Operation(signature, op.members, names))
    return Compiled(tuple(compiled))


def _lives(
    operators: Sequence[GraphOperator], launching: Sequence[GraphOperator], results: frozenset[Place]
) -> list[int]:
    """Return the last of *launching* that reads what each of them makes, -1 for results: they are there to the end."""
    number = {id(op): index for index, op in enumerate(launching)}
    maker: dict[Place, int] = {}
    until = list(range(len(launching)))
    for op in operators:
        index = number.get(id(op))
        makers = [maker[place] for place in op.inputs if place in maker]
        if index is not None:
            for source in makers:
                until[source] = index
        # A change of shape has the memory of its input.
        owner = index if index is not None else makers[0] if makers else None
        if owner is not None:
            maker.update((place, owner) for place in op.outputs)
    for place in results & maker.keys():
        until[maker[place]] = -1
    return until


def _known(nodes: Sequence[GraphNode], constants: frozenset[str]) -> frozenset[str]:
    """Return the tensors that the compiler works out: weights, shapes (they are fixed by now), what follows of both."""
    known = {"", *constants}
    for node in nodes:
        if node.op_type not in _RANDOM and (node.op_type in SHAPE_READERS or known.issuperset(node.inputs)):
            known.update(node.outputs)
    return frozenset(known)


def _fusions(known: frozenset[str], *, split: bool, times: int) -> list[Fusion]:
    """Return the ways in which operators take in those behind them, one after the other."""

    def folds(first: GraphOperator, second: GraphOperator) -> bool:
        if first.op_type not in CONVOLUTIONS or second.op_type != "BatchNormalization" or first.call.fused:
            return False
        others = {name for name, _ in second.inputs if (name, 0) != first.outputs[0]}
        return second.inputs[0] == first.outputs[0] and others <= known

    def takes_bias(first: GraphOperator, second: GraphOperator) -> bool:
        return first.op_type == "MatMul" and second.op_type == "Add" and _is_bias(first, second, known)

    fusions = [
        Fusion(folds, folds=True, times=times),
        Fusion(takes_bias, renames=False),
        Fusion(_TYPES.activates_convolution),
    ]
    return fusions if split else [*fusions, Fusion(_TYPES.activates_product)]


def _is_bias(first: GraphOperator, second: GraphOperator, known: frozenset[str]) -> bool:
    """Return whether what is added to a product is one constant per column."""
    others = [i for i, place in enumerate(second.inputs) if place != first.outputs[0]]
    product, other = first.call.output(), second.signature.tensor(others[0]) if len(others) == 1 else None
    return (
        product is not None
        and other is not None
        and second.inputs[others[0]][0] in known
        and other.shape == product.shape[-1:]
    )


def _signature(
    op: GraphOperator,
    names: tuple[str, ...],
    known: frozenset[str],
    changes: FormatChanges | None,
    lives: tuple[int, int],
) -> Signature:
    notes: dict[str, object] = {"_lives": lives}
    if len(names) > 1:
        notes["_members"] = names
        notes["_weights"] = tuple(i for i, (name, _) in enumerate(op.inputs) if name and name in known)
    if changes is not None:
        notes |= {"_before": changes.before, "_after": changes.after, "_blocked": True}
    attrs = op.call.attrs | {key: value for key, value in notes.items() if value}
    inputs = [op.signature.tensor(i) for i in range(len(op.inputs))]
    return node_signature(op.op_type, inputs, op.call.outputs, attrs, node=op.call.node or op.op_type)
