"""
Loaded graphs: which launches are executions of one node, and when the host launched the nodes.

The graph engine launches every node of a static graph once, while it loads the graph. An execution is one launch of the
whole, in which the device runs the same tasks again. Loads are reported with the times that they had, also those from
before a recording (hicann/ge, runtime/v1/graph/load/model_manager/davinci_model.cc).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from attrs import evolve, frozen

from drynpu.arrays import I64, Bools
from drynpu.device import HostCosts
from drynpu.device.samplers.iterations import within
from drynpu.kernels import occurrences
from drynpu.simulate._inputs import Collective, GraphRun
from drynpu.simulate._lower import LoweredLaunches

_LONGEST_NS = 1_000_000_000
"""Most that all loads of a recording last together, so that none began before the host's clock did."""
_MARGIN_NS = 1_000
"""
Before the first launch of a load, and after the last: the vendor's timeline keeps what a load from before the recording
encloses, and compares in doubles, which tell no two moments of Unix time apart that are nearer than 0.25 us.
"""
_BEFORE_NS = 1_000
"""How long before a recording a load ended whose time is not known."""


@frozen(eq=False, kw_only=True)
class GraphNodes:
    """
    Nodes of loaded graphs in the order of their first executions, ``[k]``.

    ``node`` (``[n]``) is the node of each executed task, -1 for tasks that the host launched by itself.
    ``first`` is the row of the first execution of each node, ``graph`` the number of its graph.
    """

    node: I64
    first: I64
    graph: I64

    @property
    def is_recorded(self) -> Bools:
        """Which rows the host's records describe (``[n]``): first executions, and what is of no graph."""
        recorded = self.node < 0
        recorded[self.first] = True
        return recorded


@frozen(eq=False, kw_only=True)
class LoadedNodes:
    """The nodes that kernels are executions of, and those that communication operators are."""

    kernels: GraphNodes
    collectives: GraphNodes


@frozen(eq=False, kw_only=True)
class GraphLoads:
    """
    When the host loaded each graph of a recording (``[g]``), and launched its nodes; Unix ns.

    ``node_start_ns`` (``[k]``) and ``collective_start_ns`` say when the launch of each node began, ``node_ns`` and
    ``collective_ns`` how long it lasted.
    """

    nodes: LoadedNodes
    begin_ns: I64
    end_ns: I64
    node_start_ns: I64
    node_ns: I64
    collective_start_ns: I64
    collective_ns: I64


def find_iterations(graphs: Sequence[GraphRun], time_ns: I64) -> tuple[I64, I64]:
    """Return the iteration under way at each time, -1 for none, and the graph of each iteration; in order of start."""
    rows = sorted((run.start_ns, run.end_ns, number) for number, graph in enumerate(graphs) for run in graph.iterations)
    start, end, graph = np.array(rows, np.int64).reshape(-1, 3).T
    return within(time_ns, start, end), graph


def find_nodes(
    lowered: LoweredLaunches, stream: I64, collectives: Sequence[Collective], collective_stream: I64
) -> LoadedNodes:
    """
    Return the nodes of graphs that kernels and collectives are executions of, which run on these streams.

    An execution runs a node again where it launches a kernel of the same name, with the same tensors, on the same
    stream; one that comes several times in an execution is as many nodes. Copies are launched by themselves.
    """
    return LoadedNodes(
        kernels=_kernel_nodes(lowered, stream),
        collectives=_collective_nodes(collectives, collective_stream, lowered.recording.graphs),
    )


def _kernel_nodes(lowered: LoweredLaunches, stream: I64) -> GraphNodes:
    launches = len(lowered.launch_kernel)
    if not lowered.recording.graphs or not launches:
        return _no_nodes(launches)
    is_node = np.array([plan.in_graph for plan in lowered.plans])[lowered.dispatch_plan][lowered.launch_dispatch]
    is_node &= np.array([kernel.copy is None for kernel in lowered.kernels])[lowered.launch_kernel]
    issued = lowered.recording.operators.start_ns[lowered.dispatch_op][lowered.launch_dispatch]
    iteration, graph = find_iterations(lowered.recording.graphs, issued)
    # What L2 holds when a kernel runs is no property of the node.
    kernels = [evolve(kernel, read_miss=None) for kernel in lowered.kernels]
    kind = _numbers(kernels)[lowered.launch_kernel] * (int(stream.max()) + 1) + stream
    return _number_nodes(np.where(is_node, iteration, -1), graph, kind)


