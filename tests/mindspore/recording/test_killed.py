"""Trainings in MindSpore that are killed while they are recorded, and what is recovered of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from drynpu.products import load_profile

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("killed_training.py")
STEPS = 12


def train(folder: Path, mode: str, end: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "drynpu", "run", str(SCRIPT), str(STEPS), mode, end]
    environment = {**os.environ, "GLOG_v": "3", "DRYNPU_QUIET": "1"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)


def analyze(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "drynpu", "analyze", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def recovered_steps(text: str) -> int:
    report = re.search(r"Recovered: (\d+) steps with (\d+) operators", " ".join(text.split()))
    assert report is not None, text
    assert int(report[2]) > STEPS
    return int(report[1])


@pytest.mark.parametrize("mode", ["graph", "pynative"])
def test_a_killed_training_keeps_the_steps_before_the_last_part(tmp_path: Path, mode: str) -> None:
    run = train(tmp_path, mode, "kill")
    assert run.returncode == -9, run.stderr
    (killed,) = (tmp_path / "out").iterdir()
    assert len(list(killed.glob(".drynpu_journal*/part-*"))) > 0
    assert not list(killed.glob("PROF_*"))
    done = analyze(tmp_path / "out")
    assert done.returncode == 0, done.stderr
    steps = recovered_steps(done.stderr)
    # A part is cut off every half second, later where cuts take long; on a busy machine there is at least one.
    assert 1 <= steps <= STEPS
    rows = (killed / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv").read_text().splitlines()
    assert len(rows) - 1 == steps
    profile = load_profile(killed)
    assert len(profile.kernels) > steps
    assert profile.frame("marks")["message"].to_list() == [f"step {number}" for number in range(steps)]
    metadata = json.loads((killed / "profiler_metadata.json").read_text())
    assert metadata["purpose"] == "killed"
    assert any(f"Recovered: {steps} steps" in note for note in metadata["drynpu"]["notes"])
    assert json.loads((killed / "profiler_info_0.json").read_text())["ms_profiler_info"]["rank_id"] == "0"
    assert not list(killed.glob(".drynpu_journal*"))


def test_a_training_that_tells_no_step_is_saved_at_the_steps_of_its_model(tmp_path: Path) -> None:
    run = train(tmp_path, "model", "kill")
    assert run.returncode == -9, run.stderr
    assert len(re.findall("STEP", run.stdout)) == STEPS
    done = analyze(tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert 0 < recovered_steps(done.stderr) <= STEPS, "each iteration of a graph is one"
    (killed,) = (tmp_path / "out").iterdir()
    assert len(load_profile(killed).kernels) > 0


@pytest.mark.parametrize("mode", ["graph", "pynative"])
def test_what_is_recovered_equals_what_the_training_itself_leaves(tmp_path: Path, mode: str) -> None:
    run = train(tmp_path, mode, "keep")
    assert run.returncode == 0, run.stderr
    (path,) = (tmp_path / "out").iterdir()
    assert not list(path.glob(".drynpu_journal*"))
    done = analyze(tmp_path / "kept")
    assert done.returncode == 0, done.stderr
    assert recovered_steps(done.stderr) == STEPS
    (kept,) = (tmp_path / "kept").iterdir()
    finished, recovered = load_profile(path), load_profile(kept)
    assert len(finished.kernels) > STEPS
    assert finished.kernels.equals(recovered.kernels)
    assert finished.api.equals(recovered.api)
    tables = {name: (finished.frame(name), recovered.frame(name)) for name in ("marks", "framework_events")}
    tables["memory_totals"] = finished.frame("memory_totals"), recovered.frame("memory_totals")
    tables["allocations"] = finished.allocations, recovered.allocations
    for name, (table, other) in tables.items():
        if name == "allocations" and mode == "pynative":  # PyNative does not tell of any
            assert len(table) == len(other) == 0
            continue
        assert len(other) >= STEPS, name
        time_ns = "time_ns" if "time_ns" in table.columns else "start_ns"
        # The run recorded for a moment behind the last part.
        assert table.filter(pl.col(time_ns) <= other[time_ns].max()).equals(other), name
        assert len(table) < len(other) + 2 * STEPS, name
