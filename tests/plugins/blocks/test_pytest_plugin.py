"""The pytest plugin: a suite of a user's tests is run by pytest in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """
import pytest
import torch
import torch_npu

model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)).npu()


def step():
    model(torch.ones(32, 256).npu()).sum().backward()


def test_budgets(npu_profile):
    with npu_profile:
        for _ in range(3):
            step()
            npu_profile.step()
        step()  # belongs to no step
    assert npu_profile.summary.steps.height == 3
    assert 0 < npu_profile.step_ms < 50
    assert npu_profile.kernels["MatMulV2"] > 0
    assert npu_profile.kernel_count == sum(npu_profile.kernels.values())
    assert 0 < npu_profile.kernel_ms < 50
    assert "TransData" not in npu_profile.kernels
    assert 256 * 256 * 4 < npu_profile.peak_memory < 2**30
    assert (npu_profile.path / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").is_file()


def test_a_block_without_steps(npu_profile):
    with npu_profile:
        step()
    assert npu_profile.step_ms > 0


def test_over_budget(npu_profile):
    with npu_profile:
        step()
        npu_profile.step()
    assert npu_profile.step_ms < 0.000001


def test_no_numbers_before_the_end(npu_profile):
    with pytest.raises(RuntimeError, match="before the block"):
        npu_profile.step_ms


def test_plain():
    step()


def test_nothing_on_the_npu():
    assert torch.ones(2).sum() == 2
"""
UNUSED = """
import sys

def test_nothing_of_drynpu_is_imported():
    assert [name for name in sys.modules if name == "drynpu" or name.startswith("drynpu.")] == []
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "test_suite.py").write_text(SUITE)
    return tmp_path


def run(folder: Path, *arguments: str, **environ: str) -> str:
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("DRYNPU_", "ASCEND_", "GITHUB_"))}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "drynpu_pytest",
        "-p",
        "no:dash",
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    done = subprocess.run(command, cwd=folder, env={**kept, **environ}, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.slow
def test_budgets_of_a_block(suite: Path) -> None:
    out = run(suite)
    assert "1 failed, 5 passed" in out, out
    assert "FAILED test_suite.py::test_over_budget" in out
    section = out.split(" npu profile ")[1]
    assert re.search(r"step \d+\.\d{3} ms, \d+ kernels, \d+\.\d{3} ms, peak \d+\.\d MB \(modelled\)", section)
    assert "MatMulV2 x" in section
    assert "npu profiles" not in out
    assert "Where the step time went" not in out
    assert sorted(path.name for path in suite.iterdir() if path.name[0] not in "._") == ["test_suite.py"]


@pytest.mark.slow
def test_every_test_is_recorded_and_listed(suite: Path) -> None:
    out = run(suite, "--npu-profile", "-k", "not over", GITHUB_STEP_SUMMARY=str(suite / "summary.md"))
    assert "5 passed" in out, out
    listed = out.split("npu profiles (times are modelled)")[1]
    names = re.findall(r"^test_suite\.py::(\w+): ", listed, re.MULTILINE)
    assert names == ["test_budgets", "test_a_block_without_steps", "test_plain"]
    assert len(list((suite / "npu_profiles").glob("test_suite.py_test_plain/*_ascend_pt"))) == 1
    table = (suite / "summary.md").read_text()
    assert table.startswith("### NPU profiles\n\n| test | step ms |")
    assert table.count("| `test_suite.py::") == 3


def test_it_costs_nothing_where_it_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "test_unused.py").write_text(UNUSED)
    assert "1 passed" in run(tmp_path)


def test_it_is_found_by_pytest() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\ndrynpu_pytest = "drynpu_blocks.pytest_plugin"' in text


@pytest.mark.slow
def test_a_baseline_is_written_and_checked(suite: Path) -> None:
    arguments = ("--npu-baseline", "npu.json", "-k", "budgets or without or plain")
    assert "2 tests written to" in run(suite, *arguments)
    text = (suite / "test_suite.py").read_text()
    (suite / "test_suite.py").write_text(
        text.replace("def step():\n", "def step():\n    torch.ones(4096).npu().sort()\n")
    )
    out = run(suite, *arguments)
    assert "2 failed, 1 passed" in out, out
    assert re.search(r"test_suite\.py::test_budgets is worse than .*npu\.json allows", out)
    assert re.search(r"kernels Sort\w*: 0 -> \d calls", out)
    assert "3 passed" in run(suite, *arguments, "--npu-baseline-update")


def test_an_update_without_a_file_is_refused(tmp_path: Path) -> None:
    assert "needs the file: --npu-baseline FILE" in run(tmp_path, "--npu-baseline-update")
