"""``torch_npu.utils.profiler.Profile``: the step that was asked for is recorded, then the script ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

SCRIPT = """
import sys
import torch, torch_npu
from torch_npu.utils.profiler import Profile

options = eval(sys.argv[1])
prof = Profile(**options)
assert Profile(start_step=1, profile_type="TORCH") is prof
weight = torch.ones(32, 32, requires_grad=True, device="npu")
for step in range(1, 6):
    prof.start()
    loss = (weight @ weight).relu().sum() if step == 3 else (weight + step).sum()
    loss.backward()
    print("step", step, loss.item())
    prof.end()
print("done")
"""
MISUSED = """
import torch_npu
from torch_npu.utils.profiler import Profile

def said(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"

prof = Profile()
print(said(prof.end))
prof.start()
print(said(prof.start))
prof.end()
from drynpu_torch.profiler import StepProfile
print(said(lambda: StepProfile(profile_type="TORCH", activities=1)))
print(said(lambda: StepProfile(profile_type="ASCEND_PROFILER", with_flops=True)))
open("file", "w").close()
print(said(lambda: StepProfile(profile_type="TORCH", save_path="file")))
"""


def steps(stdout: str) -> list[str]:
    return [line for line in stdout.splitlines() if line.startswith(("step", "done"))]


def test_the_result_is_that_of_one_step(scripts: Callable[..., Any]) -> None:
    run = scripts(SCRIPT, "{'start_step': 3, 'profile_type': 'ASCEND_PROFILER', 'save_path': 'here'}")
    assert (run.status, steps(run.stdout)) == (0, ["step 1 2048.0", "step 2 3072.0", "step 3 32768.0"])
    output = run.output("here")
    kinds = [row["Type"] for row in output.rows("kernel_details.csv")]
    assert kinds.count("MatMulV2") == 3, "the product and its two gradients"
    assert "Relu" in kinds
    shapes = {row["Input Shapes"] for row in output.rows("kernel_details.csv") if row["Type"] == "MatMulV2"}
    assert shapes == {'"32,32;32,32"'}
    config = output.document("profiler_info*.json")["config"]
    assert config["experimental_config"]["_profiler_level"] == "Level2"
    assert config["common_config"]["record_shapes"] is True


def test_pytorchs_own_trace_of_one_step(scripts: Callable[..., Any]) -> None:
    options = "{'start_step': 2, 'profile_type': 'TORCH', 'save_path': 'there', 'record_shapes': True}"
    run = scripts(SCRIPT, options, environment={"KINETO_LOG_LEVEL": "99"})
    assert (run.status, steps(run.stdout)) == (0, ["step 1 2048.0", "step 2 3072.0"])
    (path,) = (run.folder / "there").iterdir()
    assert path.name.startswith("torch_prof_20")
    names = {event.get("name") for event in json.loads(path.read_text())["traceEvents"]}
    assert {"aten::add", "aten::sum"} <= names
    assert "aten::mm" not in names


def test_nothing_is_recorded_by_default(scripts: Callable[..., Any]) -> None:
    run = scripts(SCRIPT, "{'start_step': 2}")
    assert (run.status, steps(run.stdout)[-1], len(steps(run.stdout))) == (0, "done", 6)
    assert run.outputs("npu_profiling") == []


def test_misuse_is_refused_in_the_vendors_words(scripts: Callable[..., Any]) -> None:
    said = scripts(MISUSED).stdout
    assert "RuntimeError: start interface must be called after end" in said
    assert "RuntimeError: start interface can only be called once" in said
    assert "ValueError: Args 'dict_keys(['activities'])' invaild, expect args" in said
    assert "ValueError: Args 'dict_keys(['with_flops'])' invaild, expect args" in said
    assert "ValueError: the path of 'file' is invaild." in said
