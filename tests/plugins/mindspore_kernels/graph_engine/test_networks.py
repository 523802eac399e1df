"""Networks at jit level O2: the kernels of the graph engine on both generations, and the losses of the CPU."""

from __future__ import annotations

import csv
import functools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from drynpu import needs_plugin
from drynpu.products import load_profile

pytestmark = pytest.mark.slow

_SCRIPT = Path(__file__).with_name("networks.py")
CHIPS = ("Ascend910B2", "Ascend910A")
NETWORKS = ("residual", "transformer", "perceptron")
# Two steps of training and one pass without gradients; what both generations have.
KERNELS = {
    "residual": {
        # Three convolutions; the weights of all and the inputs of two have gradients.
        "Conv2D": 9,
        "BNInfer": 2,
        "BiasAddGrad": 4,
        "BNTrainingReduce": 4,
        "BNTrainingUpdate": 4,
        "BNTrainingUpdateGrad": 4,
        "BNTrainingReduceGrad": 4,
        # Into and out of the first and last image, and in again for the gradient that comes from the head.
        "TransData": 3 * 2 + 2,
        "MatMulV2": 3 + 4,
        "ApplyMomentum": 2 * 10,
        "BiasAdd": 0,
    },
    "transformer": {
        # Seven dense layers, whose gradients are two products each, but for the inputs of the first three.
        "MatMulV2": 3 * 7 + 2 * (7 + 7) - 2 * 3,
        "BatchMatMulV2": 3 * 2 + 2 * 4,
        "SoftmaxV2": 3,
        "Gelu": 3,
        "GeluGrad": 2,
        "ApplyMomentum": 2 * 18,
        "BiasAdd": 0,
        "BiasAddGrad": 2 * 7,
    },
    "perceptron": {"MatMulV2": 3 * 3 + 2 * 5, "ApplyMomentum": 2 * 6, "BiasAdd": 0, "BiasAddGrad": 2 * 3},
}
SPLIT = {
    "residual": {
        # Relu behind a norm, behind the sum, and in the pass without gradients behind the two norms.
        "Relu": 2 * 3,
        "Add": 3,
        "MaxPool": 3,
        "MaxPoolGrad": 2,
        "Conv2DBackpropFilter": 6,
        "Conv2DBackpropInput": 4,
    },
    "transformer": {"LayerNormV3": 6, "LayerNormGradV3": 4, "Transpose": 3 * 4 + 2 * 4},
    "perceptron": {"Relu": 3, "Tanh": 3, "ReluGrad": 2, "TanhGrad": 2},
}
UNIFIED = {
    "residual": {
        # The pass without gradients keeps the Relu behind BNInfer, which is no BNTrainingUpdate.
        "Relu": 1,
        "Add": 3,
        "MaxPool": 1,
        "MaxPoolWithArgmax": 2,
        "MaxPoolGradWithArgmax": 2,
        "Conv2DBackpropFilterD": 6,
        "Conv2DBackpropInputD": 4,
    },
    "transformer": {
        "LayerNorm": 6,
        "LayerNormXBackpropV2": 4,
        "LayerNormBetaGammaBackpropV2": 4,
        "TransposeD": 20,
    },
    # Activations and the gradient of the tangent go into products; the gradient of Relu does not.
    "perceptron": {"Relu": 0, "Tanh": 0, "ReluGrad": 2, "TanhGrad": 0},
}


@pytest.fixture(scope="module")
def runs(scripts: Any) -> Any:
    @functools.cache
    def run(chip: str) -> Any:
        if chip == "CPU":
            return scripts(_SCRIPT, "CPU")
        return scripts.simulated(_SCRIPT, "O2", environment={"DRYNPU_CHIP": chip})

    return run


def kernels(run: Any, network: str) -> list[dict[str, str]]:
    (details,) = (run.folder / network).rglob("kernel_details.csv")
    with details.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("chip", CHIPS)
def test_losses_are_those_of_the_cpu(runs: Any, chip: str) -> None:
    found = runs(chip).printed("found")
    assert found == runs("CPU").printed("found")
    assert all(first != second for first, second, _ in found.values())


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("network", NETWORKS)
def test_kernels_are_those_of_the_graph_engine(runs: Any, chip: str, network: str) -> None:
    rows = kernels(runs(chip), network)
    types = Counter(row["Type"] for row in rows)
    expected = KERNELS[network] | (SPLIT if chip == CHIPS[0] else UNIFIED)[network]
    assert {name: types[name] for name in expected} == expected
    assert all(
        row["Name"].startswith(("Default/network-", "Gradients/", "Default/optimizer-", "trans_")) for row in rows
    )
    assert all("KernelLaunch" not in row["Name"] for row in rows)
    (about,) = (runs(chip).folder / network).rglob("profiler_metadata.json")
    assert "notes" not in json.loads(about.read_text())["drynpu"]


@pytest.mark.parametrize("chip", CHIPS)
def test_operators_made_of_several_are_rows_of_fusion_op(runs: Any, chip: str) -> None:
    (folder,) = runs(chip).runs("residual")
    found = load_profile(folder).frame("fusion_ops")
    names = dict(zip(found["name"], found["original_ops"], strict=True))
    backbone = "Default/network-WithLossCell/_backbone-Residual"
    conv, relu = f"{backbone}/last-Conv2d/Conv2D-op0", f"{backbone}/relu-ReLU/ReLU-op2"
    assert names[f"{conv}{relu}"] == f"{conv};{backbone}/last-Conv2d/BiasAdd-op0;{relu}"
    norm = f"{backbone}/norm1-BatchNorm2d/BatchNorm-op0_Update{backbone}/relu-ReLU/ReLU-op0"
    assert (norm in names) == (chip == CHIPS[1])


def test_without_the_plugin_graphs_are_shown_node_by_node(runs: Any, scripts: Any) -> None:
    off = scripts.simulated(
        _SCRIPT, "O2", environment={"DRYNPU_CHIP": CHIPS[0], "DRYNPU_PLUGINS": "-mindspore_kernels"}
    )
    assert off.printed("found") == runs(CHIPS[0]).printed("found")
    rows = kernels(off, "residual")
    assert len(rows) > len(kernels(runs(CHIPS[0]), "residual"))
    (about,) = (off.folder / "residual").rglob("profiler_metadata.json")
    notes = json.loads(about.read_text())["drynpu"]["notes"]
    assert f"graphs are shown node by node: {needs_plugin('jit_level O2', 'mindspore_kernels')}" in notes
