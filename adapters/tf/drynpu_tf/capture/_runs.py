"""Assign every node of a trace to the run of the function that executed it."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from drynpu.arrays import I64, Bools
from drynpu.device import nest
from drynpu_tf.capture._planes import Kind, Planes


@frozen(eq=False, kw_only=True)
class Runs:
    """
    Runs of functions that a script called, and the nodes they executed.

    ``call`` has for every run the row (of the planes) of the eager call that made it, in time order; ``node`` and
    ``run`` have for every node its row and the position of its run in ``call``, ordered by run and start. ``data`` and
    ``data_run`` have the same for the times that a run took data from an iterator: a thread of its own gets it, so that
    the node's own row says only when the run began to wait.
    """

    call: I64
    node: I64
    run: I64
    data: I64
    data_run: I64


def function_runs(planes: Planes) -> Runs:
    """
    Return the runs in a trace, which TensorFlow's executors number.

    Functions that a function calls belong to its run, whatever thread they run on. What input pipelines run
    (``tf.data``) and what TensorFlow computes while it optimises a graph belongs to no call of the script's.
    """
    rows = np.flatnonzero(np.isin(planes.kind, (Kind.NODE, Kind.EXECUTOR, Kind.FUNCTION, Kind.EAGER)))
    _, parent = nest(planes.start_ns[rows], planes.end_ns[rows], planes.thread[rows])
    kind, number = planes.kind[rows], planes.number[rows]
    inside = _nearest(parent, kind == Kind.EXECUTOR)
    caller = _nearest(parent, kind == Kind.EAGER)
    functions = np.flatnonzero((kind == Kind.EAGER) & (number == 1))
    called: dict[int, int] = {}
    outer: dict[int, int] = {}
    for row in np.flatnonzero(kind == Kind.FUNCTION).tolist():
        if inside[row] >= 0:
            outer[int(number[row])] = int(number[inside[row]])
        elif caller[row] >= 0:
            called[int(number[row])] = int(caller[row])
    nodes = np.flatnonzero((kind == Kind.NODE) & (inside >= 0))
    distinct, index = np.unique(number[inside[nodes]], return_inverse=True)
    of_run = np.array([_root(run, called, outer) for run in distinct.tolist()] or [-1], np.int64)
    call_of_node = of_run[index] if len(nodes) else np.empty(0, np.int64)
    lost = np.flatnonzero((kind == Kind.NODE) & (inside < 0) & (caller < 0))
    nodes = np.concatenate([nodes, lost])
    call_of_node = np.concatenate([call_of_node, _around(planes.start_ns[rows], planes.end_ns[rows], functions, lost)])
    kept = call_of_node >= 0
    calls, run = np.unique(call_of_node[kept], return_inverse=True)
    order = np.lexsort((nodes[kept], run))
    data, data_run = _data(planes, {number: place for place, number in enumerate(calls.tolist())}, called, outer)
    return Runs(
        call=rows[calls], node=rows[nodes[kept][order]], run=run[order].astype(np.int64), data=data, data_run=data_run
    )


def _data(planes: Planes, place: dict[int, int], called: dict[int, int], outer: dict[int, int]) -> tuple[I64, I64]:
    """Return the rows of DATA by run and start, and the run of each; *place* maps calls to runs."""
    data = planes.rows(Kind.DATA)
    runs = [place.get(_root(run, called, outer), -1) for run in planes.number[data].tolist()]
    run = np.array(runs, np.int64)
    order = np.lexsort((data, run))
    order = order[run[order] >= 0]
    return data[order], run[order]


def _nearest(parent: I64, flag: Bools) -> I64:
    """Return for every row its nearest ancestor that carries *flag*, -1 if none does."""
    ancestor = parent.copy()
    # All rows climb at once, one level a round: as many rounds as calls are nested.
    while True:
        climb = (ancestor >= 0) & ~flag[ancestor]
        if not climb.any():
            return ancestor
        ancestor[climb] = parent[ancestor[climb]]


def _around(start: I64, end: I64, calls: I64, nodes: I64) -> I64:
    """
    Return for nodes the last call that began before them and had not ended, -1 without one.

    An executor that was still returning when the trace was stopped has left no event, only the events of its
    nodes.
    """
    if not len(calls):
        return np.full(len(nodes), -1, np.int64)
    before = calls[np.maximum(np.searchsorted(start[calls], start[nodes], side="right") - 1, 0)]
    within = (start[before] <= start[nodes]) & (end[nodes] <= end[before])
    return np.where(within, before, -1)


def _root(run: int, called: dict[int, int], outer: dict[int, int]) -> int:
    """Return the call of the outermost run around *run*, -1 if the script made none."""
    seen: set[int] = set()
    while run not in called:
        if run in seen or run not in outer:
            return -1
        seen.add(run)
        run = outer[run]
    return called[run]
