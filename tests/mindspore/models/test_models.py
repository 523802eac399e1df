"""A ResNet-50, a BERT, an LSTM and a Llama: every kernel known, every number equal to the CPU's, in both modes."""

from __future__ import annotations

import csv
import functools
import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from drynpu.compiling import find_compiler

_SCRIPT = Path(__file__).with_name("networks.py")
MODES = ("pynative", "graph")
# Kernels that show what a network is made of: of one pass without gradients and two with. Both modes launch the same.
KERNELS = {
    # 53 convolutions in three passes; in the two backward ones, of all weights and of all inputs but the image.
    "resnet50": {"Conv2D": 159, "Conv2DBackpropFilter": 106, "Conv2DBackpropInput": 104, "BNInfer": 53, "MaxPool": 3},
    "bert": {"LayerNormV3": 15, "LayerNormGradV3": 10, "SoftmaxV2": 6, "Gelu": 6, "GeluGrad": 4, "GatherV2": 9},
    "lstm": {"GatherV2": 3},
    # Products: 7 of a layer and the head, three for each of them that has a gradient.
    "llama": {"MatMulV2": 7 * 15, "SoftmaxV2": 6, "Rsqrt": 12, "Sigmoid": 10, "SigmoidGrad": 4},
}
NORMS_AS_GRAPH = ("resnet50", "graph")
"""Compiled twice for a minute and a half each."""


def mark_of(case: tuple[str, str]) -> tuple[pytest.MarkDecorator, ...]:
    """Return which part of the tests a network and a mode belong to."""
    if case == NORMS_AS_GRAPH:
        return (pytest.mark.exhaustive,)
    return () if case == ("llama", "pynative") else (pytest.mark.slow,)


CASES = [pytest.param(*case, marks=mark_of(case)) for case in itertools.product(KERNELS, MODES)]
# Two layers: in two directions as one operator each, or seven steps of cells with three sigmoids and two tangents.
RECURRENT = {"graph": {"DynamicRNN": 12, "DynamicRNNGrad": 8}, "pynative": {"Sigmoid": 3 * 14 * 3, "Tanh": 3 * 14 * 2}}
TRAINING_NORMS = ("BNTrainingReduce", "BNTrainingUpdate", "BNTrainingUpdateGrad", "BNTrainingReduceGrad")


@pytest.fixture(scope="module")
def runs(scripts: Any) -> Any:
    @functools.cache
    def run(mode: str, network: str) -> Any:
        return scripts.simulated(_SCRIPT, mode, "Ascend", network)

    return run


def profile(run: Any) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Return what the metadata of drynpu say of a recording, and its kernels."""
    (folder,) = run.runs("profiled")
    (about,) = folder.rglob("profiler_metadata.json")
    (details,) = folder.rglob("kernel_details.csv")
    with details.open(newline="") as file:
        return json.loads(about.read_text())["drynpu"], list(csv.DictReader(file))


@pytest.mark.parametrize(("network", "mode"), CASES)
def test_the_numbers_are_those_of_the_cpu(runs: Any, scripts: Any, mode: str, network: str) -> None:
    total, losses = runs(mode, network).printed("found")
    assert [total, losses] == scripts(_SCRIPT, mode, "CPU", network).printed("found")
    assert losses[0] != losses[1]


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
@pytest.mark.parametrize(("network", "mode"), CASES)
def test_every_kernel_is_mapped_and_has_its_shapes(runs: Any, mode: str, network: str) -> None:
    about, kernels = profile(runs(mode, network))
    assert about["unmapped_operators"] == {}
    assert "unknown_kernels" not in about
    assert "notes" not in about
    assert not [row["Type"] for row in kernels if row["Duration(us)"] == "N/A"]
    types = Counter(row["Type"] for row in kernels)
    expected = KERNELS[network] | (RECURRENT[mode] if network == "lstm" else {})
    assert {name: types[name] for name in expected} == expected


@pytest.mark.slow
@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
@pytest.mark.parametrize("mode", ["pynative", pytest.param("graph", marks=pytest.mark.exhaustive)])
def test_norms_of_a_network_that_first_ran_without_gradients_train_afterwards(runs: Any, mode: str) -> None:
    _, kernels = profile(runs(mode, "resnet50"))
    types = Counter(row["Type"] for row in kernels)
    # 53 norms, two steps. In PyNative both passes are compiled one by one, for the same shapes.
    assert {name: types[name] for name in TRAINING_NORMS} == dict.fromkeys(TRAINING_NORMS, 106)
