"""``torch_npu.testing``: a test file as upstream writes them, and what its comparisons let through."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("testing_script.py")

FAILING = {
    "test_a_wrong_number",
    "test_a_wrong_type",
    "test_a_wrong_shape",
    "test_not_a_number_elsewhere",
    "test_numbers_too_far_apart",
    "test_equal_numbers_are_not_unequal",
    "test_infinity_is_refused",
}


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"DRYNPU_QUIET": "1", "KINETO_LOG_LEVEL": "99"}
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.slow
def test_right_results_pass_and_wrong_ones_fail() -> None:
    done = _run("-v")
    results = [line.rsplit(" ... ", 1) for line in done.stderr.splitlines() if " ... " in line]
    outcomes = {name.split()[0]: outcome for name, outcome in results}
    assert {name for name, outcome in outcomes.items() if outcome == "FAIL"} == FAILING, done.stderr
    assert not [name for name, outcome in outcomes.items() if outcome == "ERROR"], done.stderr
    skipped = {name: outcome for name, outcome in outcomes.items() if outcome.startswith("skipped")}
    assert set(skipped) == {"test_another_series", "test_a_later_release", "test_more_devices"}
    assert "Only run on ['Ascend910A'], current device is Ascend910B." in skipped["test_another_series"]
    generated = {name for name in outcomes if name.startswith("test_each_")}
    assert generated == {f"test_each_{dtype}_{number}" for dtype in ("float16", "int32") for number in (2, 29)}
    assert done.returncode == 1


@pytest.mark.slow
def test_one_test_runs_alone() -> None:
    done = _run("TestComparisons.test_about_equal")
    assert done.returncode == 0, done.stderr
    assert "Ran 1 test" in done.stderr
