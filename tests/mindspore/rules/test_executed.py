"""What MindSpore really executed: every primitive has a rule, and the work of the cube unit is what a hand counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from drynpu.kernels import TaskType, build_rule_book
from drynpu_mindspore.capture import find_runs
from drynpu_mindspore.rules import RULES
from drynpu_mindspore_kernels.graph_engine import WholeGraphs

pytestmark = pytest.mark.slow

MODES = ("graph", "pynative")
NETWORKS = ("mlp_sgd", "mlp_mse", "lenet", "lstm", "gru", "block")
STEPS = 2


def product(rows, inner, columns, count=1):
    return 2 * rows * inner * columns * count


def mlp():
    first, second = product(8, 16, 32), product(8, 32, 4)
    return first + second + first + 2 * second  # the first layer's input needs no gradient


def lenet():
    first = 2 * (2 * 6 * 24 * 24) * (1 * 5 * 5)
    second = 2 * (2 * 8 * 12 * 12) * (6 * 3 * 3)
    return 2 * first + 3 * second + 3 * product(2, 288, 10)


def recurrent(gates):
    of_input, of_state = product(2, 8, gates), product(2, 16, gates)
    # Gradients of three weights each; gradients of the state flow back to all but the first, which is zeros.
    return of_input * (3 + 3) + of_state * (3 + 3 + 2) + 3 * product(2, 16, 4)


def block():
    attention = product(5, 8, 5, count=4) + product(5, 5, 8, count=4)
    dense = 4 * product(10, 16, 16) + product(10, 16, 64) + product(10, 64, 16) + product(2, 16, 4)
    return 3 * (attention + dense)


BY_HAND = {
    "mlp_sgd": mlp(),
    "mlp_mse": mlp(),
    "lenet": lenet(),
    "lstm": recurrent(4 * 16),
    "gru": recurrent(3 * 16),
    "block": block(),
}
# Kernels of the passes, by type; the graph's own simplifications make the modes differ in others.
TYPES = {
    "mlp_sgd": {"MatMulV2", "BiasAdd", "BiasAddGrad", "Relu", "ReluGrad", "DropOutDoMaskV3", "DropOutGenMask", "SGD"},
    "mlp_mse": {"MatMulV2", "Sub", "Square", "ReduceMean", "ApplyAdamD"},
    "lenet": {
        "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "TransData", "MemSet", "MatMulV2", "MaxPool",
        "MaxPoolGrad", "AvgPool", "AvgPoolGrad", "BNTrainingReduce", "BNTrainingUpdate", "BNTrainingUpdateGrad",
        "BNTrainingReduceGrad", "OneHot", "SoftmaxCrossEntropyWithLogits", "ApplyMomentum",
    },
    "lstm": {"MatMulV2", "Sigmoid", "SigmoidGrad", "Tanh", "TanhGrad", "Mul", "Add"},
    "gru": {"MatMulV2", "Sigmoid", "SigmoidGrad", "Tanh", "TanhGrad", "SoftmaxCrossEntropyWithLogits"},
    "block": {
        "GatherV2", "LayerNormV3", "LayerNormGradV3", "BatchMatMulV2", "SoftmaxV2", "Gelu", "GeluGrad",
        "UnsortedSegmentSum", "ApplyAdamW",
    },
}  # fmt: skip
CUBE = {"MatMulV2", "MatMulV3", "BatchMatMulV2", "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"}


def launched(operators):
    """Return the kernels of every row."""
    book = build_rule_book(RULES)
    plans = [book.plan(call) for call in operators.signatures]
    return [kernel for row in operators.signature for kernel in plans[row].kernels]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("network", NETWORKS)
def test_every_primitive_has_a_rule(workloads, mode, network):
    _, captured, _ = workloads(mode)[network]
    operators = captured.operators
    executed = {operators.signatures[index].name for index in np.unique(operators.signature)}
    assert len(executed) > 5
    assert executed <= RULES.keys()
    assert TYPES[network] <= {kernel.op_type for kernel in launched(operators)}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("network", NETWORKS)
def test_the_work_of_the_cube_unit_is_what_a_hand_counts(workloads, mode, network):
    _, captured, _ = workloads(mode)[network]
    kernels = launched(captured.operators)
    assert sum(kernel.cube_flops for kernel in kernels) == STEPS * BY_HAND[network]
    assert {kernel.op_type for kernel in kernels if kernel.task_type is TaskType.AI_CORE} <= CUBE
    assert all(kernel.mapped and kernel.known for kernel in kernels if kernel.op_type in CUBE)


@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("network", NETWORKS)
def test_a_compiled_graph_has_the_cube_work_that_a_hand_counts(workloads, network, split):
    _, captured, _ = workloads("graph")[network]
    graphs, operators = captured.memory.graphs, captured.operators
    sunk = WholeGraphs(split=split).sink(graphs, find_runs(graphs, operators), operators)
    assert sunk.notes == ()
    kernels = launched(sunk.operators)
    assert sum(kernel.cube_flops for kernel in kernels) == STEPS * BY_HAND[network]
    assert all(kernel.mapped and kernel.known for kernel in kernels)
    alone = [kernel.op_type for kernel in launched(captured.operators)]
    assert len(kernels) < len(alone)
    products = Counter(kernel.op_type for kernel in kernels if kernel.op_type in CUBE)
    assert products == Counter(name for name in alone if name in CUBE)
    assert not {"Default", "Gradients"}.isdisjoint(kernel.name.split("/")[0] for kernel in kernels)


@pytest.mark.parametrize("network", NETWORKS)
def test_nothing_of_a_graph_is_unknown(workloads, network):
    _, captured, _ = workloads("graph")[network]
    assert all(kernel.mapped and kernel.known for kernel in launched(captured.operators))
    assert captured.notes == ()


@pytest.mark.parametrize("network", NETWORKS)
def test_what_pynative_does_not_tell_is_shown_without_work(workloads, network):
    _, captured, _ = workloads("pynative")[network]
    unknown = [kernel for kernel in launched(captured.operators) if not kernel.known]
    assert {kernel.op_type for kernel in unknown} <= {
        "OnesLike", "Mul", "Tile", "Add", "ReduceSum", "ConcatD", "Neg", "Sub", "RealDiv",
    }  # fmt: skip
    for kernel in unknown:
        assert (kernel.inputs, kernel.outputs) == ((), ())
        assert (kernel.vector_ops, kernel.bytes_read, kernel.bytes_written) == (0, 0, 0)
