"""``drynpu sweep`` in a process, on scripts without a framework: axes, options, and cells that fail."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve

from drynpu_sweep._cells import Cell, Measures, parallel_sizes, stage_ranks
from drynpu_sweep.sweep import _show

SCRIPT = """
import os, sys
print(os.environ["RANK"], os.environ["WORLD_SIZE"], sys.argv[1:])
if "3" in sys.argv:
    raise ValueError("3 does not divide the heads")
"""


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "drynpu", "sweep", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def test_every_combination_runs_with_its_values_and_says_why_it_failed(script: Path, tmp_path: Path) -> None:
    axes = ("--grid", "tp=1,3", "--grid", "pp=1,2")
    done = run(
        "--world", "4", *axes, "-o", tmp_path / "out", "--csv", tmp_path / "t.csv", "--json", script, "--", "--x", "5"
    )
    assert done.returncode == 1, "no cell has a profile"
    cells = json.loads(done.stdout)["cells"]
    assert [(cell["tp"], cell["pp"], cell["ranks"]) for cell in cells] == [
        ("1", "1", "0"),
        ("1", "2", "0,2"),
        ("3", "1", "0"),
        ("3", "2", "0,2"),
    ]
    assert {cell["error"] for cell in cells[2:]} == {"ValueError: 3 does not divide the heads"}
    assert all("the script recorded nothing" in cell["error"] for cell in cells[:2])
    lines = (tmp_path / "out" / "tp-1_pp-2" / "stdout.txt").read_text().splitlines()
    assert sorted(lines) == [f"[{rank}] {rank} 4 ['--x', '5', '--tp', '1', '--pp', '2']" for rank in (0, 2)]
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert [row["error"] for row in rows] == [cell["error"] for cell in cells]


@pytest.mark.slow
def test_axes_that_cannot_be_are_refused(script: Path, tmp_path: Path) -> None:
    for axes in (("--grid", "tp"), ("--grid", "tp=1,"), ("--grid", "tp=1", "--grid", "tp=2")):
        done = run(*axes, script)
        assert done.returncode == 2
        assert "axis" in done.stderr
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    done = run("--grid", "tp=1", "-o", tmp_path / "full", script)
    assert done.returncode == 2
    assert "is not empty" in done.stderr


def test_one_rank_of_every_stage_runs_where_the_stages_divide_the_world() -> None:
    assert stage_ranks(4, 8) == (0, 2, 4, 6)
    assert stage_ranks(3, 8) == (0,)
    assert stage_ranks(1, 8) == (0,)


def test_sizes_come_from_the_grid_or_the_arguments() -> None:
    arguments = ("--tensor-model-parallel-size", "2", "--cp=3", "--pp", "x", "--bf16")
    assert parallel_sizes({}, arguments) == {"tp": 2, "pp": 1, "cp": 3}
    assert parallel_sizes({"tp": "4", "context_parallel_size": "5"}, arguments[:2]) == {"tp": 4, "pp": 1, "cp": 5}


@pytest.mark.slow
def test_the_axis_dp_makes_the_world_and_is_no_option_of_the_script(script: Path, tmp_path: Path) -> None:
    done = run("--grid", "dp=1,3", "--grid", "pp=2", "-o", tmp_path / "out", "--json", script, "--", "--tp", "2")
    cells = json.loads(done.stdout)["cells"]
    assert [(cell["dp"], cell["world"], cell["ranks"]) for cell in cells] == [("1", 4, "0,2"), ("3", 12, "0,6")]
    lines = (tmp_path / "out" / "dp-3_pp-2" / "stdout.txt").read_text().splitlines()
    assert sorted(lines) == [f"[{rank}] {rank} 12 ['--tp', '2', '--pp', '2']" for rank in (0, 6)]
    # With a world it is an option as any other.
    done = run("--world", "8", "--grid", "dp=2", "-o", tmp_path / "other", "--json", script)
    assert (tmp_path / "other" / "dp-2" / "stdout.txt").read_text() == "0 8 ['--dp', '2']\n"
    assert "write the axis as dp=1,2,4" in run("--grid", "dp=a", script).stderr


@pytest.mark.slow
def test_data_parallel_ranks_are_what_the_other_sizes_leave(script: Path) -> None:
    cells = json.loads(run("--world", "16", "--grid", "tp=1,2,3", "--json", script).stdout)["cells"]
    assert [cell["dp"] for cell in cells] == [16, 8, None]


def test_times_of_the_table_line_up_and_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    shared = {"communication_ms": 0.0, "exposed_ms": 0.0, "free_ms": 1.25, "peak_gib": 0.001658}
    small = Measures(step_ms=1.41, low_ms=0.9767, high_ms=1.826, computing_ms=0.1736, steps=3, **shared)
    large = Measures(step_ms=1450.5, low_ms=None, high_ms=None, computing_ms=1449.25, steps=3, **shared)
    cells = [Cell(values={"tp": tp}, ranks=(0,), measures=each) for tp, each in (("1", small), ("8", large))]
    cells[0] = evolve(cells[0], data_parallel=4)
    _show(cells, None, json_output=False)
    lines = capsys.readouterr().out.splitlines()[1:]
    assert lines[1].split() == ["1", "4", "1.410", "0.977", "to", "1.826", "0.174", "0.000", "0.000", "1.250", "0.002"]
    assert lines[2].split() == ["8", "N/A", "1450.500", "N/A", "1449.250", "0.000", "0.000", "1.250", "0.002"]
    assert lines[1].index(".410") == lines[2].index(".500")
    assert lines[3].startswith("dp: ")
    assert "Times in ms" in " ".join(lines[4:])
