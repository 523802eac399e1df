"""The optimizers of apex through amp: the weights of the same formulas in float32, and buffers that are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.torch.conftest import Scripts

SCRIPT = Path(__file__).with_name("optimizers_script.py")
PARAMETERS_OF_LINEAR, PARAMETERS_OF_NORM = 4 * 6 + 6 + 6 * 3 + 3, 2 * 6
# tests/plugins/apex/fused holds the formulas themselves, to NumPy and to PyTorch.
NAMES = [
    *("NpuFusedSGD", "NpuFusedAdam", "NpuFusedAdamW", "NpuFusedAdadelta", "NpuFusedRMSprop"),
    *("NpuFusedAdamP", "NpuFusedLamb", "NpuFusedBertAdam", "NpuFusedRMSpropTF", "Lamb"),
]


NO_KERNELS = (
    "Attempted to call MultiTensorApply method, but MultiTensorApply is not available, possibly because Apex was "
    "installed without --cpp_ext --cuda_ext.  Original import error message:"
)
NO_HALF_OPTIMIZER = (
    "Wrapped parameters must be either torch.cuda.FloatTensor or torch.cuda.HalfTensor. Received "
    "torch.npu.FloatTensor; on an npu use apex.amp with opt_level='O1' or 'O2'"
)


@pytest.fixture(scope="module")
def found(scripts: Scripts) -> dict[str, Any]:
    run = scripts(SCRIPT.read_text(encoding="utf-8"), environment={"DRYNPU_AUTOLOAD": "1"})
    answers: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return answers


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_those_of_float32(found: dict[str, Any], name: str) -> None:
    """Four steps across ``load_state_dict``; the gradients have the 11 bits of float16."""
    cases = dict(found[name])
    plain = np.array(cases.pop("plain"))
    assert len(cases) == 4
    assert np.abs(plain - found["start"]).max() > 0.015, "the steps are larger than what is tolerated"
    for case, weights in cases.items():
        np.testing.assert_allclose(weights, plain, atol=6e-3, err_msg=case)
    np.testing.assert_allclose(cases["O2 True"], cases["O2 False"], atol=1e-3)
    np.testing.assert_allclose(cases["O1 True"], cases["O1 False"], atol=1e-5)


def test_buffers_hold_each_type(found: dict[str, Any]) -> None:
    early, gradients, values, masks, is_whole = found["buffers"]
    assert early == []
    assert gradients == [[PARAMETERS_OF_LINEAR, "torch.float16"], [PARAMETERS_OF_NORM, "torch.float32"]]
    assert values == masks == [PARAMETERS_OF_LINEAR, PARAMETERS_OF_NORM]
    assert is_whole


def test_optimizers_of_a_models_own_find_the_buffers(found: dict[str, Any]) -> None:
    """Both are plain gradient descent."""
    standing, deriving, plain = found["own"]
    np.testing.assert_allclose(standing, plain, atol=1e-6)
    np.testing.assert_allclose(deriving, plain, atol=1e-6)
    assert np.abs(np.array(plain) - found["start"]).max() > 1e-3


def test_what_needs_amp_or_nvidias_kernels_says_so(found: dict[str, Any], native: bool) -> None:
    assert found["said"] == [
        "RuntimeError: apex.optimizers.NpuFusedSGD should be used with AMP.",
        *(
            f"RuntimeError: apex.optimizers.{name} requires cuda extensions"
            for name in ("FusedAdam", "FusedSGD", "FusedLAMB", "FusedNovoGrad", "FusedAdagrad")
        ),
        "RuntimeError: Currently, npu fused optimizer can only be used when opt_level='O1' or opt_level='O2'",
        f"RuntimeError: {NO_KERNELS}",
        f"TypeError: {NO_HALF_OPTIMIZER if native else NO_HALF_OPTIMIZER.replace('torch.npu', 'torch')}",
        "ModuleNotFoundError: No module named 'fused_layer_norm_cuda'",
    ]
    assert found["schedules"] == ["warmup_constant", "warmup_cosine", "warmup_linear", "warmup_poly"]
