"""TASK_QUEUE_ENABLE and ASCEND_LAUNCH_BLOCKING: which thread launches, and what it waits for."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import torch
import torch_npu
from torch_npu import profiler

model = torch.nn.Sequential(torch.nn.Linear(96, 160), torch.nn.GELU(), torch.nn.Linear(160, 32)).npu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = torch.ones(64, 96).npu()
with profiler.profile(
    schedule=profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
    on_trace_ready=profiler.tensorboard_trace_handler("out"),
    experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
    record_shapes=True,
) as prof:
    for step in range(3):
        model(rows).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        prof.step()
"""
SETTINGS = {
    "queue": {},
    "workspace": {"TASK_QUEUE_ENABLE": "2"},
    "caller": {"TASK_QUEUE_ENABLE": "0"},
    "waits": {"ASCEND_LAUNCH_BLOCKING": "1", "TASK_QUEUE_ENABLE": "2"},
    "wall": {"TASK_QUEUE_ENABLE": "0", "DRYNPU_CLOCK": "wall"},
    "none": {"TASK_QUEUE_ENABLE": "3"},
}
WAITS = "aclrtSynchronizeStreamWithTimeout"


@pytest.fixture(scope="module")
def runs(scripts: Any) -> dict[str, Any]:
    found = scripts.together(
        *(lambda settings=settings: scripts(SCRIPT, environment=settings) for settings in SETTINGS.values())
    )
    return dict(zip(SETTINGS, found, strict=True))


def kernels(run: Any) -> list[tuple[str, str]]:
    return [(row["Name"], row["Step Id"]) for row in run.output("out").rows("kernel_details.csv")]


def calls(run: Any, name: str) -> int:
    rows = run.output("out").rows("api_statistic.csv")
    return sum(int(row["Count"]) for row in rows if row["API Name"] == name)


def threads(run: Any, layer: str, name: str) -> set[int]:
    return {e["tid"] for e in run.output("out").layer(layer) if name in e["name"]}


def test_the_device_does_the_same_whoever_launches(runs: dict[str, Any]) -> None:
    assert len(kernels(runs["queue"])) > 20
    for run in runs.values():
        assert kernels(run) == kernels(runs["queue"])
        # Each kernel is linked to its operator, with a queue or by time alone (torch_npu_profiler.md 5.3).
        arrows = [e for e in run.output("out").trace if e.get("cat") == "async_npu" and e["ph"] == "f"]
        assert len(arrows) >= len(kernels(run))


@pytest.mark.parametrize(
    ("name", "queued"), [("queue", True), ("workspace", True), ("caller", False), ("waits", False)]
)
def test_a_queue_is_recorded_where_there_is_one(runs: dict[str, Any], name: str, queued: bool) -> None:
    output = runs[name].output("out")
    kinds = {e.get("cat") for e in output.trace}
    assert (output.path / "FRAMEWORK" / "torch.op_mark").exists() == queued
    assert ("enqueue" in kinds, "dequeue" in kinds, "async_task_queue" in kinds) == (queued,) * 3


def test_who_launches(runs: dict[str, Any]) -> None:
    calling = {name: {e["tid"] for e in run.output("out").operators()} for name, run in runs.items()}
    for name in ("caller", "waits"):
        assert threads(runs[name], "CANN", "aclnn") <= calling[name]
    for name in ("queue", "workspace"):
        launching = threads(runs[name], "CANN", "KernelLaunch")
        assert len(launching) == 1
        assert not launching & calling[name]
    (second,) = threads(runs["workspace"], "CANN", "KernelLaunch")
    assert threads(runs["workspace"], "CANN", "GetWorkspaceSize") == {second}
    assert threads(runs["queue"], "CANN", "GetWorkspaceSize") <= calling["queue"]


def test_who_waits(runs: dict[str, Any]) -> None:
    launches = calls(runs["waits"], "KernelLaunchWithHandle")
    assert calls(runs["waits"], WAITS) > 0.8 * launches, (
        "a copy is launched without a kernel, an operator may launch two"
    )
    assert calls(runs["caller"], WAITS) == calls(runs["queue"], WAITS)
    workspace, queue, waits = (
        sum(
            float(row["Computing"]) + float(row["Free"]) for row in runs[name].output("out").rows("step_trace_time.csv")
        )
        for name in ("workspace", "queue", "waits")
    )
    assert workspace < queue < waits


def test_what_is_not_shown_is_said(runs: dict[str, Any]) -> None:
    said = {name: " ".join(run.stdout.split()) for name, run in runs.items()}
    assert "note: TASK_QUEUE_ENABLE is not shown on the clock wall" in said["wall"]
    assert "note: TASK_QUEUE_ENABLE should be 0, 1 or 2, not '3'" in said["none"]
    assert "note: TASK_QUEUE_ENABLE" not in said["caller"]
