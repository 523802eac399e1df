"""``drynpu check`` of scripts with planted mistakes, each of which has to be found at its line, and of clean ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]
EXAMPLE = ROOT / "examples" / "torch" / "train_gpt.py"

TRAINING = """
import numpy as np
import torch
import torch_npu

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).npu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
config = torch_npu.profiler._ExperimentalConfig(  # metric
    profiler_level=torch_npu.profiler.ProfilerLevel.Level0,
    aic_metrics=torch_npu.profiler.AiCMetrics.PipeUtilization,
)
prof = torch_npu.profiler.profile(  # profiler
    schedule=torch_npu.profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
    experimental_config=config,
)
prof.start()
scale = torch.from_numpy(np.linspace(0.5, 1.5, 64)).npu()
for step in range(20):
    x = torch.randn(16, 64).npu()
    scaled = (x * scale).float()  # double
    out = model(scaled)
    if out.mean() > 2.0:  # condition
        pass  # without values the branch means nothing
    loss = out.square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("loss", loss)  # printed
    for row in range(3):
        out[row, 0].item()  # item
    host = out.cpu()  # cpu
    torch.npu.synchronize()  # synchronize
prof.stop()
open("ended", "w").close()
"""
MIXED = """
import torch, torch_npu

def combine(x, y):
    return x + y  # mixed

combine(torch.ones(4).npu(), torch.ones(4))
"""
SHORT = """
import torch, torch_npu
model = torch.nn.Linear(8, 8).npu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with torch_npu.profiler.profile(  # profiler
    schedule=torch_npu.profiler.schedule(wait=2, warmup=1, active=2, repeat=1, skip_first=3),
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("taken/prof"),  # handler
) as prof:
    for i in range(4):
        model(torch.ones(2, 8).npu()).sum().backward()
        optimizer.step()
        prof.step()
"""
RANKS = """
import torch, torch_npu
model = torch.nn.Linear(8, 8).npu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with torch_npu.profiler.profile(
    schedule=torch_npu.profiler.schedule(wait=0, warmup=1, active=1),
    on_trace_ready=lambda prof: prof.export_chrome_trace("trace.json"),  # export
) as prof:
    for i in range(8):
        model(torch.ones(2, 8).npu()).sum().backward()
        optimizer.step()
        prof.step()
