"""
The parameters, nodes and results of a saved graph of kernels.

Around its nodes the text has (observed in 2.7.2)::

    %para4_fc.weight: <Ref[Tensor[Float32]], (32, 16), ref_key=fc.weight, is_parameter>  :  ...  :  IsWeight: true
    %para5_inputs0: <Tensor[Float32], (8, 16)> : [8, 16]  :  ...  :  IsWeight: false
    subgraph @kernel_graph0() {
      ...
      Return(%38)
    }
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen

from drynpu.kernels import TensorDesc
from drynpu_mindspore.capture._ir import GraphNode, group, read_nodes, single_tensor, split, tensors_of

_PARAMETER = re.compile(r"^(%para\d+_[^:]*): (<.*)$")
_REF_KEY = re.compile(r"ref_key=([^,>]+)")
_WEIGHT = "IsWeight: true"
_SUBGRAPH, _RETURN, _END = "subgraph @", "  Return(", "}"


@frozen
class GraphParameter:
    """
    One parameter of a graph: an input, or a weight of the network or the optimizer.

    Attributes
    ----------
    label:
        As operands name it: ``%para4_fc.weight``.
    tensor:
        ``None`` for what is no tensor, or one whose shape is not known before the run.
    key:
        The name that all graphs share for a parameter of the network or the optimizer; ``""`` for an input, which is
        new in every run.
    """

    label: str
    tensor: TensorDesc | None
    key: str


@frozen
class KernelGraph:
    """Nodes in the order in which they stand in the graph; *results* are the operands that the graph returns."""

    parameters: tuple[GraphParameter, ...]
    nodes: tuple[GraphNode, ...]
    results: tuple[str, ...]


def read_kernel_graphs(text: str) -> tuple[KernelGraph, ...]:
    """Return the graphs of a file, which as a rule has one; those without a node are left out."""
    parameters: list[GraphParameter] = []
    graphs: list[KernelGraph] = []
    body: list[str] | None = None
    for line in text.splitlines():
        if line.startswith(_SUBGRAPH):
            body = []
        elif body is None:
            parameters += _parameter(line)
        elif line.startswith(_END):
            graphs.append(_graph(tuple(parameters), body))
            parameters, body = [], None
        else:
            body.append(line)
    return tuple(graph for graph in graphs if graph.nodes)


def _graph(parameters: tuple[GraphParameter, ...], lines: list[str]) -> KernelGraph:
    at = next((i for i, line in enumerate(lines) if line.startswith(_RETURN)), len(lines))
    results = split(group(lines[at].removeprefix(_RETURN[:-1]))[0]) if at < len(lines) else []
    return KernelGraph(parameters, tuple(read_nodes(lines[:at])), tuple(results))


def _parameter(line: str) -> Iterator[GraphParameter]:
    match = _PARAMETER.match(line)
    if match is None:
        return
    label, rest = match.groups()
    kind = f"<{group(rest)[0]}>"
    tensors = tensors_of(kind)
    named = _REF_KEY.search(kind)
    lasting = named is not None or _WEIGHT in rest
    key = (named.group(1) if named else label) if lasting else ""
    yield GraphParameter(label, single_tensor(tensors), key)
