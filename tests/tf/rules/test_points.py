"""Where the graph engine marks the forward and the backward part of a graph (cann_msprof.md 5.1)."""

from __future__ import annotations

from typing import Any

from drynpu.simulate import GraphPoints
from drynpu_tf.rules import compile_graph


def points(graph: Any) -> GraphPoints:
    """Return the points of a graph."""
    return compile_graph(graph.nodes).points


def training(graph: Any) -> None:
    """A step with a scheduled rate before it, a batch of two tensors, and its update."""
    graph.add("step", "ReadVariableOp", [], ())
    graph.add("rate", "Mul", ["step", "step"], ())
    graph.add("next", "GetNext", [], (4, 8), (4, 3))
    graph.add("flat", "Reshape", ["next"], (4, 8))
    graph.add("size", "Shape", ["next"], ((2,), "int32"))
    graph.add("w", "ReadVariableOp", [], (8, 3))
    graph.add("mm", "MatMul", ["flat", "w"], (4, 3))
    graph.add("mean", "Mean", ["flat"], ())
    graph.add("error", "Sub", ["mm", ("next", 1)], (4, 3))
    graph.add("grad", "MatMul", ["flat", "error"], (8, 3), transpose_a=True)
    graph.add("update", "ResourceApplyGradientDescent", ["w", "rate", "grad"])


def test_forward_begins_with_who_takes_the_first_output_of_the_first_data(graph: Any) -> None:
    training(graph)
    found = points(graph)
    # What takes the labels does not count, nor does who reads the shape or passes the batch on.
    assert found.forward == ("mm", "mean", "grad")
    assert found.marked


def test_backward_ends_with_what_nobody_takes_and_what_is_fetched(graph: Any) -> None:
    training(graph)
    graph.add("fetch", "_Retval", ["error"])
    graph.add("rate_fetch", "_Retval", ["rate"])
    assert points(graph).backward == ("rate", "mean", "error", "update")


def test_backward_ends_before_the_last_all_reduce(graph: Any) -> None:
    training(graph)
    graph.add("early", "HcomAllReduce", ["mean"], ())
    graph.add("reduce", "HcomAllReduce", ["grad"], (8, 3))
    graph.add("again", "ResourceApplyGradientDescent", ["w", "rate", "reduce"])
    assert points(graph).backward == ("grad",)


def test_the_data_that_is_taken_first_counts_and_no_variable_is_data(graph: Any) -> None:
    graph.add("variable", "_Arg", [], ((), "resource"))
    graph.add("goal", "_Arg", [], (3,))
    graph.add("x", "_Arg", [], (3,))
    graph.add("read", "ReadVariableOp", ["variable"], (3,))
    graph.add("scaled", "Mul", ["x", "read"], (3,))
    graph.add("error", "Sub", ["scaled", "goal"], (3,))
    assert points(graph) == GraphPoints(forward=("scaled",), backward=("error",))


def test_graphs_that_take_no_data_are_not_marked(graph: Any) -> None:
    graph.add("shape", "Const", [], ((2,), "int32"))
    graph.add("random", "RandomUniform", ["shape"], (2, 3))
    graph.add("assign", "AssignVariableOp", [None, "random"])
    graph.add("file", "RestoreV2", [], (2, 3))
    graph.add("restore", "AssignVariableOp", [None, "file"])
    found = points(graph)
    assert not found.marked
    assert found.forward == ()


def test_a_fused_operator_is_named_by_its_last_member(graph: Any) -> None:
    graph.add("x", "Placeholder", [], (4, 8))
    graph.add("w", "ReadVariableOp", [], (8, 3))
    graph.add("b", "ReadVariableOp", [], (3,))
    graph.add("mm", "MatMul", ["x", "w"], (4, 3))
    graph.add("bias", "BiasAdd", ["mm", "b"], (4, 3))
    assert points(graph) == GraphPoints(forward=("bias",), backward=("bias",))
