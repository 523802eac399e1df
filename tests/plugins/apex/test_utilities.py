"""fp16_utils, normalization, combined tensors and the decorators of apex, against formulas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.torch.conftest import Run, Scripts

SCRIPT = Path(__file__).with_name("utilities_script.py")
EXAMPLE = Path(__file__).parents[3] / "examples" / "torch" / "train_apex.py"
SEEN = {"DRYNPU_AUTOLOAD": "1"}


@pytest.fixture(scope="module")
def run(scripts: Scripts) -> Run:
    return scripts(SCRIPT.read_text(encoding="utf-8"), environment=SEEN)


@pytest.fixture(scope="module")
def found(run: Run) -> dict[str, Any]:
    answers: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return answers


def test_networks_become_half_but_for_batch_norms(found: dict[str, Any]) -> None:
    mixed = ["float16", "float16", "float32", "float32"]
    assert found["kinds"] == {
        "network_to_half": mixed,
        "convert_network": mixed,
        "BN_convert_float": mixed,
        "tofp16": "float16",
        "FP16Model": "float16",
        "convert_module": ["float16", "float16"],
    }


def test_masters_take_gradients_and_give_values_back(found: dict[str, Any]) -> None:
    """The gradient of the sum of two outputs of three inputs of one: ones, six of the weight and two of the bias."""
    assert found["masters False"] == [[6.0, 2.0], pytest.approx(8**0.5), ["float32", "float32"], 3.0]
    assert found["masters True"] == [[8.0], pytest.approx(8**0.5), ["float32"], 3.0]


def test_scales_move_by_the_rule(found: dict[str, Any]) -> None:
    """Doubled two steps after the last overflow, at step 1, and two after the start, which counts as step -1."""
    assert found["scalers"] == [[8.0, 4.0, 4.0, 8.0, 8.0], [4.0, 4.0], [16.0, 16.0]]


def test_layer_norm_is_the_formula(found: dict[str, Any]) -> None:
    rows, text, whole = found["norm"]
    x = np.arange(12.0).reshape(2, 6)
    expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(rows, expected, atol=1e-5)
    np.testing.assert_allclose(whole, (x - x.mean()) / np.sqrt(x.var() + 1e-5), atol=1e-5)
    assert text == "FusedLayerNorm(torch.Size([6]), eps=1e-05, elementwise_affine=True)"


def test_combined_tensors_share_a_buffer(found: dict[str, Any]) -> None:
    assert found["combined"] == [[2.0] * 3, [4.0] * 4, True]


def test_the_users_functions_are_cast_while_the_casts_are_on(run: Run, found: dict[str, Any]) -> None:
    assert found["decorated"] == [["float16", "float32", "float16"], ["float32", "float32", "float32"]]
    assert found["registered"] == ["float32", "float16", "float16", "float32"]
    assert found["missing"] == "No function named no_such_function in"
    assert found["changed list"] == "float16"
    assert "Float->Half (softsign)" in run.stdout
    assert "Half->Float (tanh)" in run.stdout
    assert found["kernels"] == [False, False, True]
    rooms = "amp contrib fp16_utils multi_tensor_apply normalization optimizers parallel"
    assert {*rooms.split(), "MultiTensorApply", "multi_tensor_applier"} <= set(found["rooms"])


def test_the_example_trains(scripts: Scripts) -> None:
    done = scripts(EXAMPLE, "--steps", "3", environment=SEEN)
    losses = [float(line.split()[3]) for line in done.stdout.splitlines() if line.startswith("step ")]
    assert len(losses) == 3
    assert losses[-1] < losses[0]
