"""Trainings that are killed while they are recorded, run as a user would, and what is recovered of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from drynpu.products import find_profiles, load_profile

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("killed_training.py")
STEPS = 10


def train(out: Path, flags: str, end: str, steps: int = STEPS) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DRYNPU_QUIET": "1", "KINETO_LOG_LEVEL": "99"}
    command = [sys.executable, str(SCRIPT), str(out), str(steps), flags, end]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def analyze(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "drynpu", "analyze", str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("flags", ["-", "s"])
def test_a_killed_run_keeps_the_steps_before_the_last_half_second(tmp_path: Path, flags: str) -> None:
    run = train(tmp_path, flags, "kill")
    assert run.returncode == -9, run.stderr
    done = len(re.findall(r"^STEP ", run.stdout, re.MULTILINE)) - 2  # the first only warms up, the last was in flight
    assert done == STEPS - 1
    (killed,) = (tmp_path / "result").iterdir()
    assert [path.name.split("-")[0] for path in killed.iterdir()] == [".drynpu_journal"]

    elsewhere = analyze(tmp_path / "result", "--output", str(tmp_path / "other"))
    assert elsewhere.returncode == 0, elsewhere.stderr
    assert [path.name.split("-")[0] for path in killed.iterdir()] == [".drynpu_journal"]

    first = analyze(tmp_path / "result")
    assert first.returncode == 0, first.stderr
    report = re.search(r"Recovered: (\d+) steps with (\d+) operators", " ".join(first.stderr.split()))
    assert report is not None
    steps = int(report[1])
    # A step lasts more than 0.15 s: at most four lie in the half second before the kill, on a busy machine fewer.
    assert done - 4 <= steps <= done
    assert {path.name for path in killed.iterdir()} >= {"FRAMEWORK", "profiler_info.json", "profiler_metadata.json"}
    assert not list(killed.glob(".drynpu_journal*"))
    metadata = json.loads((killed / "profiler_metadata.json").read_text())
    assert metadata["purpose"] == "killed"
    assert any(f"Recovered: {steps} steps" in note for note in metadata["drynpu"]["notes"])
    info = json.loads((killed / "profiler_info.json").read_text())
    assert info["end_info"]["collectionTimeEnd"] > info["start_info"]["start_monotonic"]
    rows = (killed / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv").read_text().splitlines()
    assert len(rows) - 1 == steps
    profile = load_profile(killed)
    assert len(profile.kernels) > steps
    assert (
        len(profile.frame("marks")) == len(load_profile(find_profiles(tmp_path / "other")[0]).frame("marks")) >= steps
    )

    second = analyze(tmp_path / "result")
    assert second.returncode == 0
    assert "Recovered" not in second.stderr


def test_what_is_recovered_equals_what_the_run_itself_writes(tmp_path: Path) -> None:
    run = train(tmp_path, "sm", "keep")
    assert run.returncode == 0, run.stderr
    finished = load_profile(find_profiles(tmp_path / "result")[0])
    assert finished.framework_path is not None
    assert not list((tmp_path / "result").rglob(".drynpu_journal*"))
    assert analyze(tmp_path / "kept").returncode == 0
    recovered = load_profile(find_profiles(tmp_path / "kept")[0])
    for name in ("kernels", "host_ops", "queue", "api"):
        table, other = getattr(finished, name), getattr(recovered, name)
        assert len(table) > STEPS
        assert table.equals(other), name
    assert finished.frame("marks").equals(recovered.frame("marks"))


def test_the_offline_analysis_recovers_too_and_a_damaged_part_is_told(tmp_path: Path) -> None:
    assert train(tmp_path, "-", "keep").returncode == 0
    (journal,) = (tmp_path / "kept").iterdir()
    run = tmp_path / "cut" / "host_1_20260101000000000_ascend_pt"
    run.mkdir(parents=True)
    shutil.move(journal, run)
    parts = sorted(run.glob(".drynpu_journal*/part-*"))
    parts[1].write_bytes(parts[1].read_bytes()[:-200])
    script = f"from torch_npu.profiler.profiler import analyse\nanalyse({str(tmp_path / 'cut')!r})\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "1 damaged parts of it are missing" in done.stdout, done.stdout + done.stderr
    assert (run / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").stat().st_size > 1000


def test_a_full_disk_is_told_once_and_the_recording_goes_on(tmp_path: Path) -> None:
    run = train(tmp_path, "-", "full", steps=4)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("can no longer be saved while recording") == 1
    assert "No space left on device" in run.stdout
    finished = find_profiles(tmp_path / "result")[0]
    rows = (finished / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv").read_text().splitlines()
    assert len(rows) - 1 == 4
    assert not list(finished.glob(".drynpu_journal*"))
