"""When graphs were loaded, and which launches are executions of one node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from attrs import evolve

from drynpu.device import HostCosts
from drynpu.simulate import GraphRun, Iteration
from drynpu.simulate.loads import GraphNodes, LoadedNodes, find_nodes, place_loads

from .test_graph_nodes import NODE, work

NOTHING = np.zeros(0, np.int64)
BEGIN_NS = 5_000_000
NODE_NS, COLLECTIVE_NS = HostCosts().node_ns, 30_000


def nodes(graph: list[int], first: list[int]) -> GraphNodes:
    return GraphNodes(node=NOTHING, first=np.array(first, np.int64), graph=np.array(graph, np.int64))


def place(*loads: tuple[int, int] | None) -> Any:
    """Two nodes of the first graph, one and a collective of the second; executions begin at 9 and 9.1 ms."""
    graphs = [GraphRun(model_id=number, model_name="g", load=load) for number, load in enumerate(loads)]
    return place_loads(
        LoadedNodes(kernels=nodes([0, 0, 1], [0, 1, 2]), collectives=nodes([1], [0])),
        graphs,
        launched_ns=np.array([9_000_000, 9_000_500, 9_100_000]),
        collective_ns=np.array([COLLECTIVE_NS]),
        begin_ns=BEGIN_NS,
        time_map=lambda times: times + 1_000_000,
    )


def lengths(found: Any) -> list[int]:
    return (found.end_ns - found.begin_ns).tolist()


def test_loads_of_unknown_time_come_before_the_recording_one_by_one() -> None:
    found = place(None, None)
    assert found.begin_ns[0] < found.end_ns[0] < found.begin_ns[1] < found.end_ns[1] < BEGIN_NS
    assert lengths(found) == [2 * NODE_NS + 2000, NODE_NS + COLLECTIVE_NS + 2000]
    assert np.diff(found.node_start_ns[:2]).tolist() == [NODE_NS]
    assert found.node_start_ns[0] > found.begin_ns[0]
    assert found.node_start_ns[1] + NODE_NS < found.end_ns[0]
    assert found.collective_start_ns[0] >= found.node_start_ns[2] + NODE_NS


def test_a_measured_load_is_where_the_map_puts_it() -> None:
    found = place((5_000_000, 6_000_000), (6_500_000, 7_000_000))
    assert found.begin_ns.tolist() == [6_000_000, 7_500_000]
    assert found.end_ns.tolist() == [7_000_000, 8_000_000]
    assert found.node_start_ns[1] + NODE_NS < found.end_ns[0]


def test_a_load_ends_before_the_first_execution_and_begins_earlier_where_it_has_no_room() -> None:
    found = place((7_990_000, 8_020_000), (7_990_000, 8_095_000))
    assert found.end_ns[1] < 9_100_000
    assert found.end_ns[0] < min(found.begin_ns[1], 9_000_000)
    assert lengths(found)[0] >= 2 * NODE_NS + 2000


def test_nodes_of_a_captured_graph_are_launched_while_it_is_captured() -> None:
    streams = ((3, 2),)
    graph = GraphRun(model_id=1, model_name="g", load=(6_000_000, 6_012_000), streams=streams)
    found = place_loads(
        LoadedNodes(kernels=nodes([0, 0], [0, 1]), collectives=nodes([], [])),
        [graph],
        launched_ns=np.array([9_000_000, 9_000_500]),
        collective_ns=NOTHING,
        begin_ns=BEGIN_NS,
        time_map=lambda times: times + 1_000_000,
    )
    # 12 us less the margins are 10 us for two launches of 6.8 us each.
    assert (found.begin_ns.tolist(), found.end_ns.tolist()) == ([7_000_000], [7_012_000])
    assert found.node_start_ns.tolist() == [7_001_000, 7_006_000]
    assert found.node_ns.tolist() == [5_000, 5_000]


def test_all_loads_last_a_second_at_most() -> None:
    count = 200_000
    found = place_loads(
        LoadedNodes(kernels=nodes([0] * count, list(range(count))), collectives=nodes([], [])),
        [GraphRun(model_id=1, model_name="g")],
        launched_ns=np.full(count, 9_000_000),
        collective_ns=NOTHING,
        begin_ns=2_000_000_000,
        time_map=lambda times: times,
    )
    assert lengths(found) == [count * 5000 + 2000]


@pytest.mark.parametrize("marked", [True, False])
def test_the_second_execution_runs_the_nodes_of_the_first_again(*, marked: bool) -> None:
    """Dispatches at 10, 20, 70 and 80 of the graph, with the same kernel twice at 10."""
    planned = work(iterations=((5, 25), (65, 90))).ordered.lowered
    planned.dispatch_op = np.array([0, 1, 2, 3])
    planned.recording.operators.start_ns = np.array([10, 20, 70, 80])
    planned.dispatch_plan = np.array([NODE] * 4)
    planned.launch_dispatch = np.array([0, 0, 1, 2, 2, 3])
    planned.launch_kernel = np.zeros(6, np.int64)
    planned.kernels = (planned.plans[NODE].kernels[0],)
    if not marked:
        planned.plans = [evolve(plan, in_graph=False) for plan in planned.plans]
    iterations = tuple(Iteration(index=i, start_ns=a, end_ns=b) for i, (a, b) in enumerate(((5, 25), (65, 90)), 1))
    planned.recording.graphs = (GraphRun(model_id=1, model_name="g", iterations=iterations),)
    found = find_nodes(planned, np.full(6, 2), (), NOTHING).kernels
    assert found.node.tolist() == ([0, 1, 2, 0, 1, 2] if marked else [-1] * 6)
    assert found.first.tolist() == ([0, 1, 2] if marked else [])
    assert found.is_recorded.tolist() == ([True] * 3 + [False] * 3 if marked else [True] * 6)