def _collective_nodes(collectives: Sequence[Collective], stream: I64, graphs: Sequence[GraphRun]) -> GraphNodes:
    if not graphs or not any(each.in_graph for each in collectives):
        return _no_nodes(len(collectives))
    issued = np.array([each.start_ns for each in collectives], np.int64)
    iteration, graph = find_iterations(graphs, issued)
    kinds = [
        (each.kind, each.group, each.ranks, each.size_bytes, each.dtype, each.count, each.peer, each.algorithm)
        for each in collectives
    ]
    kind = _numbers(kinds) * (int(stream.max()) + 1) + stream
    is_node = np.array([each.in_graph for each in collectives])
    return _number_nodes(np.where(is_node, iteration, -1), graph, kind)


def _no_nodes(count: int) -> GraphNodes:
    nothing = np.zeros(0, np.int64)
    return GraphNodes(node=np.full(count, -1, np.int64), first=nothing, graph=nothing)


def _numbers(values: Sequence[object]) -> I64:
    """Return a number for each value, the same for equal ones."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)


def _number_nodes(iteration: I64, graph: I64, kind: I64) -> GraphNodes:
    inside = np.flatnonzero(iteration >= 0)
    if not len(inside):
        return _no_nodes(len(iteration))
    kind = np.unique(kind[inside], return_inverse=True)[1].reshape(-1)
    kinds = int(kind.max()) + 1
    turn = occurrences(iteration[inside] * kinds + kind)
    code = (graph[iteration[inside]] * kinds + kind) * (int(turn.max()) + 1) + turn
    _, first, place = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    node = np.full(len(iteration), -1, np.int64)
    node[inside] = rank[place.reshape(-1)]
    first = inside[first[order]]
    return GraphNodes(node=node, first=first, graph=graph[iteration[first]])


def place_loads(
    nodes: LoadedNodes,
    graphs: Sequence[GraphRun],
    *,
    launched_ns: I64,
    collective_ns: I64,
    begin_ns: int,
    time_map: Callable[[I64], I64],
) -> GraphLoads:
    """
    Return when each graph was loaded: one after another, before its first execution.

    Parameters
    ----------
    launched_ns:
        When the host launched each kernel.
    collective_ns:
        How long it takes to launch each communication operator.
    begin_ns, time_map:
        The begin of the recording, and its map of measured times.
    """
    kernels, collectives = nodes.kernels, nodes.collectives
    executed_ns = np.full(len(graphs), np.iinfo(np.int64).max)
    np.minimum.at(executed_ns, kernels.graph, launched_ns[kernels.first])
    node_ns, shared_ns = _shortened(
        np.full(len(kernels.first), HostCosts().node_ns, np.int64), collective_ns[collectives.first]
    )
    graph, length = np.concatenate([kernels.graph, collectives.graph]), np.concatenate([node_ns, shared_ns])
    starts = np.zeros(len(length), np.int64)
    begins, ends = np.zeros((2, len(graphs)), np.int64)
    free_ns = np.iinfo(np.int64).max
    # From the last one back: what has no room between the load before and its first execution began earlier.
    for number in sorted(range(len(graphs)), key=lambda each: graphs[each].load or (0, each), reverse=True):
        load = graphs[number].load
        measured = None if load is None else time_map(np.array(load, np.int64))
        until_ns = begin_ns - _BEFORE_NS if measured is None else min(int(measured[1]), int(executed_ns[number]) - 1)
        end_ns = min(until_ns, free_ns)
        rows = np.flatnonzero(graph == number)
        if measured is not None and graphs[number].is_captured:
            # The thread that launches others launches these while they are captured.
            length[rows] = _fitted(length[rows], end_ns - int(measured[0]) - 2 * _MARGIN_NS)
        least_ns = end_ns - 2 * _MARGIN_NS - int(length[rows].sum())
        starts[rows] = least_ns + _MARGIN_NS + np.cumsum(length[rows]) - length[rows]
        begins[number] = least_ns if measured is None else min(least_ns, int(measured[0]))
        ends[number], free_ns = end_ns, int(begins[number]) - 1
    count = len(node_ns)
    return GraphLoads(
        nodes=nodes,
        begin_ns=begins,
        end_ns=ends,
        node_start_ns=starts[:count],
        node_ns=length[:count],
        collective_start_ns=starts[count:],
        collective_ns=length[count:],
    )


def _fitted(length_ns: I64, room_ns: int) -> I64:
    """Return lengths that are together no more than *room_ns*, unless that leaves nothing of them."""
    total = int(length_ns.sum())
    return length_ns if total <= room_ns or room_ns < len(length_ns) * _MARGIN_NS else length_ns * room_ns // total


def _shortened(*parts: I64) -> tuple[I64, ...]:
    """Return lengths that are together no more than all loads may last."""
    total = sum(int(part.sum()) for part in parts)
    return parts if total <= _LONGEST_NS else tuple(part * _LONGEST_NS // total for part in parts)
