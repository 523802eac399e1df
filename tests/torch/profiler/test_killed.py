"""A process that is killed leaves what it had written, readable; what is missing is said."""

from __future__ import annotations

import functools
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import os
import signal
import sys

import torch
import torch_npu
from torch_npu import profiler

when = int(sys.argv[1])
replace, calls = os.replace, []


def counted(source, target, **options):
    calls.append(os.path.basename(target))
    if len(calls) == when:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target, **options)


os.replace = os.rename = counted
weight = torch.nn.Parameter(torch.ones(32, 32, device="npu:0"))
with profiler.profile(
    schedule=profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
    on_trace_ready=profiler.tensorboard_trace_handler("out"),
    experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
    profile_memory=True,
) as prof:
    for _ in range(3):
        (weight @ weight).relu().sum().backward()
        prof.step()
with open("order.txt", "w") as file:
    file.write("\\n".join(calls))
"""

IN_TRAINING = """
import sys
import time

import torch
import torch_npu
from torch_npu import profiler

with profiler.profile(
    schedule=profiler.schedule(wait=0, warmup=1, active=1, repeat=2),
    on_trace_ready=profiler.tensorboard_trace_handler("out"),
) as prof:
    for step in range(4):
        torch.ones(32, 32, device="npu:0").exp().sum().item()
        if step == 3:
            print("in the second recording", flush=True)
            time.sleep(120)
        prof.step()
"""

NOT_COMPLETE = "profiler_info*.json is missing: the recording was not written to its end"
KILLED = -signal.SIGKILL


@pytest.fixture(scope="module")
def analyze(scripts: Any) -> Any:
    """Run ``drynpu analyze`` on a path; what it says must be for a reader, not a traceback."""
    drynpu = Path(sys.executable).with_name("drynpu")

    def run(path: Path) -> tuple[int, str]:
        _folder, process = scripts.start(path, program=(str(drynpu), "analyze"))
        stdout, stderr = process.communicate(timeout=120)
        assert "Traceback" not in stdout + stderr
        return process.returncode, stdout + stderr

    return run


@pytest.fixture(scope="module")
def order(scripts: Any) -> list[str]:
    """Names of the files in the order in which they appear."""
    run = scripts(SCRIPT, "0", environment={"DRYNPU_QUIET": "1"})
    return list((run.folder / "order.txt").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def killed(scripts: Any, order: list[str]) -> dict[str, Any]:
    """Return runs that ended just before the file of that name appeared."""
    names = ["torch.op_mark", "info.json.0", "unaging.api_event.data.slice_0", "stars_soc.data.0.slice_0"]
    names += ["profiler_info.json", "profiler_metadata.json", "kernel_details.csv"]
    calls = [functools.partial(scripts, SCRIPT, str(order.index(name) + 1), status=KILLED) for name in names]
    return dict(zip(names, scripts.together(*calls), strict=True))


def test_files_appear_from_the_raw_data_to_the_deliverables(order: list[str]) -> None:
    places = [
        order.index(name)
        for name in ("torch.op_range", "stars_soc.data.0.slice_0", "profiler_info.json", "kernel_details.csv")
    ]
    assert places == sorted(places)
    assert order[-2:] == ["analyse.done", "ASCEND_PROFILER_OUTPUT"]  # all deliverables at once
    assert not [name for name in order if name.endswith(".tmp")]


@pytest.mark.parametrize("name", ["torch.op_mark", "info.json.0", "unaging.api_event.data.slice_0"])
def test_without_the_device_side_the_host_is_shown_and_the_rest_is_said(
    killed: dict[str, Any], analyze: Any, name: str
) -> None:
    output = killed[name].output("out")
    assert not output.folder.exists()
    status, said = analyze(output.path)
    assert status == 0, said
    assert "Top kernels" not in said
    assert NOT_COMPLETE in said


def test_device_data_that_was_cut_off_is_noted(killed: dict[str, Any], analyze: Any) -> None:
    output = killed["stars_soc.data.0.slice_0"].output("out")
    status, said = analyze(output.path)
    assert status == 0, said
    assert NOT_COMPLETE in said


@pytest.mark.parametrize("name", ["profiler_info.json", "profiler_metadata.json", "kernel_details.csv"])
def test_with_all_raw_data_the_deliverables_are_made_offline(killed: dict[str, Any], analyze: Any, name: str) -> None:
    output = killed[name].output("out")
    status, said = analyze(output.path)
    assert status == 0, said
    assert "Top kernels" in said
    assert {"kernel_details.csv", "trace_view.json", "operator_memory.csv", "analyse.done"} <= output.files
    assert [row["Step"] for row in output.rows("step_trace_time.csv")] == ["1", "2"]
    assert len(output.rows("kernel_details.csv")) > 10
    assert not [entry.name for entry in output.folder.iterdir() if entry.name.endswith(".tmp")]


def test_a_kill_while_training_leaves_earlier_recordings_whole(scripts: Any, analyze: Any) -> None:
    folder, process = scripts.start(IN_TRAINING)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("in the second"):
            break
    process.kill()
    process.communicate()
    directories = sorted((folder / "out").iterdir())
    assert len(directories) == 2
    assert (directories[0] / "ASCEND_PROFILER_OUTPUT" / "analyse.done").is_file()
    assert list(directories[1].iterdir()) == []
    status, said = analyze(directories[1])
    assert status != 0
    assert "no profile in" in said
    status, said = analyze(folder / "out")
    assert status == 0
    assert "Top kernels" in said
