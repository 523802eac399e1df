"""Programs of pyACL that are killed while they are recorded, and what is recovered of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from drynpu.products import load_profile

SCRIPT = Path(__file__).with_name("killed_inference.py")
RUNS = 12

# Elsewhere marks after the last launch are placed by when the recording ended, which for a killed program is earlier.
CLOCK = {"DRYNPU_CLOCK": "projected"}


def analyze(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "drynpu", "analyze", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def infer(programs: Any, end: str, status: int) -> Any:
    folder = programs.folder()
    example = Path(__file__).parents[3] / "examples" / "acl"
    environment = {"PYTHONPATH": str(example), **CLOCK}
    return programs(SCRIPT, str(RUNS), end, status=status, folder=folder, environment=environment)


@pytest.mark.slow
def test_a_killed_program_keeps_the_runs_before_the_last_half_second(programs: Any) -> None:
    run = infer(programs, "kill", -9)
    out = run.folder / "out"
    assert sorted(path.name[:5] for path in out.iterdir()) == [".dryn", "PROF_"], "the journal, and the empty result"
    done = analyze(out)
    assert done.returncode == 0, done.stderr
    report = re.search(r"Recovered: (\d+) steps with (\d+) operators", " ".join(done.stderr.split()))
    assert report is not None
    # A run lasts more than 0.15 s: at most four lie in the half second before the kill.
    assert RUNS - 5 <= int(report[1]) <= RUNS
    (prof,) = out.glob("PROF_*")
    assert list(prof.glob("mindstudio_profiler_output/op_summary_*.csv"))
    profile = load_profile(prof)
    assert profile.frame("marks")["message"].to_list()[: int(report[1]) - 1] == [
        f"run {number}" for number in range(int(report[1]) - 1)
    ]
    assert not list(out.glob(".drynpu_journal*"))


@pytest.mark.slow
def test_what_is_recovered_equals_what_the_program_itself_leaves(programs: Any) -> None:
    run = infer(programs, "keep", 0)
    (prof,) = (run.folder / "out").glob("PROF_*")
    assert not list((run.folder / "out").glob(".drynpu_journal*"))
    assert analyze(run.folder / "kept").returncode == 0
    (recovered,) = (load_profile(path) for path in (run.folder / "kept").glob("PROF_*"))
    finished = load_profile(prof)
    assert len(finished.kernels) > RUNS
    for table in ("kernels", "tasks"):
        assert getattr(recovered, table).equals(getattr(finished, table)), table
    for table in ("iterations", "marks"):
        names = [name for name in finished.frame(table).columns if name != "connection_id"]
        assert recovered.frame(table).select(names).equals(finished.frame(table).select(names)), table
