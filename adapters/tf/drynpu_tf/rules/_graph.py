"""
The graph engine's compilation of a whole graph: constants, fused operators, formats.

TensorFlow runs node by node; the graph engine compiles the graph first. :func:`compile_graph` says which node stands
for what on the device, so that a capture of single nodes yields the kernels of the compiled graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import frozen

from drynpu.kernels import NodeCall, Placement, Signature
from drynpu.kernels.ops import FusedTypes, GraphOperator, ImageFormats, Place, fuse_gelus, fuse_graph
from drynpu.simulate import FusionOp, GraphPoints
from drynpu_tf.rules._call import ELEMENTWISE
from drynpu_tf.rules._formats import TF_IMAGES
from drynpu_tf.rules._layer_norm import fuse_layer_norms
from drynpu_tf.rules._parts import PART, join_parts
from drynpu_tf.rules._placement import folded
from drynpu_tf.rules._points import find_consumers, find_points
from drynpu_tf.rules._precision import Precision, reduce_precision
from drynpu_tf.rules._signature import IN_PLACE

_NORMS: Final = frozenset({"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})


def _trains(op: GraphOperator) -> bool:
    """Return whether an operator is the batch norm of a training."""
    return op.op_type in _NORMS and op.call.attrs.get("is_training") is not False


_TYPES: Final = FusedTypes(
    convolutions=frozenset({"Conv2D", "DepthwiseConv2dNative"}),
    summing=frozenset({"Conv2D"}),
    products=frozenset({"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}),
    biases=frozenset({"BiasAdd"}),
    additions=frozenset({"Add", "AddV2"}),
    after_convolution=frozenset({"Relu", "LeakyRelu"}),
    after_product=frozenset(
        {"Elu", "LeakyRelu", "Softsign", "Relu6", "Relu", "Softplus", "Sigmoid", "Tanh", "Selu", "TanhGrad"}
    ),
    input_gradients=frozenset({"Conv2DBackpropInput"}),
    relu_gradients=frozenset({"ReluGrad"}),
    elementwise=ELEMENTWISE,
    trains=_trains,
)
"""What TensorFlow calls the operators that the graph engine's fusion passes join."""
_PASSES: Final = frozenset({"Identity", "StopGradient", "PreventGradient", "Snapshot", "EnsureShape"})
_SILENT: Final = "NoOp"
"""Stands for a node that launches nothing because another one does its work, or because its result is a constant."""


@frozen
class GraphNode:
    """
    One node that was executed, as a capture hands it over.

    Attributes
    ----------
    inputs:
        Where its inputs come from, by position and without control inputs: ``(node, slot)``.
    signature:
        Of :func:`drynpu.kernels.node_signature`, with the node's name; its inputs stand in the same order.
    """

    name: str
    inputs: tuple[Place, ...]
    signature: Signature


@frozen
class CompiledGraph:
    """
    A graph as the engine runs it.

    Attributes
    ----------
    signatures:
        By node: what it does on the device. Of nodes that became one the last one does the work.
    fusions:
        Operators that stand for several nodes, as fusion_op lists them.
    points:
        Where the iteration trace marks the graph.
    consumers:
        By communication operator: the operators that take what it leaves.
    """

    signatures: Mapping[str, Signature]
    fusions: tuple[FusionOp, ...]
    points: GraphPoints
    consumers: Mapping[str, frozenset[str]]


def compile_graph(
    nodes: Sequence[GraphNode], *, split: bool = True, precision: Precision | None = None
) -> CompiledGraph:
    """
    Return what the graph engine makes of the executed nodes of a graph.

    Parameters
    ----------
    nodes:
        With the ``_Arg`` and ``_Retval`` nodes of the run, since what is fetched is not fused away.
    split:
        Whether the chip has cube and vector cores apart (``Chip.split``); others fuse more.
    precision:
        How operators are reduced to 16 bits; None: they keep their types.
    """
    passing = {n.name: n.inputs[0] for n in nodes if n.signature.name in _PASSES and n.inputs}
    originals = [
        GraphOperator(
            tuple(_source(place, passing) for place in node.inputs),
            tuple((node.name, slot) for slot in range(max(len(NodeCall(node.signature).outputs), 1))),
            node.signature,
            (number,),
        )
        for number, node in enumerate(nodes)
        if node.name not in passing and not NodeCall(node.signature).flag(IN_PLACE)
    ]
    known = folded(originals)
    # What copies to and from the device or stays on the host is none of the engine's business.
    inside = [w for w in originals if w.signature.placement is Placement.DEVICE and w.name not in known]
    outside = [w for w in originals if w.signature.placement is not Placement.DEVICE]
    whole = join_parts([*inside, *outside], known)
    # The parts of an operator of the vendor's are no operators of the device's graph: fusion_op does not list them.
    shown = [node.name for node in nodes]
    for op in whole:
        if op.call.text(PART):
            for number in op.members:
                shown[number] = op.call.node
    norms = fuse_layer_norms(whole, known, split=split)
    joined = fuse_graph(fuse_gelus(norms, known), _TYPES, split=split)
    constants = frozenset(n.name for n in nodes if n.signature.name == "Const")
    fused = {op.name: tuple(dict.fromkeys(shown[number] for number in op.members)) for op in joined}
    records = tuple(_record(op, fused[op.name], constants) for op in joined if len(fused[op.name]) > 1)
    points = find_points(joined, known, {node.name: number for number, node in enumerate(nodes)})
    consumers = find_consumers(joined, known)
    if precision is not None:
        reduce_precision(joined, known, precision)
    ImageFormats(types=TF_IMAGES, known=known).write(joined)
    standing = {op.name: op.signature for op in joined}
    signatures = {n.name: _silent(n.signature) for n in nodes if n.name not in standing} | standing
    return CompiledGraph(signatures, records, points, consumers)


def _source(place: Place, passing: Mapping[str, Place]) -> Place:
    """Return the tensor behind nodes that only pass it on; those do not exist after compilation."""
    for _ in range(len(passing)):
        if place[0] not in passing or place[1]:
            break
        place = passing[place[0]]
    return place


def _silent(signature: Signature) -> Signature:
    """Return the signature of a node that launches nothing; copies and nodes of the host stay what they are."""
    if signature.placement is not Placement.DEVICE:
        return signature
    return Signature(_SILENT, signature.inputs, signature.attributes)


def _record(op: GraphOperator, fused: tuple[str, ...], constants: frozenset[str]) -> FusionOp:
    """Return the row of ``fusion_op`` for an operator that is *fused*; constants it takes count as its weights."""
    # A batch norm whose sums went into the convolution before it keeps its second half.
    suffix = "_Update" if op.op_type.startswith("FusedBatchNorm") else ""
    weights = [place for place, (producer, _) in enumerate(op.inputs) if producer in constants]
    name = op.call.kernel_name(op.call.signature.name, suffix=suffix)
    inputs = op.signature.inputs[: len(op.inputs)]
    return FusionOp.from_tensors(name, fused, inputs, op.call.outputs, weights)
