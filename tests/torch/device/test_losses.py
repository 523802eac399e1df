"""Training on the simulated npu computes exactly what PyTorch computes on the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("training_script.py")


def _losses(device: str) -> dict[str, list[str]]:
    environment = os.environ | {"KINETO_LOG_LEVEL": "99", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), device], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def losses() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return (plain CPU, simulated npu), each from a process of its own."""
    return _losses("cpu"), _losses("npu")


@pytest.mark.parametrize("model", ["mlp", "conv", "transformer"])
@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
@pytest.mark.parametrize("form", ["loop", "foreach", "fused", "default"])
def test_losses_equal_a_plain_cpu_run_bit_for_bit(
    losses: tuple[dict[str, list[str]], dict[str, list[str]]], model: str, optimizer: str, form: str
) -> None:
    cpu, npu = (side[f"{model} {optimizer} {form}"] for side in losses)
    assert npu == cpu
    assert len(set(cpu)) == 4, "the model must learn, or equal losses say nothing"


def test_the_scaler_equals_a_plain_cpu_run_and_autocast_does_with_the_lists_of_the_cpu(
    losses: tuple[dict[str, list[str]], dict[str, list[str]]], native: bool
) -> None:
    cpu, npu = (side["scaled bfloat16"] for side in losses)
    assert npu[1::2] == cpu[1::2], "scales"
    if not native:  # the native device has the NPU's lists of operators, which lower others than the CPU's
        assert npu == cpu
    assert float.fromhex(cpu[-1]) == 512.0, "two growths of the scale in four steps"
