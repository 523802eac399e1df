"""The graph engine's compilation of one kernel graph: fused operators, formats, and the rows of ``fusion_op``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from drynpu.kernels import Signature
from drynpu.kernels.ops import GraphOperator, ImageFormats, fuse_gelus, fuse_graph
from drynpu.simulate import FusionOp
from drynpu_mindspore.capture import KernelGraph
from drynpu_mindspore_kernels.graph_engine._nodes import wire
from drynpu_mindspore_kernels.graph_engine._pools import keep_places
from drynpu_mindspore_kernels.graph_engine._types import MINDSPORE_IMAGES, MINDSPORE_TYPES

_GELU = "GeLU"


@frozen(eq=False)
class CompiledGraph:
    """
    A graph as the engine runs it.

    Attributes
    ----------
    calls:
        By the number of a node in the graph: what it does on the device. A node that is not there launches nothing:
        the last of the nodes that became one does the work of all.
    fusions:
        Operators that stand for several nodes, as fusion_op lists them.
    """

    calls: Mapping[int, Signature]
    fusions: tuple[FusionOp, ...]


def compile_graph(graph: KernelGraph, launched: Mapping[int, Signature], *, split: bool) -> CompiledGraph:
    """
    Return what the graph engine makes of a kernel graph.

    Parameters
    ----------
    launched:
        The calls of the nodes that the CPU launched, by their number in the graph.
    split:
        Whether the chip has cube and vector cores apart (``Chip.split``); others fuse more.
    """
    wired = wire(graph, launched)
    operators = list(wired.operators) if split else keep_places(wired.operators)
    operators = fuse_gelus(operators, wired.constants, kind=_GELU)
    operators = fuse_graph(operators, MINDSPORE_TYPES, split=split, results=wired.results)
    fusions = tuple(_record(op, graph, wired.constants) for op in operators if len(op.members) > 1)
    ImageFormats(types=MINDSPORE_IMAGES, results=wired.results, known=wired.constants).write(operators)
    if not split:
        _part_gradients(operators)
    number = {node.label: place for place, node in enumerate(graph.nodes)}
    return CompiledGraph({number[op.name]: op.signature for op in operators}, fusions)


def _part_gradients(operators: Sequence[GraphOperator]) -> None:
    """Have the gradients of layer norms computed by two kernels each, as on unified cores."""
    for op in operators:
        if op.op_type == "LayerNormGrad":
            op.signature = op.describe({"_in_two": True})


def _record(op: GraphOperator, graph: KernelGraph, constants: frozenset[str]) -> FusionOp:
    """Return the row of ``fusion_op`` for an operator that stands for several nodes; constants are its weights."""
    names = tuple(dict.fromkeys(graph.nodes[member].name for member in op.members))
    # A batch norm whose sums went into the convolution before it keeps its second half.
    suffix = "_Update" if op.op_type == "BatchNorm" else ""
    weights = [place for place, (maker, _) in enumerate(op.inputs) if maker in constants]
    name = op.call.kernel_name(op.op_type, suffix=suffix)
    return FusionOp.from_tensors(name, names, op.signature.inputs, op.call.outputs, weights)
