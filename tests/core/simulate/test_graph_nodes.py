"""Which launches the device takes from a loaded graph by itself, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from drynpu.kernels import Copy, KernelPlan, KernelSpec, TaskType
from drynpu.simulate._graph_nodes import ANNOTATION, continues_graph, launched_by_device

NODE, COPY = 0, 1
START_NS = [10, 20, 30, 40, 60, 70, 80, 100, 110]
"""When dispatches begin. The third is of no graph, the fifth copies; a range of the script lasts from 35 to 100."""


def work(*, iterations: tuple[tuple[int, int], ...] = (), launching: bool = True, captured: bool = False) -> Any:
    plans = [
        KernelPlan(kernels=(KernelSpec(name="k", op_type="k", task_type=TaskType.AI_CORE, copy=copy),), in_graph=True)
        for copy in (None, Copy.HOST_TO_DEVICE)
    ]
    runs = [SimpleNamespace(start_ns=start, end_ns=end) for start, end in iterations]
    recording = SimpleNamespace(
        operators=SimpleNamespace(
            scope=np.array([ANNOTATION, 0]), start_ns=np.array([35, 75]), end_ns=np.array([100, 77])
        ),
        graphs=[SimpleNamespace(iterations=runs, is_captured=captured)],
    )
    lowered = SimpleNamespace(
        plans=plans,
        recording=recording,
        dispatch_plan=np.array([NODE, NODE, NODE, NODE, COPY, NODE, NODE, NODE, NODE]),
        launch_dispatch=np.array([0, 0, 1, 2, 2, *([5] if launching else []), 6, 7]),
    )
    in_graph = np.array([True, True, False, *[True] * 6])
    launches = np.bincount(lowered.launch_dispatch, minlength=9)
    dispatches = SimpleNamespace(in_graph=in_graph, start_ns=np.array(START_NS), launches=launches)
    return SimpleNamespace(ordered=SimpleNamespace(lowered=lowered, operator_rows=np.arange(9)), dispatches=dispatches)


def test_a_node_is_taken_behind_another_of_the_same_execution() -> None:
    assert np.flatnonzero(continues_graph(work())).tolist() == [1, 6, 8]


def test_an_iteration_of_a_graph_ends_its_execution() -> None:
    assert np.flatnonzero(continues_graph(work(iterations=((15, 75), (75, 105))))).tolist() == []
    assert np.flatnonzero(continues_graph(work(iterations=((5, 20),)))).tolist() == [6, 8]


def test_launches_behind_the_first_of_a_node_are_the_device_s_too() -> None:
    assert launched_by_device(work()).tolist() == [False, True, True, False, False, False, True, False]


def test_the_host_launches_the_first_node_behind_waits_of_streams() -> None:
    assert launched_by_device(work(launching=False)).tolist() == [False, True, True, False, False, False, False]


def test_a_captured_graph_is_launched_with_its_copies_and_whatever_its_ranges() -> None:
    runs = ((9, 30), (40, 80), (81, 120))
    assert np.flatnonzero(continues_graph(work(iterations=runs, captured=True))).tolist() == [1, 4, 5, 6, 8]
    owners = [0, 0, 1, 2, 2, 5, 6, 7]  # of the launches; the third dispatch is of no graph
    seen = launched_by_device(work(iterations=runs, captured=True)).tolist()
    assert dict(zip(owners, seen, strict=True)) == {0: True, 1: True, 2: False, 5: False, 6: True, 7: False}
