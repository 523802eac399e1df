"""Parts of a capture on one timeline, without TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest
from tests.by_hand import call_table

from drynpu.device import DispatchKind
from drynpu.kernels import KernelPlan, KernelSpec, Operators, Signature, TaskType
from drynpu.simulate import FusionOp
from drynpu_tf.capture import DatasetRead
from drynpu_tf.recording._timeline import GraphExecution, Part, join, node_plans

_KERNEL = KernelSpec(name="k", op_type="K", task_type=TaskType.AI_VECTOR_CORE)


def plan(signature: Signature) -> KernelPlan:
    """Two launches for a ``Pair``, none for an ``Identity``, one for all others."""
    count = {"Pair": 2, "Identity": 0}.get(signature.name, 1)
    return KernelPlan(kernels=(_KERNEL,) * count)


def table(signatures: tuple[Signature, ...], *rows: tuple[int, int, int]) -> Operators:
    """Return a table of rows ``(signature, start, end)``."""
    columns = np.array(rows, np.int64).reshape(-1, 3)
    return call_table(
        tuple(signature.name for signature in signatures),
        columns[:, 0],
        columns[:, 1],
        columns[:, 2],
        signatures,
        thread=7,
    )


NODES = (Signature("A", ()), Signature("Identity", ()), Signature("B", ()))


def step(start_ns: int, end_ns: int, graph: str = "g", **more: object) -> GraphExecution:
    return GraphExecution(graph=graph, start_ns=start_ns, end_ns=end_ns, thread=1, **more)  # type: ignore[arg-type]


def test_only_what_launches_is_left_and_lasts_until_the_next() -> None:
    timeline = join([Part(table(NODES, (0, 10, 12), (1, 13, 14), (2, 20, 22)), step(5, 30))], plan)
    operators = timeline.operators
    assert [operators.names[index] for index in operators.name] == ["A", "B"]
    assert (operators.start_ns.tolist(), operators.end_ns.tolist()) == ([10, 20], [20, 22])
    assert set(operators.thread.tolist()) == {1}
    (mark,) = timeline.marks
    assert (mark.time_ns, mark.kind, mark.thread) == (30, DispatchKind.WAIT_STREAM, 1)


def test_nodes_that_began_together_are_put_one_after_another() -> None:
    operators = join([Part(table(NODES, (0, 10, 18), (2, 10, 12), (0, 10, 11)), step(5, 30))], plan).operators
    assert operators.start_ns.tolist() == [10, 11, 12]
    assert operators.end_ns.tolist() == [11, 12, 13]


def test_steps_at_the_same_time_run_one_after_another() -> None:
    first, second = table(NODES, (0, 10, 12), (2, 40, 41)), table(NODES, (0, 11, 12), (2, 60, 61))
    timeline = join([Part(second, step(8, 70, "h")), Part(first, step(5, 50))], plan)
    of_first, of_second = (graph.iterations for graph in timeline.graphs)
    assert [(each.start_ns, each.end_ns) for each in of_first] == [(5, 50)]
    assert [(each.start_ns, each.end_ns) for each in of_second] == [(50, 70)]
    assert timeline.operators.start_ns.tolist() == [10, 40, 50, 60]


def test_graphs_are_numbered_in_order_and_their_iterations_counted() -> None:
    fusion = FusionOp(name="f", original_ops=("a", "b"))
    parts = [
        Part(table(NODES, (0, at + 1, at + 2)), step(at, at + 5, graph, fusions=(fusion,) if graph == "train" else ()))
        for at, graph in ((10, "init"), (20, "train"), (30, "train"))
    ]
    init, train = join(parts, plan).graphs
    assert (init.model_id, init.model_name, init.fusions) == (1, "init", ())
    assert (train.model_id, [each.index for each in train.iterations]) == (2, [1, 2])
    assert train.fusions == (fusion,)


def test_a_run_that_launches_nothing_is_no_iteration() -> None:
    timeline = join([Part(table(NODES, (1, 10, 12)), step(5, 30))], plan)
    assert (len(timeline.operators), timeline.graphs, timeline.marks) == (0, (), ())


def test_parts_without_a_step_stay_as_they_are() -> None:
    alone = table(NODES, (0, 10, 12), (1, 11, 12))
    timeline = join([Part(alone, None)], plan)
    assert timeline.operators.start_ns.tolist() == [10, 11]
    assert timeline.operators.end_ns.tolist() == [12, 12]
    assert timeline.graphs == ()


def test_parts_share_the_signatures_they_have_in_common() -> None:
    other = (Signature("C", ()),)
    order = ((30, NODES), (10, other), (20, NODES))
    parts = [Part(table(signatures, (0, at, at + 1)), None) for at, signatures in order]
    operators = join(parts, plan).operators
    assert len(operators.signatures) == 4
    assert [operators.signatures[index].name for index in operators.signature] == ["C", "A", "A"]
    assert [operators.names[index] for index in operators.name] == ["C", "A", "A"]


@pytest.mark.parametrize(("node", "in_graph"), [("dense/Foo", True), ("", False)])
def test_kernels_of_nodes_are_launched_by_the_graph_engine(node: str, in_graph: bool) -> None:
    unmapped = KernelPlan(kernels=(_KERNEL,), claims=False, synchronizes=True, mapped=False)
    found = node_plans(lambda signature: unmapped)(Signature("Foo", (), ((), node, ())))
    assert found.in_graph is in_graph
    assert found.synchronizes is not in_graph
    assert found.kernels[0].name == ("dense/Foo_Unmapped" if in_graph else "k")


def test_what_follows_waits_for_the_data() -> None:
    nodes = (Signature("GetNext", ()), Signature("A", ()))
    reads = (DatasetRead(row=0, source="IteratorV2", end_ns=40),)
    timeline = join([Part(table(nodes, (0, 10, 12), (1, 15, 16), (1, 60, 61)), step(5, 70, reads=reads))], plan)
    assert timeline.operators.start_ns.tolist() == [10, 40, 60]
    assert timeline.operators.end_ns.tolist() == [11, 60, 61]
    (event,) = timeline.dataset
    assert (event.time_ns, event.duration_ns, event.source, event.buffered) == (10, 30, "IteratorV2", None)


def test_data_that_nobody_saw_arrive_has_no_length() -> None:
    nodes = (Signature("GetNext", ()), Signature("A", ()))
    reads = (DatasetRead(row=0, source="iterator", end_ns=None),)
    timeline = join([Part(table(nodes, (0, 10, 12), (1, 15, 16)), step(5, 30, reads=reads))], plan)
    assert timeline.operators.start_ns.tolist() == [10, 15]
    assert [(event.time_ns, event.duration_ns) for event in timeline.dataset] == [(10, 0)]


def test_turns_of_a_loop_follow_each_other_and_return_once() -> None:
    nodes = (Signature("GetNext", ()), Signature("A", ()))
    turns = [
        Part(
            table(nodes, (0, at + 10, at + 11), (1, at + 20, at + 22)),
            step(at, at + 50, reads=(DatasetRead(row=0, source="i", end_ns=at + 15),), turn=turn, turns=2),
        )
        for turn, at in ((1, 100), (2, 200))
    ]
    timeline = join(turns, plan)
    (graph,) = timeline.graphs
    # The second turn was 88 ns later on the host: what happened there in between did not beside an NPU.
    assert [(each.start_ns, each.end_ns) for each in graph.iterations] == [(100, 122), (122, 162)]
    assert timeline.operators.start_ns.tolist() == [110, 120, 122, 132]
    assert [(event.time_ns, event.duration_ns) for event in timeline.dataset] == [(110, 5), (122, 5)]
    assert [mark.time_ns for mark in timeline.marks] == [162]
