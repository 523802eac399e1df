"""GELUs of small operators: one kernel where nobody takes what is in between."""

from __future__ import annotations

from typing import Any

import pytest

from drynpu.kernels import RuleBook, TaskType
from drynpu_tf.rules import compile_graph

SHAPE = (6, 50)
NODES = ("cube", "bent", "sum", "scaled", "tanh", "plus", "half", "gelu")


def gelu(graph: Any, *, swapped: bool = False, half_first: bool = False, power: str = "Pow") -> None:
    """Add a GELU as BERT writes it; *half_first*: the half scales x and not the bracket."""
    graph.add("x", "Placeholder", [], SHAPE)
    for name in ("three", "0.04", "0.8", "one", "0.5"):
        graph.add(name, "Const", [], ())

    def pair(first: str, second: str) -> list[str]:
        return [second, first] if swapped else [first, second]

    graph.add("cube", power, ["x", "three"], SHAPE)
    graph.add("bent", "Mul", pair("0.04", "cube"), SHAPE)
    graph.add("sum", "AddV2", pair("x", "bent"), SHAPE)
    graph.add("scaled", "Mul", pair("0.8", "sum"), SHAPE)
    graph.add("tanh", "Tanh", ["scaled"], SHAPE)
    graph.add("plus", "AddV2", pair("one", "tanh"), SHAPE)
    graph.add("half", "Mul", pair("0.5", "x" if half_first else "plus"), SHAPE)
    graph.add("gelu", "Mul", pair("half", "plus") if half_first else pair("x", "half"), SHAPE)


def types(graph: Any, book: RuleBook) -> list[str]:
    compiled = compile_graph(graph.nodes)
    return [k.op_type for node in graph.nodes for k in book.plan(compiled.signatures[node.name]).kernels]


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("half_first", [False, True])
@pytest.mark.parametrize("split", [False, True])
def test_a_gelu_is_one_kernel(graph: Any, book: RuleBook, *, swapped: bool, half_first: bool, split: bool) -> None:
    gelu(graph, swapped=swapped, half_first=half_first)
    graph.add("fetch", "_Retval", ["gelu"])
    compiled = compile_graph(graph.nodes, split=split)
    (kernel,) = [k for node in graph.nodes for k in book.plan(compiled.signatures[node.name]).kernels]
    assert (kernel.name, kernel.op_type, kernel.task_type) == ("cube/Gelu", "Gelu", TaskType.AI_VECTOR_CORE)
    assert [t.shape for t in (*kernel.inputs, *kernel.outputs)] == [SHAPE, SHAPE]
    assert (kernel.bytes_read, kernel.bytes_written) == (4 * 300, 4 * 300)
    (record,) = compiled.fusions
    assert set(record.original_ops) == set(NODES)


@pytest.mark.parametrize("node", [*NODES])
def test_what_somebody_else_takes_is_not_fused(graph: Any, book: RuleBook, node: str) -> None:
    gelu(graph)
    graph.add("fetch", "_Retval", ["gelu"])
    graph.add("gradient", "Mul", [node, "x"], SHAPE)
    assert "Gelu" not in types(graph, book)


def test_a_square_is_no_cube_of_the_engine(graph: Any, book: RuleBook) -> None:
    gelu(graph, power="Mul")
    graph.add("fetch", "_Retval", ["gelu"])
    assert "Gelu" not in types(graph, book)
