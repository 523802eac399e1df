"""Exceptions between two actions, bad environments and broken plugins: no recording is lost, no training ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

TRAINING = """
import torch
import torch_npu
from torch_npu.profiler import profile, schedule, tensorboard_trace_handler

write = tensorboard_trace_handler("out")
weight = torch.ones(32, 32).npu()
"""

INTERRUPTED = (
    TRAINING
    + """
def handler(prof):
    write(prof)
    seen.append(prof)
    if len(seen) == WHICH:
        raise ENDING("while the result was handled")


seen = []
prof = profile(schedule=schedule(wait=0, warmup=1, active=2, repeat=0), on_trace_ready=handler)
prof.start()
try:
    for step in range(7):
        (weight @ weight).relu().sum().item()
        prof.step()
except BaseException as error:
    print("caught", type(error).__name__)
prof.stop()
print("end")
"""
)


@pytest.mark.parametrize(("ending", "which"), [("KeyboardInterrupt", 1), ("SystemExit", 2), ("BaseException", 1)])
def test_a_finished_recording_outlives_an_exception_in_the_handler(scripts: Any, ending: str, which: int) -> None:
    run = scripts(INTERRUPTED.replace("ENDING", ending).replace("WHICH", str(which)))
    assert f"caught {ending}" in run.stdout
    assert "\nend\n" in run.stdout
    outputs = run.outputs("out")
    assert len(outputs) == which
    for output in outputs:
        assert matmuls(output) == 2
        assert "drynpu" in json.loads((Path(output) / "profiler_metadata.json").read_text())


def matmuls(output: Any) -> int:
    """Return the number of matrix products in a result."""
    return sum("MatMul" in row["Name"] for row in output.rows("kernel_details.csv"))


FAILING = (
    TRAINING
    + """
from drynpu.raw import ProfWriter

real = ProfWriter.write_dictionaries
calls = []


def write_dictionaries(self, *arguments):
    calls.append(self)
    if len(calls) == 1:
        raise KeyboardInterrupt
    real(self, *arguments)


ProfWriter.write_dictionaries = write_dictionaries
prof = profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=0), on_trace_ready=write)
prof.start()
for step in range(6):
    try:
        for _ in range(step + 1):
            (weight @ weight).relu()
        torch.npu.synchronize()
        prof.step()
    except KeyboardInterrupt:
        print("interrupted in step", step)
prof.stop()
"""
)


def test_a_recording_after_a_failed_write_has_a_directory_of_its_own(scripts: Any) -> None:
    run = scripts(FAILING)
    assert "interrupted in step 1" in run.stdout
    written = [output for output in run.outputs("out") if list(Path(output).glob("PROF_*"))]
    assert [len(list(Path(output).glob("PROF_*"))) for output in written] == [1, 1]
    # Steps 1, 3 and 5 are recorded; the first of them could not be written and is not mixed with another.
    assert [matmuls(output) for output in written] == [4, 6]
    assert any("could not be written" in line and line.endswith("is lost.") for line in run.said("ERROR"))


PLAIN = (
    TRAINING
    + """
with profile(on_trace_ready=write):
    print("sum", (weight @ weight).relu().sum().item())
"""
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("DRYNPU_SEED", "abc"),
        ("DRYNPU_DEVICES", "many"),
        ("DRYNPU_CLOCK", "sundial"),
        ("DRYNPU_STRICT", "maybe"),
        ("DRYNPU_QUIET", "shh"),
        ("DRYNPU_REPORT_DEVICE", "7"),
    ],
)
def test_a_bad_setting_is_told_and_its_default_serves(scripts: Any, name: str, text: str) -> None:
    run = scripts(PLAIN, environment={name: text})
    assert "sum 32768.0" in run.stdout
    assert run.stderr.count(f"[drynpu] {name}: '{text}' is not allowed; allowed: ") == 1
    assert run.output("out").rows("kernel_details.csv")


@pytest.mark.parametrize("rank", ["", "abc", "9" * 30])
def test_the_text_of_rank_is_used_as_it_is(scripts: Any, rank: str) -> None:
    run = scripts(PLAIN, environment={"RANK": rank})
    assert "sum 32768.0" in run.stdout
    output = run.output("out")
    assert json.loads((Path(output) / f"profiler_info_{rank}.json").read_text())["rank_id"] == rank
    assert output.rows("kernel_details.csv")


BROKEN_PLUGIN = """
import pathlib
import sys

site = pathlib.Path("site").resolve()
(site / "broken-1.0.dist-info").mkdir(parents=True)
(site / "broken-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\\nName: broken\\nVersion: 1.0\\n")
(site / "broken-1.0.dist-info" / "entry_points.txt").write_text("[drynpu.adapters]\\nbroken = broken_plugin\\n")
(site / "broken_plugin.py").write_text("import a_library_that_is_not_there\\n")
sys.path.insert(0, str(site))
"""


def test_a_plugin_that_cannot_be_imported_is_told_and_left_out(scripts: Any) -> None:
    run = scripts(BROKEN_PLUGIN + PLAIN)
    assert "sum 32768.0" in run.stdout
    assert run.output("out").rows("kernel_details.csv")
    (line,) = {line for line in run.stderr.splitlines() if "cannot be imported" in line}
    assert "broken = broken_plugin (broken)" in line
    assert line.endswith("It is left out.")
