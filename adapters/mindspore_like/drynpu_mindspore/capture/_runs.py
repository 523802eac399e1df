"""
The runs of graphs among the launches.

A graph runs from its first to its last node before another one does; within a run nodes that do not depend on each
other are launched in any order, and a run that failed lacks some.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from drynpu.arrays import I64
from drynpu.kernels import Operators, TensorDesc
from drynpu_mindspore.capture._wiring import KernelGraph
from drynpu_mindspore.rules import NOTHING

GraphRuns = Mapping[int, I64]
"""The runs of every graph that ran, by its place among the graphs: rows of launches, ``[runs, nodes]``."""
Node = tuple[str, tuple[TensorDesc, ...]]
"""The identity of a node in the list of launches: its full name and its input tensors."""


def find_runs(graphs: Sequence[KernelGraph], operators: Operators) -> dict[int, I64]:
    """
    Return the runs of every graph that ran, by its place among *graphs*.

    They are int64 of shape ``[runs, nodes]`` in order of time: the row of every node in the table of operators, -1
    where it was not launched. Views are ignored, because a device launches nothing for them. Where graphs share names
    and shapes, a run belongs to the graph of which most nodes are there and fewest are missing; of equal ones to the
    latest.
    """
    count = max(len(operators.signatures), 1)
    called = np.flatnonzero(operators.signature >= 0)
    called = called[np.argsort(operators.start_ns[called], kind="stable")]
    key = operators.name[called].astype(np.int64) * count + operators.signature[called]
    distinct, of_row = np.unique(key, return_inverse=True)
    places = _places(graphs)
    local: dict[int, I64] = {}
    for number, code in enumerate(distinct.tolist()):
        signature = operators.signatures[code % count]
        for graph, node in places.get((operators.names[code // count], signature.tensors()), ()):
            local.setdefault(graph, np.full(len(distinct), -1, np.int64))[number] = node
    if not local:
        return {}
    of_row = of_row.reshape(-1)
    in_graph = np.isin(of_row, np.flatnonzero(np.any(np.stack([*local.values()]) >= 0, axis=0)))
    return _cut(of_row[in_graph], called[in_graph], local, {graph: graphs[graph] for graph in local})


def _places(graphs: Sequence[KernelGraph]) -> dict[Node, list[tuple[int, int]]]:
    places: dict[Node, list[tuple[int, int]]] = {}
    for number, graph in enumerate(graphs):
        for index, node in enumerate(graph.nodes):
            if node.primitive not in NOTHING:
                tensors = tuple(tensor for tensor in node.inputs if tensor is not None)
                places.setdefault((node.name, tensors), []).append((number, index))
    return places


def _cut(keys: I64, rows: I64, local: Mapping[int, I64], graphs: Mapping[int, KernelGraph]) -> dict[int, I64]:
    """Cut a sequence of launches into runs; one step of this loop is one run."""
    # Nodes that are launched at all: some are computed while compiling.
    width = {graph: len(np.unique(key_nodes[key_nodes >= 0])) for graph, key_nodes in local.items()}
    missing = {
        graph: sum(node.primitive not in NOTHING for node in graphs[graph].nodes) - launched
        for graph, launched in width.items()
    }
    known: dict[int, list[int]] = {
        int(key): [graph for graph, key_nodes in local.items() if key_nodes[key] >= 0]
        for key in np.unique(keys).tolist()
    }
    runs_by_graph: dict[int, list[I64]] = {}
    at = 0
    while at < len(keys):
        tried = []
        for graph in known[int(keys[at])]:
            nodes = _prefix(local[graph][keys[at : at + width[graph]]])
            tried.append((len(nodes) == width[graph], len(nodes), -missing[graph], graph, nodes))
        _, length, _, graph, nodes = max(tried, key=lambda candidate: candidate[:4])
        run = np.full(len(graphs[graph].nodes), -1, np.int64)
        run[nodes] = rows[at : at + length]
        runs_by_graph.setdefault(graph, []).append(run)
        at += length
    return {graph: np.stack(runs) for graph, runs in sorted(runs_by_graph.items())}


def _prefix(nodes: I64) -> I64:
    """Return the nodes up to the first one that is not of the graph (-1) or was there already."""
    order = np.argsort(nodes, kind="stable")
    again = order[1:][nodes[order][1:] == nodes[order][:-1]]
    stop = min(int(again.min(initial=len(nodes))), int(np.flatnonzero(nodes < 0).min(initial=len(nodes))))
    return nodes[:stop]
