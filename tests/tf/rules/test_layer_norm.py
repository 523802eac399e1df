"""Layer norms of small operators: one kernel where nobody takes what is in between."""

from __future__ import annotations

from typing import Any

import pytest

from drynpu.kernels import RuleBook, TaskType
from drynpu_tf.rules import compile_graph

WHOLE, ROWS, SCALE = (6, 5, 10), (6, 5, 1), (10,)
NODES = ("mean", "square", "variance", "plus", "rsqrt", "factor", "moved", "scaled", "shift", "norm")


def layer_norm(graph: Any, *, swapped: bool = False, scale: tuple[int, ...] = SCALE) -> None:
    """Add a layer norm as tf.nn.moments and tf.nn.batch_normalization write it."""
    graph.add("x", "Placeholder", [], WHOLE)
    graph.add("gamma", "ReadVariableOp", [], scale)
    graph.add("beta", "ReadVariableOp", [], scale)
    graph.add("axes", "Const", [], ((1,), "int32"))
    graph.add("epsilon", "Const", [], ())

    def pair(first: str, second: str) -> list[str]:
        return [second, first] if swapped else [first, second]

    graph.add("mean", "Mean", ["x", "axes"], ROWS, keep_dims=True)
    graph.add("stopped", "StopGradient", ["mean"], ROWS)
    graph.add("square", "SquaredDifference", pair("x", "stopped"), WHOLE)
    graph.add("variance", "Mean", ["square", "axes"], ROWS, keep_dims=True)
    graph.add("plus", "AddV2", pair("variance", "epsilon"), ROWS)
    graph.add("rsqrt", "Rsqrt", ["plus"], ROWS)
    graph.add("factor", "Mul", pair("rsqrt", "gamma"), WHOLE)
    graph.add("scaled", "Mul", pair("x", "factor"), WHOLE)
    graph.add("moved", "Mul", pair("mean", "factor"), WHOLE)
    graph.add("shift", "Sub", ["beta", "moved"], WHOLE)
    graph.add("norm", "AddV2", pair("scaled", "shift"), WHOLE)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(("split", "kind"), [(True, "LayerNormV3"), (False, "LayerNorm")])
def test_a_layer_norm_is_one_kernel(graph: Any, book: RuleBook, *, swapped: bool, split: bool, kind: str) -> None:
    layer_norm(graph, swapped=swapped)
    graph.add("fetch", "_Retval", ["norm"])
    compiled = compile_graph(graph.nodes, split=split)
    (kernel,) = [k for node in graph.nodes for k in book.plan(compiled.signatures[node.name]).kernels]
    assert (kernel.name, kernel.op_type, kernel.task_type) == ("norm", kind, TaskType.AI_VECTOR_CORE)
    assert [t.shape for t in kernel.inputs] == [WHOLE, SCALE, SCALE]
    assert [t.shape for t in kernel.outputs] == [WHOLE, ROWS, ROWS]
    assert kernel.vector_ops == 8 * 300
    assert (kernel.bytes_read, kernel.bytes_written) == (4 * (300 + 20), 4 * (300 + 60))
    (record,) = compiled.fusions
    assert record.name == "norm"
    assert set(record.original_ops) == set(NODES)


@pytest.mark.parametrize("node", ["mean", "rsqrt", "factor", "scaled"])
def test_what_a_gradient_takes_is_not_fused(graph: Any, book: RuleBook, node: str) -> None:
    layer_norm(graph)
    graph.add("gradient", "Mul", [node, "x"], WHOLE)
    compiled = compile_graph(graph.nodes)
    types = [k.op_type for name in graph.nodes for k in book.plan(compiled.signatures[name.name]).kernels]
    assert types.count("ReduceMeanD") == 2
    assert not [name for name in types if name.startswith("LayerNorm")]


def test_statistics_of_other_axes_are_another_norm(graph: Any) -> None:
    layer_norm(graph, scale=(5, 10))
    assert [fusion for fusion in compile_graph(graph.nodes).fusions if fusion.name == "norm"] == []
