"""Steps of a recording that raise: each costs what it gathers, one line names it, and the kernels are there."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("lost_parts.py")
RECORDING = "drynpu_mindspore.recording._mindspore_recording"
STEPS = {
    f"{RECORDING}:model_memory": "allocations of memory (profile_memory)",
    f"{RECORDING}:find_collectives": "collectives",
    f"{RECORDING}:find_runs": "iterations of graphs",
    f"{RECORDING}:graph_runs": "iterations of graphs",
    f"{RECORDING}:write_pipeline": "the data pipeline (data_process)",
    f"{RECORDING}:MindSporeRecording._write_metadata": "the metadata",
    "drynpu_mindspore.capture._host_events:HostEventCapture.start": "events of the host",
    "drynpu_mindspore.capture._host_events:HostEventCapture.stop": "events of the host",
    "drynpu.recorder._recorder:HostSampler.start": "the metrics of the host",
    "drynpu.recorder._recorder:HostSampler.stop": "the metrics of the host",
}
ENDING = "cannot be recorded, everything else is: ZeroDivisionError('for this test')"


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts.simulated(SCRIPT, *STEPS, environment={"DRYNPU_QUIET": "1"})


def kernels(run: Any, folder: str) -> list[str]:
    (output,) = run.runs(folder)
    with (output / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(encoding="utf-8", newline="") as file:
        return [row["Name"] for row in csv.DictReader(file)]


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_raises_costs_its_part_alone(run: Any, step: str) -> None:
    assert run.stdout.splitlines()[-1] == "trained to the end"
    _, _, said = run.stderr.partition(f"[drynpu] begin {step}\n")
    said = said.partition("[drynpu] begin ")[0]
    assert [line for line in said.splitlines() if "cannot" in line] == [f"[drynpu] {STEPS[step]} {ENDING}"]
    assert kernels(run, str(list(STEPS).index(step))) == kernels(run, "whole")
