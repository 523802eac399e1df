"""Sessions that are killed while they are recorded, and what is recovered of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from drynpu.products import load_profile

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("killed_session.py")
STEPS = 12


def analyze(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "drynpu", "analyze", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_killed_session_keeps_the_runs_before_the_last_half_second(scripts: Any) -> None:
    run = scripts(SCRIPT, str(STEPS), "kill", status=-9)
    out = run.folder / "out"
    assert [path.name.split("-")[0] for path in out.iterdir()] == [".drynpu_journal"]
    done = analyze(out)
    assert done.returncode == 0, done.stderr
    report = re.search(r"Recovered: (\d+) steps with (\d+) operators", " ".join(done.stderr.split()))
    assert report is not None
    # A step lasts more than 0.15 s: at most four lie in the half second before the kill. The first run made variables.
    assert STEPS + 1 - 5 <= int(report[1]) <= STEPS + 1
    (prof,) = out.glob("PROF_*")
    assert list(prof.glob("mindstudio_profiler_output/op_summary_*.csv"))
    profile = load_profile(prof)
    training = profile.frame("iterations").filter(profile.frame("iterations")["model_id"] == 2)
    assert training["iteration"].to_list() == list(range(1, int(report[1])))
    assert not list(out.glob(".drynpu_journal*"))


def test_what_is_recovered_equals_what_the_session_itself_leaves(scripts: Any) -> None:
    run = scripts(SCRIPT, str(STEPS), "keep")
    (prof,) = (run.folder / "out").glob("PROF_*")
    assert not list((run.folder / "out").glob(".drynpu_journal*"))
    assert analyze(run.folder / "kept").returncode == 0
    (recovered,) = (load_profile(path) for path in (run.folder / "kept").glob("PROF_*"))
    finished = load_profile(prof)
    assert len(finished.kernels) > STEPS
    assert recovered.kernels.equals(finished.kernels)
    assert recovered.frame("iterations").equals(finished.frame("iterations"))
    assert recovered.api.equals(finished.api)
