"""Which launches the device takes from a loaded graph by itself, without the host."""

from __future__ import annotations

import numpy as np

from drynpu.arrays import I64, Bools
from drynpu.simulate._meet import PlannedWork

ANNOTATION = 7
"""Scope of a range that the script named (torch's RecordScope): it encloses calls and is none."""


def continues_graph(work: PlannedWork) -> Bools:
    """
    Return which dispatches launch a further node of the graph whose execution the one before began, shape ``[n]``.

    An execution ends with the iteration of its graph, or where a range of the script begins or ends, such as a step.
    A copy is launched by itself. A captured graph is launched as it was captured, with its copies, whatever ranges the
    captured code has.
    """
    lowered, dispatches, rows = work.ordered.lowered, work.dispatches, work.ordered.operator_rows
    copies = np.array([any(kernel.copy is not None for kernel in plan.kernels) for plan in lowered.plans] or [False])
    replay = _replays(work)
    nodes = dispatches.in_graph.copy()
    nodes[rows] &= ~copies[lowered.dispatch_plan] | (replay[rows] > 0)
    execution = np.where(replay > 0, -replay, np.searchsorted(_bounds(work), dispatches.start_ns, side="right"))
    again = np.zeros_like(nodes)
    again[1:] = nodes[1:] & nodes[:-1] & (execution[1:] == execution[:-1])
    return again


def launched_by_device(work: PlannedWork) -> Bools:
    """
    Return which launches of operators the device takes from a graph, shape ``[m]``: all but the first of an execution.

    An execution may begin with waits of its streams, which launch nothing.
    """
    ordered, dispatches = work.ordered, work.dispatches
    owner = ordered.operator_rows[ordered.lowered.launch_dispatch]
    later = np.zeros(len(owner), bool)
    later[1:] = owner[1:] == owner[:-1]
    launching = np.flatnonzero(dispatches.launches > 0)
    _, first = np.unique(np.cumsum(~continues_graph(work))[launching], return_index=True)
    return np.asarray(dispatches.in_graph[owner] & (later | ~np.isin(owner, launching[first])), bool)


def _replays(work: PlannedWork) -> I64:
    """Return the number of the replay of a captured graph that each dispatch is a part of, from 1, 0 for none."""
    graphs, dispatches = work.ordered.lowered.recording.graphs, work.dispatches
    runs = sorted((run.start_ns, run.end_ns) for graph in graphs if graph.is_captured for run in graph.iterations)
    start, end = np.array([(0, 0), *runs], np.int64).T
    number = np.searchsorted(start, dispatches.start_ns, side="right") - 1
    return np.where(dispatches.start_ns <= end[number], number, 0)


def _bounds(work: PlannedWork) -> I64:
    """Return the moments at which executions of graphs may begin or end, in order."""
    recording = work.ordered.lowered.recording
    ranges = recording.operators.scope == ANNOTATION
    iterations = [(run.start_ns, run.end_ns) for graph in recording.graphs for run in graph.iterations]
    edges = (recording.operators.start_ns[ranges], recording.operators.end_ns[ranges])
    return np.sort(np.concatenate((*edges, np.array(iterations, np.int64).reshape(-1))))
