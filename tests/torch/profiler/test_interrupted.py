"""Exceptions between two actions, bad environments and broken plugins: no recording is lost, no training ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

TRAINING = """
import builtins

import torch
import torch_npu
from torch_npu.profiler import profile, schedule, tensorboard_trace_handler

write = tensorboard_trace_handler("out")
weight = torch.ones(32, 32).npu()
"""

INTERRUPTED = (
    TRAINING
    + """
def train(ending, which):
    write = tensorboard_trace_handler(ending.__name__)
    seen = []

    def handler(prof):
        write(prof)
        seen.append(prof)
        if len(seen) == which:
            raise ending("while the result was handled")

    prof = profile(schedule=schedule(wait=0, warmup=1, active=2, repeat=0), on_trace_ready=handler)
    prof.start()
    try:
        for step in range(7):
            (weight @ weight).relu().sum().item()
            prof.step()
    except BaseException as error:
        print("caught", type(error).__name__)
    prof.stop()
    print("end", ending.__name__)


for ending, which in ENDINGS.items():
    train(getattr(builtins, ending), which)
"""
)
ENDINGS = {"KeyboardInterrupt": 1, "SystemExit": 2, "BaseException": 1}
"""Exceptions, and after which result they are raised."""


@pytest.fixture(scope="module")
def interrupted(scripts: Any) -> Any:
    return scripts(INTERRUPTED.replace("ENDINGS", repr(ENDINGS)))


@pytest.mark.parametrize(("ending", "which"), ENDINGS.items())
def test_a_finished_recording_outlives_an_exception_in_the_handler(interrupted: Any, ending: str, which: int) -> None:
    assert f"caught {ending}\n" in interrupted.stdout
    assert f"\nend {ending}\n" in interrupted.stdout
    outputs = interrupted.outputs(ending)
    assert len(outputs) == which
    for output in outputs:
        assert matmuls(output) == 2
        assert "drynpu" in json.loads((Path(output) / "profiler_metadata.json").read_text())


def matmuls(output: Any) -> int:
    """Return the number of matrix products in a result."""
    return sum("MatMulV2" in row["Name"] for row in output.rows("kernel_details.csv"))


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


BAD_SETTINGS = {
    "DRYNPU_SEED": "abc",
    "DRYNPU_DEVICES": "many",
    "DRYNPU_CLOCK": "sundial",
    "DRYNPU_STRICT": "maybe",
    "DRYNPU_QUIET": "shh",
    "DRYNPU_REPORT_DEVICE": "7",
}


@pytest.fixture(scope="module")
def badly_set(scripts: Any) -> Any:
    return scripts(PLAIN + "print('devices', torch.npu.device_count())\n", environment=BAD_SETTINGS)


@pytest.mark.parametrize("name", BAD_SETTINGS)
def test_a_bad_setting_is_told_once(badly_set: Any, name: str) -> None:
    assert badly_set.stderr.count(f"[drynpu] {name}: '{BAD_SETTINGS[name]}' is not allowed; allowed: ") == 1


def test_bad_settings_leave_the_defaults(badly_set: Any) -> None:
    assert "sum 32768.0" in badly_set.stdout
    assert "devices 8" in badly_set.stdout
    assert badly_set.output("out").rows("kernel_details.csv")
    assert "Written: out/" in badly_set.stdout, "the summary that DRYNPU_QUIET=1 turns off"


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
