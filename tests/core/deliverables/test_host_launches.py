"""What the host launched, by hand: nodes of loaded graphs once and first, everything else one by one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from drynpu.deliverables._host_launches import HostLaunches, host_launches, loaded_times, number_tasks
from drynpu.device import HostCosts
from drynpu.platforms import load_chip
from drynpu.raw import LAST_TASK_ID

NODE = [-1, 0, 1, -1, 0, 1, 0, -1]
"""Two nodes run twice and three times; three launches are of no graph."""
FIRST, ALONE = [1, 2], [0, 3, 7]
STREAM = [2, 2, 3, 2, 2, 3, 2, 3]
LOADED_NS = [10_000, 20_000]


def simulation(
    chip: str = "Ascend910B2",
    *,
    node: list[int] | None = None,
    stream: list[int] | None = None,
    groups: tuple[int, int] | None = None,
) -> Any:
    """*groups*: the highest stream of a collective, and how many planes it has."""
    nodes = np.array(NODE if node is None else node, np.int64)
    first = np.unique(nodes[nodes >= 0], return_index=True)[1]
    first = np.flatnonzero(nodes >= 0)[first]
    schedule = {
        name: 1_000_000 + 100 * np.arange(len(nodes)) + offset
        for offset, name in enumerate(("node_start_ns", "runtime_start_ns", "runtime_end_ns", "node_end_ns"))
    }
    at, planes = (0, 0) if groups is None else groups
    calls = SimpleNamespace(
        plans=() if groups is None else (SimpleNamespace(planes=1), SimpleNamespace(planes=planes)),
        stream=np.array([] if groups is None else [at], np.int64),
    )
    return SimpleNamespace(
        loads=SimpleNamespace(
            nodes=SimpleNamespace(kernels=SimpleNamespace(node=nodes, first=first)),
            node_start_ns=np.array(LOADED_NS[: len(first)]),
            node_ns=np.full(len(first), HostCosts().node_ns),
        ),
        costs=SimpleNamespace(chip=load_chip(chip)),
        stream=np.array(STREAM if stream is None else stream, np.int64),
        schedule=SimpleNamespace(**schedule),
        collectives=SimpleNamespace(calls=calls),
    )


def test_nodes_come_first_and_every_task_knows_its_launch() -> None:
    found = number_tasks(simulation())
    assert found.launch.tolist() == [*FIRST, *ALONE]
    assert found.nodes == 2
    assert found.row.tolist() == [2, 0, 1, 3, 0, 1, 0, 4]
    # Ids count on each stream: the node of stream 2 before the two launches there, the node of stream 3 before one.
    assert found.stream.tolist() == [2, 3, 2, 2, 3]
    assert found.task_id.tolist() == [0, 0, 1, 2, 1]
    stream, task, batch = found.executed
    assert stream.tolist() == STREAM
    assert task.tolist() == [1, 0, 0, 2, 0, 0, 0, 1]
    assert not batch.any()


def test_without_graphs_every_launch_is_its_own() -> None:
    found = number_tasks(simulation(node=[-1] * len(NODE)))
    assert (found.launch.tolist(), found.row.tolist(), found.nodes) == ([*range(8)], [*range(8)], 0)
    assert found.stream.tolist() == STREAM


@pytest.mark.parametrize(("groups", "expected"), [(None, 4), ((8, 3), 12)])
def test_nodes_leave_streams_on_which_ids_come_round_again(groups: tuple[int, int] | None, expected: int) -> None:
    """A new stream lies above all that are in use, also above the planes of the widest collective."""
    count = LAST_TASK_ID + 1
    found = number_tasks(simulation(node=[0, 1, *[-1] * count], stream=[2, 3, *[2] * count], groups=groups))
    # One task alone is on stream 3, where ids are different.
    assert found.stream[:2].tolist() == [expected, 3]
    assert set(found.stream[2:].tolist()) == {2}


def test_more_nodes_than_ids_take_several_streams_of_their_graph() -> None:
    count = LAST_TASK_ID + 2
    found = number_tasks(simulation(node=list(range(count)), stream=[2] * count))
    streams, tasks = np.unique(found.stream, return_counts=True)
    assert (streams.tolist(), tasks.tolist()) == ([3, 4], [LAST_TASK_ID, 2])


def test_wide_ids_never_come_round() -> None:
    count = LAST_TASK_ID + 2
    found = number_tasks(simulation("Ascend950PR", node=list(range(count)), stream=[2] * count))
    assert set(found.stream.tolist()) == {2}


def launched(work: Any) -> HostLaunches:
    return host_launches(work, number_tasks(work), np.arange(8) + 500, 99)


def test_nodes_are_launched_by_the_thread_that_loads_when_it_does() -> None:
    found = launched(simulation())
    assert found.is_node.tolist() == [True, True, False, False, False]
    assert found.thread.tolist() == [99, 99, *(500 + row for row in ALONE)]
    assert found.node_start_ns.tolist() == [*LOADED_NS, *(1_000_000 + 100 * row for row in ALONE)]
    assert found.node_end_ns[2:].tolist() == [1_000_003 + 100 * row for row in ALONE]
    assert found.runtime_start_ns[2:].tolist() == [1_000_001 + 100 * row for row in ALONE]
    assert found.runtime_end_ns[2:].tolist() == [1_000_002 + 100 * row for row in ALONE]


def test_calls_of_a_load_nest_and_keep_their_shares_when_they_are_shortened() -> None:
    # 3.2 of 6.8 us are the runtime's, in the middle: 1.8 us before it and 1.8 us behind it; then half of all that.
    found = loaded_times(np.array([50_000, 60_000]), np.array([6_800, 3_400]))
    assert found["node_start_ns"].tolist() == [50_000, 60_000]
    assert found["node_end_ns"].tolist() == [56_799, 63_399]
    assert found["runtime_start_ns"].tolist() == [51_800, 60_900]
    assert found["runtime_end_ns"].tolist() == [55_000, 62_500]
