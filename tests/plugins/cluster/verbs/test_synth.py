"""``drynpu synth`` in a process, on a directory of one rank written by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "drynpu", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    rank = tmp_path / "run" / "host_1_20260101000000000_ascend_pt"
    output = rank / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (rank / "profiler_info_0.json").write_text("{}")
    (output / "step_trace_time.csv").write_text("Step,Computing,Communication(Not Overlapped),Free\n1,20,0,5\n")
    (output / "trace_view.json").write_text("[]")
    return tmp_path / "run"


def test_one_rank_becomes_many_and_the_cluster_opens(directory: Path, tmp_path: Path) -> None:
    done = run("synth", directory, "--ranks", "5", "-o", tmp_path / "many", "--slow-rank", "3")
    assert done.returncode == 0, done.stderr
    assert "5 ranks" in done.stdout
    assert "Slow rank: 3, 1.5 times" in done.stdout
    assert "Not made, 1 kinds of file: trace_view.json" in done.stdout
    assert len(list((tmp_path / "many").glob("*_ascend_pt"))) == 5
    opened = run("cluster", tmp_path / "many", "--no-export")
    assert "Rank 3 is slow" in opened.stdout, opened.stdout + opened.stderr


def test_a_link_is_written_as_two_ranks(directory: Path, tmp_path: Path) -> None:
    done = run("synth", directory, "--ranks", "5", "-o", tmp_path / "many", "--slow-link", "3")
    assert done.returncode == 2
    assert "'3' is no link; write it as 3-4" in done.stderr


def test_json(directory: Path, tmp_path: Path) -> None:
    done = run("synth", directory, "--ranks", "3", "-o", tmp_path / "many", "--slow-rank", "1", "--json")
    document = json.loads(done.stdout)
    assert (document["ranks"], document["recorded_ranks"], document["slow_rank"]) == (3, 1, 1)
    assert document["left_out"] == ["trace_view.json"]
    assert Path(document["folder"]) == tmp_path / "many"
