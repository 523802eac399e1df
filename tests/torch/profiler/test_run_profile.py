"""``drynpu run --profile``: a script without any profiler code leaves a profile."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

DRYNPU = Path(sys.executable).with_name("drynpu")
TRAIN = """
import torch
from torch import nn
torch.manual_seed(0)
device = "npu" if hasattr(torch, "npu") else "cpu"
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
optimizer, other = (torch.optim.Adam(model.parameters(), lr=lr) for lr in (1e-3, 1e-4))
for step in range(7):
    loss = model(torch.randn(8, 16).to(device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    other.step()
    print(f"loss {loss.item():.9f}")
"""
INFER = """
import torch
with torch.no_grad():
    for _ in range(3):
        torch.nn.functional.linear(torch.ones(4, 8, device="npu"), torch.ones(2, 8, device="npu"))
"""


def run(scripts: Any, text: str, *options: str, status: int = 0) -> Any:
    program = (str(DRYNPU), "run", *options)
    return scripts(text, program=program, environment={"DRYNPU_QUIET": "1"}, status=status)


def losses(text: str) -> list[str]:
    return re.findall(r"^loss (\S+)$", text, re.MULTILINE)


@pytest.fixture(scope="module")
def runs(scripts: Any) -> dict[str, Any]:
    names = ("window", "from the start", "cut", "too far", "whole")
    calls = [
        lambda: run(scripts, TRAIN, "--profile"),
        lambda: run(scripts, TRAIN, "--profile-steps", "0:2", "--profile-output", "a/b"),
        lambda: run(scripts, TRAIN, "--profile-steps", "5:9"),
        lambda: run(scripts, TRAIN, "--profile-steps", "8:1"),
        lambda: run(scripts, INFER, "--profile-steps", "all"),
    ]
    return dict(zip(names, scripts.together(*calls), strict=True))


@pytest.mark.parametrize(
    ("name", "folder", "steps"),
    [
        ("window", "profile_out", ["2", "3", "4"]),
        ("from the start", "a/b", ["0", "1"]),
        ("cut", "profile_out", ["5", "6", "7"]),  # step 7: what is left after the last step of the clock
    ],
)
def test_the_steps_asked_for_are_recorded(runs: dict[str, Any], name: str, folder: str, steps: list[str]) -> None:
    output = runs[name].output(folder)
    assert [row["Step"] for row in output.rows("step_trace_time.csv")] == steps
    marks = [e["name"] for e in output.operators() if e["name"].startswith("ProfilerStep#")]
    assert marks == [f"ProfilerStep#{step}" for step in steps]
    kernels = output.rows("kernel_details.csv")
    assert {row["Step Id"] for row in kernels} == set(steps)


def test_a_step_ends_after_its_optimizer_and_the_second_optimizer_is_no_clock(runs: dict[str, Any]) -> None:
    operators = runs["window"].output("profile_out").operators()
    ranges = [e for e in operators if e["name"].startswith("ProfilerStep#")]
    optimizers = [e for e in operators if e["name"] == "Optimizer.step#Adam.step"]
    # The recording begins and ends right after a step of the clock: one of the other comes first, none last.
    assert len(optimizers) == 2 * len(ranges)
    for event in optimizers:
        begin, end = float(event["ts"]), float(event["ts"]) + float(event["dur"])
        assert [r for r in ranges if float(r["ts"]) <= begin and end <= float(r["ts"]) + float(r["dur"])], event


def test_the_whole_run_has_no_steps(runs: dict[str, Any]) -> None:
    output = runs["whole"].output("profile_out")
    assert [row["Type"] for row in output.rows("kernel_details.csv")].count("MatMulV2") == 3
    assert "Step Id" not in output.columns("kernel_details.csv")


def test_nothing_recorded_says_why(runs: dict[str, Any]) -> None:
    assert not (runs["too far"].folder / "profile_out").exists()
    (message,) = runs["too far"].said("WARNING")
    assert "7 optimizer steps were made in this process, and 8 are skipped" in message


def test_a_script_that_uses_no_npu_is_told(scripts: Any, native: bool) -> None:
    program = (str(DRYNPU), "run", "--profile-steps", "all")
    ended = scripts(INFER.replace(', device="npu"', ""), program=program)
    files = ended.output("profile_out").files
    # The sink cannot tell the host's operators from the npu's.
    assert ("kernel_details.csv" in files) == (not native)
    note = "note: nothing ran on the npu: the script's tensors are on the host; move model and data to it with"
    assert (note in ended.stdout) == native


def test_a_script_that_does_not_train_is_told(scripts: Any) -> None:
    ended = run(scripts, INFER, "--profile")
    assert not (ended.folder / "profile_out").exists()
    (message,) = ended.said("WARNING")
    assert "0 optimizer steps" in message
    assert "--profile-steps all" in message


def test_a_launcher_of_other_processes_is_not_told(scripts: Any) -> None:
    launched = run(scripts, "", "--profile", "-m", "torch.distributed.run", "--help")
    assert "nproc" in launched.stdout
    assert launched.said("WARNING", "ERROR") == []


def test_a_process_that_only_started_others_leaves_nothing(scripts: Any, native: bool) -> None:
    """As LLaMA-Factory's command does, which computes a little on the host before it starts torchrun."""
    if not native:
        pytest.skip("the sink cannot tell the host's operators from the npu's")
    start = f"import subprocess, sys, torch\ntorch.ones(3).sum()\nsubprocess.run([sys.executable, '-c', {INFER!r}])"
    ended = run(scripts, start, "--profile-steps", "all")
    (profile,) = ended.folder.glob("**/*_ascend_pt")
    assert (profile / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").is_file()


def test_a_process_that_gave_its_memory_back_is_not_one_of_those(scripts: Any) -> None:
    back = "import torch_npu\ntorch.npu.empty_cache()\ntorch.npu.reset_peak_memory_stats()"
    start = f"{INFER}\n{back}\nimport subprocess, sys\nsubprocess.run([sys.executable, '-c', {INFER!r}])"
    ended = run(scripts, start, "--profile-steps", "all")
    assert len(list(ended.folder.glob("**/*_ascend_pt"))) == 2


def test_a_script_without_operators_leaves_nothing(scripts: Any) -> None:
    ended = run(scripts, "import torch", "--profile", "--profile-steps", "all")
    assert not list(ended.folder.glob("**/*_ascend_pt"))


def test_losses_are_those_of_the_script_alone(scripts: Any, runs: dict[str, Any]) -> None:
    plain = scripts(TRAIN, environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    assert len(losses(plain.stdout)) == 7
    assert losses(runs["window"].stdout) == losses(plain.stdout)
    assert not list(plain.folder.glob("profile_out"))


def test_a_window_that_is_none(scripts: Any) -> None:
    ended = run(scripts, TRAIN, "--profile-steps", "3", status=1)
    assert "--profile-steps: '3' is not SKIP:COUNT" in ended.stderr
    assert "Traceback" not in ended.stderr
