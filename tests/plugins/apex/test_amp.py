"""``apex.amp`` in a script: types, numbers against formulas, loss scales, what is printed and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.torch.conftest import Run, Scripts

SCRIPT = Path(__file__).with_name("amp_script.py")
BANNER = """\
Selected optimization level O2:  FP16 training with FP32 batchnorm and FP32 master weights.

Defaults for this optimization level are:
enabled                : True
opt_level              : O2
cast_model_type        : torch.float16
patch_torch_functions  : False
keep_batchnorm_fp32    : True
master_weights         : True
loss_scale             : dynamic
combine_grad           : None
combine_ddp            : None
ddp_replica_count      : 4
check_combined_tensors : None
user_cast_preferred    : None
Processing user overrides (additional kwargs that are not None)...
After processing overrides, optimization options are:
"""


@pytest.fixture(scope="module")
def run(scripts: Scripts) -> Run:
    return scripts(SCRIPT.read_text(encoding="utf-8"), environment={"DRYNPU_AUTOLOAD": "1"})


@pytest.fixture(scope="module")
def answers(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in run.stdout.splitlines():
        if line.startswith("{"):
            found.update(json.loads(line))
    return found


def test_masters_keep_what_float16_cannot(answers: dict[str, Any]) -> None:
    """Ten steps of 1e-4 from 1, where the next float16 below is 1 - 2**-11."""
    master = np.float32(1)
    for _ in range(10):
        master -= np.float32(1e-4)
    model = float(np.float16(master))
    half, full = "torch.float16", "torch.float32"
    assert answers["small O0 []"] == [[full, full], full, pytest.approx(master), pytest.approx(master), full, full]
    assert answers["small O3 []"] == [[half, half], full, 1.0, 1.0, half, full], "no master: the weight never moves"
    for options in ("['loss_scale']", "['combine_grad', 'dynamic_init_scale', 'loss_scale']"):
        assert answers[f"small O2 {options}"] == [[half, full], full, model, pytest.approx(master), full, full]
    assert answers["small O2 ['keep_batchnorm_fp32', 'loss_scale']"][0] == [half, half]


def scales(bad: set[int], scale: float, window: int, least: float, most: float) -> list[float]:
    """The documented rule: halved at an overflow, doubled after *window* passes without, within bounds."""
    found, passes = [], 0
    for step in range(9):
        passes = 0 if step in bad else passes + 1
        scale = max(least, scale / 2) if step in bad else scale
        if passes == window:
            scale, passes = min(most, scale * 2), 0
        found.append(scale)
    return found


def test_a_dynamic_scale_follows_the_rule(run: Run, answers: dict[str, Any]) -> None:
    expected = scales({0, 1, 2, 3}, 4.0, 2, 1.0, 4.0)
    assert answers["scales O2"] == expected
    assert answers["scales O1"] == scales({1}, 2.0**16, 2000, 0.0, 2.0**24)
    said = run.stdout.split("begin steps\n")[1].split("end steps")[0].splitlines()
    text = "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to "
    assert said == [f"{text}{scale}" for scale in expected[:4]]


def test_the_banner_is_the_vendors(run: Run) -> None:
    assert BANNER in run.stdout
    assert "Warning: Default value of `set_to_none` in torch.nn.Module.zero_grad() is set as False" in run.stdout


@pytest.mark.parametrize("case", ["O0", "O2", "O2 combined", "O1 combined"])
def test_gradients_add_up_over_backward_passes(answers: dict[str, Any], case: str) -> None:
    """Against plain PyTorch in float32; float16 has 11 bits."""
    tolerance = {"rtol": 1e-6, "atol": 1e-7} if case == "O0" else {"rtol": 8e-3, "atol": 8e-3}
    for ours, plain in zip(answers[f"accumulated {case}"], answers["accumulated plain"], strict=True):
        if isinstance(ours, float):
            np.testing.assert_allclose(ours, plain, **tolerance)
            continue
        # Order: float16 masters stand where the model's parameters stood.
        for one, two in zip(ours, plain, strict=True):
            np.testing.assert_allclose(one, two, **tolerance)


def test_what_does_not_go_together_is_refused_as_by_the_vendor(answers: dict[str, Any], native: bool) -> None:
    said = answers["refusals"]
    assert said["level"].startswith("RuntimeError: Unexpected optimization level 02. Options are 'O0', 'O1'")
    assert said["norms"].startswith("RuntimeError: With opt_level O1, batchnorm functions are automatically patched")
    assert said["patch"].startswith("RuntimeError: Currently, patch_torch_functions=True should only be set")
    assert said["ddp"].startswith("RuntimeError: Combine_grad should be True when combine_ddp")
    assert said["grad"].startswith("RuntimeError: Currently, combine_grad=True or check_combined_tensors=True")
    assert said["text"].startswith("AssertionError: keep_batchnorm_fp32 must be a boolean, the string 'True'")
    assert "you do not need to call .half() on your model" in said["half"]
    assert ("located on a Npu device" in said.get("host", "")) == native, "the sink does not know where tensors are"
    assert said["models"] == "TypeError: models must be either a single model or a list of models."
    assert said["wrapped"].startswith("RuntimeError: Incoming model is an instance of torch.nn.parallel.DataParallel")
    assert answers["not enabled"] == [7, 5]


def test_level_o1_casts_by_the_lists(answers: dict[str, Any], native: bool) -> None:
    half = {"linear", "matmul", "add half", "relu", "decorated", "lstm", "gru cell", "in place", "bmm", "after"}
    half |= set() if native else {"on host"}
    expected = {name: "float16" if name in half else "float32" for name in answers["casts"]}
    assert answers["casts"] == expected
    assert len(expected) == 19
    assert answers["refused banned"].startswith("amp does not work out-of-the-box with `F.binary_cross_entropy`")
    assert answers["refused in place"] == "Cannot call in-place method exp_ on fp16 Tensors."
    assert answers["refused double"].startswith("Do not know how to handle these types to promote")
    assert answers["weights kept"] == [1, 0, [[4.0, 4.0], [4.0, 4.0]]], "converted once; gradients reach the weight"
    assert answers["state"]["loss_scaler1"] == {"loss_scale": 8.0, "unskipped": 7}
    assert answers["deactivated"] == ["torch.float32", "torch.float16"]
