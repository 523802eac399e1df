"""Nothing that the scripts of ``workloads.py`` execute is without a rule."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from drynpu.kernels import RuleBook, TaskType
from drynpu_tf.rules import RULES, GraphNode, compile_graph, is_call

WITHOUT_RULE: frozenset[str] = frozenset()
"""Operator types that are executed and may lack a rule, by name; there are none."""


@pytest.mark.parametrize("group", ["sessions", "estimator", "keras", "functions"])
def test_every_executed_type_has_a_rule(executed: dict[str, Any], group: str) -> None:
    types = set(executed["types"][group])
    assert len(types) > 30, "the workload ran"
    # Calls of functions bear the names of the functions; they are wrappers of what they execute.
    assert {t for t in types if not is_call(t)} - RULES.keys() - WITHOUT_RULE == set()


def test_the_workloads_meet_what_they_are_for(executed: dict[str, Any]) -> None:
    met = {t for types in executed["types"].values() for t in types}
    wanted = """
    MatMul BatchMatMulV2 Einsum Conv2D Conv2DBackpropInput Conv2DBackpropFilter DepthwiseConv2dNative FusedBatchNormV3
    FusedBatchNormGradV3 MaxPool MaxPoolGrad AvgPool AvgPoolGrad BiasAdd BiasAddGrad Relu ReluGrad Softmax
    SparseSoftmaxCrossEntropyWithLogits GatherV2 ResourceGather UnsortedSegmentSum StridedSlice TensorArrayWriteV3
    TensorListSetItem Switch Merge RandomUniform StatelessRandomUniformV2 ApplyGradientDescent ApplyMomentum ApplyAdam
    ResourceApplyGradientDescent ResourceApplyMomentum ResourceApplyKerasMomentum ResourceApplyAdam IteratorGetNext
    """
    assert set(wanted.split()) - met == set()


def test_every_executed_call_has_an_answer(graphs: list[list[GraphNode]], book: RuleBook) -> None:
    """A rule may have no answer for some tensors; of what was executed all of them answer."""
    unmapped = Counter(
        node.signature.name for nodes in graphs for node in nodes if not book.plan(node.signature).mapped
    )
    assert unmapped == {}


@pytest.mark.parametrize("split", [True, False])
def test_compiled_graphs_have_answers_and_no_more_kernels(
    graphs: list[list[GraphNode]], book: RuleBook, *, split: bool
) -> None:
    for nodes in graphs:
        compiled = compile_graph(nodes, split=split)
        assert compiled.signatures.keys() == {node.name for node in nodes}
        plans = [book.plan(signature) for signature in compiled.signatures.values()]
        assert all(plan.mapped for plan in plans)
        alone = sum(len(book.plan(node.signature).kernels) for node in nodes)
        assert 0 < sum(len(plan.kernels) for plan in plans) <= alone
        launched = {kernel.name for plan in plans for kernel in plan.kernels}
        assert {fusion.name for fusion in compiled.fusions} <= launched


def test_fusion_keeps_the_work_of_the_cube_unit(graphs: list[list[GraphNode]], book: RuleBook) -> None:
    for nodes in graphs:
        alone = sum(k.cube_flops for node in nodes for k in book.plan(node.signature).kernels)
        compiled = compile_graph(nodes, split=False)
        assert sum(k.cube_flops for s in compiled.signatures.values() for k in book.plan(s).kernels) == alone


def test_training_runs_on_the_units_it_should(graphs: list[list[GraphNode]], book: RuleBook) -> None:
    kernels = [k for nodes in graphs for s in compile_graph(nodes).signatures.values() for k in book.plan(s).kernels]
    by_type = {kernel.op_type: kernel.task_type for kernel in kernels}
    assert by_type["MatMulV2"] is TaskType.AI_CORE
    assert by_type["Conv2DBackpropFilterD"] is TaskType.AI_CORE
    assert by_type["ApplyAdamD"] is TaskType.AI_VECTOR_CORE
    assert by_type["RandomUniform"] is TaskType.AI_CPU
    assert all(kernel.bytes_read or kernel.bytes_written or kernel.task_type is TaskType.AI_CPU for kernel in kernels)
