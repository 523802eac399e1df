"""Objects of the script that raise when they are looked at: every option records beside each of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("awkward_objects.py")
KINDS = ("class_raises", "instances_raise", "tensor_raises", "references", "collected", "module_raises")
OPTIONS = ("with_stack", "profile_memory", "data_process", "hbm_ddr", "pcie")


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts.simulated(SCRIPT, environment={"DRYNPU_QUIET": "1"})


def kernels(run: Any, folder: str) -> list[str]:
    (output,) = run.runs(folder)
    with (output / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(encoding="utf-8", newline="") as file:
        return [row["Name"] for row in csv.DictReader(file)]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_training_and_recording_are_the_same_beside_it(run: Any, kind: str, option: str) -> None:
    losses = json.loads(next(line for line in run.stdout.splitlines() if line.startswith("losses=")).partition("=")[2])
    assert losses[f"{kind}-{option}"] == losses[f"nothing-{option}"]
    assert len(kernels(run, f"{kind}-{option}")) == len(kernels(run, f"nothing-{option}")) > 1


def test_nothing_was_lost(run: Any) -> None:
    assert "cannot be recorded" not in run.stderr