"""
INFERENCE = """
import torch, torch_npu
x = torch.randn(8, 64).npu()
print(torch.nn.Linear(64, 64).npu()(x))  # printed
x.double().exp()  # double
"""


@frozen
class Checked:
    """What a check said."""

    status: int
    document: dict[str, Any]
    folder: Path
    text: str

    def line(self, mark: str) -> int:
        """Return the line of the script that ends with a mark."""
        return next(i for i, line in enumerate(self.text.splitlines(), 1) if line.endswith(f"# {mark}"))

    def lines(self, name: str) -> list[int]:
        """Return the lines of the mistakes of a rule."""
        return sorted(each["line"] for each in self.document["mistakes"] if each["name"] == name)

    def only(self, name: str, line: int | None = None) -> dict[str, Any]:
        """Return the one mistake of a rule, at a line if it is given."""
        (found,) = [each for each in self.document["mistakes"] if each["name"] == name and line in (None, each["line"])]
        assert isinstance(found, dict)
        return found

    @property
    def errors(self) -> list[str]:
        """Names of the mistakes that are errors."""
        return sorted(each["name"] for each in self.document["mistakes"] if each["level"] == "error")


Check = Callable[..., Checked]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    def call(script: str | Path, *options: str, before: tuple[str, ...] = (), after: tuple[str, ...] = ()) -> Checked:
        text = script.read_text() if isinstance(script, Path) else script
        path = script if isinstance(script, Path) else tmp_path / "script.py"
        if isinstance(script, str):
            path.write_text(text)
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("DRYNPU_", "ASCEND_", "RANK"))
        }
        done = subprocess.run(
            [sys.executable, "-m", "drynpu", "check", "--json", *options, *before, str(path), *after],
            env={**kept, "DRYNPU_DEVICE": "native"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.startswith("{"), done.stderr[-4000:]
        return Checked(done.returncode, json.loads(done.stdout), tmp_path, text)

    return call


def test_planted_mistakes_of_a_training_are_found_at_their_lines(check: Check) -> None:
    found = check(TRAINING)
    assert found.status == 1
    assert (found.document["steps"], found.document["ended_by_limit"]) == (5, True)
    assert found.errors == ["handler-missing", "step-never-called"]
    assert found.lines("handler-missing") == found.lines("step-never-called") == [found.line("profiler")]
    assert "5 steps" in found.only("step-never-called")["evidence"]
    assert found.lines("option") == [found.line("metric")]
    assert found.lines("float64") == found.lines("ai-cpu") == [found.line("double")]
    assert "aten::mul x1" in found.only("float64")["evidence"]
    marks = ("condition", "printed", "item", "cpu", "synchronize")
    assert found.lines("host-waits") == [found.line(mark) for mark in marks]
    assert found.only("host-waits", found.line("item"))["evidence"].startswith("3 times a step")
    waits = {mark: found.only("host-waits", found.line(mark))["cost_us"] for mark in marks}
    assert all(cost > 0 for cost in waits.values())
    assert waits["item"] == pytest.approx(3 * waits["cpu"], rel=0.5)
    # It ended where it was told to: not at the end of the script, and nothing was recorded there.
    assert sorted(path.name for path in found.folder.iterdir()) == ["script.py"]


def test_the_line_at_which_two_devices_meet(check: Check) -> None:
    found = check(MIXED)
    assert (found.status, found.errors) == (1, ["mixed-devices"])
    assert found.lines("mixed-devices") == [found.line("mixed")]
    assert "npu:0 and cpu" in found.only("mixed-devices")["evidence"]


def test_a_schedule_that_is_longer_than_the_run_and_a_path_that_is_none(check: Check, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    found = check(SHORT)
    assert found.errors == ["never-records", "not-writable"]
    assert found.lines("never-records") == [found.line("profiler")]
    assert "the run has 4 steps" in found.only("never-records")["evidence"]
    assert found.lines("not-writable") == [found.line("handler")]
    assert (found.document["ended_by_limit"], found.document["steps"]) == (False, 4)


def test_ranks_that_export_to_one_file(check: Check) -> None:
    found = check(RANKS, before=("-m", "torch.distributed.run", "--nproc-per-node", "2"))
    assert found.errors == ["ranks-overwrite"]
    assert found.lines("ranks-overwrite") == found.lines("export-overwritten") == [found.line("export")]
    assert not (found.folder / "trace.json").exists()


def test_a_script_without_steps_is_recorded_as_a_whole(check: Check) -> None:
    found = check(INFERENCE)
    assert (found.status, found.document["steps"], found.errors) == (0, 0, [])
    assert found.lines("host-waits") == [found.line("printed")]
    assert found.lines("float64") == [found.line("double")]


def test_a_clean_example_has_no_errors_and_arguments_reach_it(check: Check) -> None:
    found = check(EXAMPLE, "--steps", "8", after=("--output", "elsewhere"))
    assert (found.status, found.errors) == (0, [])
    assert not [each for each in found.document["mistakes"] if each["level"] == "warning"]
    assert found.document["step_us"] == pytest.approx(19_000, rel=0.25)  # as make demo shows it
    assert found.document["kernels_per_step"] == 155
    assert "elsewhere" in found.only("relative-path")["evidence"]
    assert not (found.folder / "elsewhere").exists()
    steps = check(EXAMPLE, "--steps", "3")
    assert (steps.status, steps.errors) == (1, ["never-records"])


def test_a_script_of_one_step_is_recorded_too(check: Check) -> None:
    found = check(SHORT.replace("range(4)", "range(1)").replace("taken/prof", "prof"))
    assert (found.document["steps"], found.document["ended_by_limit"], found.errors) == (1, False, ["never-records"])
    assert found.document["kernels_per_step"] > 0
