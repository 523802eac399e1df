"""Captures of networks that MindSpore ran: times, names, shapes, passes, sessions one after another."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from drynpu.kernels import TensorDesc

MODES = ("graph", "pynative")
SESSIONS = ("mlp_sgd", "again", "inference", "lenet", "block", "failing", "after_failing", "nothing", "dataset")


def operators(workloads, mode, name):
    return workloads(mode)[name][1].operators


def calls(table, primitive):
    """Return the calls of a primitive in the order of their launches."""
    called = [table.signatures[row] for row in table.signature]
    return [call for call in called if call.name == primitive]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SESSIONS)
def test_operators_lie_between_start_and_stop(workloads, mode, name):
    begin_ns, captured, end_ns = workloads(mode)[name]
    table = captured.operators
    assert (table.start_ns >= begin_ns).all()
    assert (table.end_ns <= end_ns).all()
    assert (table.end_ns > table.start_ns).all()
    assert (np.diff(table.start_ns) > 0).all()
    # One after another, as one thread launches them.
    assert (table.end_ns[:-1] <= table.start_ns[1:]).all()
    assert len(np.unique(table.thread)) <= 1


def test_a_graph_has_full_names_and_every_step_the_same_operators(workloads):
    table = operators(workloads, "graph", "mlp_sgd")
    assert len(table) == 40
    assert set(np.bincount(table.name)) == {2}
    names = set(table.names)
    assert "Default/network-WithLossCell/_backbone-Mlp/first-Dense/MatMul-op0" in names
    assert "Gradients/Default/network-WithLossCell/_backbone-Mlp/second-Dense/Grad_MatMul/MatMul-op0" in names
    assert any(name.startswith("Default/optimizer-SGD/SGD-op") for name in names)
    # Branches that do not depend on each other run in any order.
    assert sorted(table.name[:20]) == sorted(table.name[20:])


def test_a_graph_tells_shapes_types_attributes_and_results(workloads):
    table = operators(workloads, "graph", "mlp_sgd")
    first = calls(table, "MatMul")[0]
    assert first.tensors() == (TensorDesc((8, 16), "FLOAT"), TensorDesc((32, 16), "FLOAT"))
    results, _, arguments = first.attributes
    assert results == (TensorDesc((8, 32), "FLOAT"),)
    assert arguments == (None, None, False, True)
    loss = calls(table, "SparseSoftmaxCrossEntropyWithLogits")[0]
    assert loss.tensors()[1] == TensorDesc((8,), "INT32")
    assert dict(loss.attributes[1])["is_grad"] is False
    convolution = calls(operators(workloads, "graph", "lenet"), "Conv2D")[1]
    assert dict(convolution.attributes[1])["kernel_size"] == (3, 3)
    assert table.texts[table.signatures.index(first)] == ("FLOAT;FLOAT;;", "8,16;32,16;;")


@pytest.mark.parametrize("mode", MODES)
def test_forward_and_backward_are_told_apart(workloads, mode):
    table = operators(workloads, mode, "mlp_sgd")
    primitive = [table.signatures[row].name for row in table.signature]
    backward = table.scope == 1
    assert {p for p, back in zip(primitive, backward, strict=True) if back} >= {"ReluGrad", "BiasAddGrad", "MatMul"}
    assert {p for p, back in zip(primitive, backward, strict=True) if not back} >= {"ReLU", "BiasAdd", "MatMul", "SGD"}
    products = [back for p, back in zip(primitive, backward, strict=True) if p == "MatMul"]
    assert sum(products) == 2 * 3
    assert len(products) == 2 * 5


@pytest.mark.parametrize("mode", MODES)
def test_sessions_after_sessions_are_the_same(workloads, mode):
    first, again = (operators(workloads, mode, name) for name in ("mlp_sgd", "again"))
    launched = [Counter(table.signatures[row] for row in table.signature) for table in (first, again)]
    assert launched[0] == launched[1]
    assert again.start_ns[0] > first.end_ns[-1]


def test_another_graph_with_the_same_names_has_its_own_shapes(workloads):
    table = operators(workloads, "graph", "inference")
    (first, second) = calls(table, "MatMul")
    assert first.tensors()[0] == TensorDesc((3, 16), "FLOAT")
    assert second.tensors()[0] == TensorDesc((3, 32), "FLOAT")
    assert not table.scope.any()


def test_pynative_without_gradients_tells_the_shapes_too(workloads):
    _, captured, _ = workloads("pynative")["inference"]
    assert captured.notes == captured.unknown == ()
    assert calls(captured.operators, "BiasAdd")[0].tensors()[0] == TensorDesc((3, 32), "FLOAT")
    first, second = calls(captured.operators, "MatMul")
    assert list(first.tensors()) == [TensorDesc((3, 16), "FLOAT"), TensorDesc((32, 16), "FLOAT")]
    assert list(second.tensors()) == [TensorDesc((3, 32), "FLOAT"), TensorDesc((4, 32), "FLOAT")]
    assert first.attributes[2] == second.attributes[2] == (None, None, False, True)


def test_pynative_has_the_shapes_of_both_passes(workloads):
    products = calls(operators(workloads, "pynative", "mlp_sgd"), "MatMul")[:5]
    assert [tuple(t.shape for t in call.tensors()) for call in products] == [
        ((8, 16), (32, 16)),
        ((8, 32), (4, 32)),
        ((8, 4), (4, 32)),  # gradient of the second layer's input, then of its weight
        ((8, 4), (8, 32)),
        ((8, 32), (8, 16)),
    ]
    assert [call.attributes[0][0].shape for call in products] == [(8, 32), (8, 4), (8, 32), (4, 32), (32, 16)]


def test_a_failure_in_between_spoils_nothing(workloads):
    assert len(operators(workloads, "graph", "failing")) == 0
    for mode in MODES:
        before, after = (operators(workloads, mode, name) for name in ("block", "after_failing"))
        launched = [Counter(table.signatures[row].name for row in table.signature) for table in (before, after)]
        assert launched[0] == launched[1]


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_left_behind(workloads, mode):
    folder_exists, passes = workloads(mode)["left"]
    assert not folder_exists
    assert passes is None


@pytest.mark.parametrize("mode", MODES)
def test_the_data_pipeline_is_captured_where_it_is_asked_for(workloads, mode):
    found = workloads(mode)
    assert not found["block"][1].dataset
    assert not found["no_dataset"][1].dataset
    texts = found["dataset"][1].dataset
    assert texts.keys() == {"pipeline", "cpu_utilization", "dataset_iterator"}
    pipeline = json.loads(texts["pipeline"])
    assert pipeline["sampling_interval"] == 5
    operators = sorted(pipeline["op_info"], key=lambda operator: operator["op_id"])
    assert [operator["op_type"] for operator in operators] == ["BatchOp", "MapOp", "GeneratorOp"]
    assert operators[1]["num_workers"] == 2
    rows = [line.split() for line in texts["dataset_iterator"].splitlines()]
    assert {row[2] for row in rows if row[0] == "0"} == {"1", "2", "3"}  # three batches
