"""A ResNet-50, a BERT, an LSTM and a Llama in each way of training: losses of the CPU, every kernel known."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).with_name("networks.py")
WAYS = ("session", "estimator", "function", "keras")
OFTEN = {("estimator", "llama"), ("estimator", "bert"), ("function", "llama"), ("keras", "llama"), ("keras", "lstm")}
"""Runs of `make test-all`, besides all networks in sessions: each way, and each network but ResNet-50 in two ways."""
STEPS, PASSES, LAYERS = 3, 3, 2
"""Passes: forward, and backward to inputs and to weights."""
# 53 convolutions, of which the first has no gradient to its inputs. A layer of BERT has four products of attention and
# two behind it, one of Llama a gate more; either has a head. An LSTM has two products for each of 7 words, of which the
# first takes zeros.
KERNELS = {
    "resnet50": {
        "Conv2D": 53,
        "Conv2DBackpropFilter": 53,
        "Conv2DBackpropInput": 52,
        "BNTrainingReduce": 53,
        "BNTrainingUpdate": 53,
        "BNTrainingUpdateGrad": 53,
        "BNTrainingReduceGrad": 53,
        "Relu": 49,
        "ReluGrad": 49,
    },
    "bert": {"MatMulV2": (6 * LAYERS + 1) * PASSES, "BatchMatMulV2": 2 * LAYERS * PASSES, "SoftmaxV2": LAYERS},
    "llama": {"MatMulV2": (7 * LAYERS + 1) * PASSES, "BatchMatMulV2": 2 * LAYERS * PASSES, "SoftmaxV2": LAYERS},
    "lstm": {"Sigmoid": 3 * 7 * LAYERS, "SigmoidGrad": 3 * 7 * LAYERS, "Tanh": 2 * 7 * LAYERS, "SplitD": 7 * LAYERS},
}
OPTIMIZERS = {"session": "ApplyMomentumD", "estimator": "ApplyMomentumD"}
VARIABLES = {"resnet50": 161, "bert": 37, "llama": 20, "lstm": 8}
"""What the optimizer steps: one kernel for each variable."""
NO_TENSORS = {"MemSet"}
"""Kernels that take and leave no tensors of the graph."""


def _marks(way: str, network: str) -> tuple[pytest.MarkDecorator, ...]:
    if (way, network) == ("session", "llama"):
        return ()
    return (pytest.mark.slow if way == "session" or (way, network) in OFTEN else pytest.mark.exhaustive,)


TRAINED = [pytest.param(way, network, marks=_marks(way, network)) for way in WAYS for network in KERNELS]
RANKS = {("estimator", "llama"): "slow", ("function", "llama"): "slow", ("keras", "lstm"): "slow"}
RANKS |= dict.fromkeys([("session", "llama"), ("keras", "llama"), ("session", "bert")], "exhaustive")


@pytest.fixture(scope="module")
def runs(scripts: Any) -> Any:
    @functools.cache
    def run(way: str, network: str, device: str) -> Any:
        return scripts(SCRIPT, way, network, device)

    return run


@pytest.mark.parametrize(("way", "network"), TRAINED)
def test_the_losses_are_those_of_the_cpu(runs: Any, way: str, network: str) -> None:
    losses = runs(way, network, "Ascend").printed("losses")
    assert losses == runs(way, network, "CPU").printed("losses")
    assert len(set(losses)) == STEPS


@pytest.mark.parametrize(("way", "network"), TRAINED)
def test_every_kernel_is_known_and_there(runs: Any, way: str, network: str) -> None:
    rows = runs(way, network, "Ascend").prof().rows("op_summary")
    assert not [row["Op Name"] for row in rows if "Unmapped" in row["Op Name"]]
    unknown = {row["OP Type"] for row in rows if row["Input Shapes"] == row["Output Shapes"] == "N/A"}
    assert unknown <= NO_TENSORS
    assert all(float(row["Task Duration(us)"]) > 0 for row in rows)
    kinds = Counter(row["OP Type"] for row in rows)
    expected = {kind: number * STEPS for kind, number in KERNELS[network].items()}
    assert {kind: kinds[kind] for kind in expected} == expected
    assert kinds[OPTIMIZERS.get(way, "ApplyKerasMomentumD")] == VARIABLES[network] * STEPS


@pytest.mark.parametrize(
    ("way", "network"), [pytest.param(*trained, marks=getattr(pytest.mark, mark)) for trained, mark in RANKS.items()]
)
def test_two_ranks_train_as_one_with_the_whole_batch(runs: Any, scripts: Any, way: str, network: str) -> None:
    ranks = scripts.ranks(SCRIPT, way, network, "Ascend")
    losses = np.mean([run.printed("losses") for run in ranks], axis=0)
    np.testing.assert_allclose(losses, runs(way, network, "CPU").printed("losses"), rtol=3e-6)
    for prof in ranks[0].profs():
        kinds = Counter(prof.column("op_summary", "OP Type"))
        assert kinds["hcom_allReduce_"] >= STEPS
