"""The iterations of graphs: each call of a compiled graph is one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from attrs import evolve, frozen

from drynpu.arrays import I64, Bools
from drynpu.kernels import Operators
from drynpu.simulate import FusionOp, GraphPoints, GraphRun, Iteration, StaticMemory
from drynpu_mindspore.capture import GraphRuns


@frozen(eq=False)
class _Runs:
    """Runs of graphs of kernels in order of time: their graphs, when they began and ended; int64 ``[n]``."""

    graph: I64
    start_ns: I64
    end_ns: I64


def graph_runs(
    runs: GraphRuns,
    calls: I64,
    operators: Operators,
    fusions: Mapping[int, tuple[FusionOp, ...]],
    planned: Mapping[int, tuple[StaticMemory, ...]],
) -> tuple[GraphRun, ...]:
    """
    Return the graphs that ran, numbered as they were compiled, with their iterations.

    Parameters
    ----------
    runs:
        The rows of each graph of kernels among the *operators*.
    calls:
        When the script ran compiled graphs, int64 ``[n, 2]``. What a call ran is one iteration of the graph with which
        it began; a run outside of them, such as a backward graph of PyNative, is an iteration by itself.
    fusions:
        The fusions of the graph engine, by graph.
    planned:
        The memory that it planned, by graph.
    """
    spans = _spans(runs, operators)
    first = _first_of_call(spans, calls)
    model = spans.graph[first]
    marked = _marked(spans, model, operators)
    ran = []
    for graph in np.unique(model).tolist():
        rows = np.flatnonzero(model == graph)
        begins = np.unique(first[rows])
        ends = np.zeros(len(spans.graph), np.int64)
        np.maximum.at(ends, first[rows], spans.end_ns[rows])
        times = zip(spans.start_ns[begins].tolist(), ends[begins].tolist(), strict=True)
        parts = np.unique(spans.graph[rows]).tolist()
        fused = tuple(fusion for part in parts for fusion in fusions.get(part, ()))
        points = None if graph in marked else GraphPoints(marked=False)
        memory = tuple(block for part in parts for block in planned.get(part, ()))
        ran.append(evolve(graph_run(graph + 1, times), fusions=fused, points=points, static_memory=memory))
    return tuple(ran)


def graph_run(number: int, spans: Iterable[tuple[int, int]]) -> GraphRun:
    """Return a graph that ran from and to each of *spans*, Unix ns."""
    return GraphRun(
        model_id=number,
        graph_id=number,
        model_name=f"kernel_graph_{number}",
        iterations=tuple(
            Iteration(index=place, start_ns=start, end_ns=end) for place, (start, end) in enumerate(spans, 1)
        ),
    )


def _spans(runs: GraphRuns, operators: Operators) -> _Runs:
    columns: list[I64] = [np.empty((3, 0), np.int64)]
    for graph, rows in runs.items():
        start = np.where(rows >= 0, operators.start_ns[rows], np.iinfo(np.int64).max).min(axis=1)
        end = np.where(rows >= 0, operators.end_ns[rows], 0).max(axis=1)
        columns.append(np.stack([np.full(len(rows), graph, np.int64), start, end]))
    graph, start, end = np.concatenate(columns, axis=1)
    order = np.argsort(start, kind="stable")
    return _Runs(graph[order], start[order], end[order])


def _first_of_call(spans: _Runs, calls: I64) -> I64:
    """Return for each run the first one of the call in which it lies, or itself."""
    count = len(spans.graph)
    call = np.searchsorted(calls[:, 0], spans.start_ns, side="right") - 1
    inside = np.zeros(count, bool)
    if len(calls):
        inside = (call >= 0) & (spans.end_ns <= calls[np.maximum(call, 0), 1])
    key = np.where(inside, call, len(calls) + np.arange(count))
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    return np.asarray(first[group.reshape(-1)], np.int64)


def _marked(spans: _Runs, model: I64, operators: Operators) -> frozenset[int]:
    """
    Return the graphs that the iteration trace has.

    Where gradients are computed outside of graphs, PyNative trains: a graph without gradients, such as the update of an
    optimizer, is a part of its step and no iteration.
    """
    backward = _computes_gradients(operators)
    begin, end = operators.start_ns[backward], operators.end_ns[backward]
    at = np.searchsorted(spans.start_ns, begin, side="right") - 1
    inside = np.zeros(len(begin), bool)
    if len(spans.graph):
        inside = (at >= 0) & (end <= spans.end_ns[np.maximum(at, 0)])
    training = frozenset(model[at[inside]].tolist())
    return training if not inside.all() else frozenset(model.tolist())


def _computes_gradients(operators: Operators) -> Bools:
    return np.asarray(operators.scope == _BACKWARD_SCOPE, bool)


_BACKWARD_SCOPE = 1
"""torch's RecordScope::BACKWARD_FUNCTION, as in ``Operators.scope``."""
