"""``drynpu cluster`` in a process, on a directory of one rank written by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "drynpu", "cluster", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    rank = tmp_path / "run" / "host_1_20260101000000000_ascend_pt"
    output = rank / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (rank / "profiler_info_3.json").write_text("{}")
    (output / "step_trace_time.csv").write_text(
        "Step,Computing,Communication(Not Overlapped),Overlapped,Free\n1,2,3,4,5\n"
    )
    return tmp_path / "run"


def test_the_files_are_written_below_the_directory(directory: Path) -> None:
    done = run(directory)
    assert done.returncode == 0, done.stderr
    assert (directory / "cluster_analysis_output" / "cluster_step_trace_time.csv").is_file()
    assert "rank 3 has no communication operators" in done.stdout
    assert "Written:" in done.stdout


def test_json_has_all_tables_and_no_export_writes_nothing(directory: Path) -> None:
    done = run(directory, "--no-export", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["steps"] == [
        {
            "rank": "3",
            "step": "1",
            "computing_us": 2.0,
            "communication_not_overlapped_us": 3.0,
            "overlapped_us": 4.0,
            "free_us": 5.0,
            "total_us": 10.0,
        }
    ]
    assert document["files"] == []
    assert not (directory / "cluster_analysis_output").exists()


def test_the_tables_of_the_ranks_can_be_kept(directory: Path, tmp_path: Path) -> None:
    done = run(directory, "-o", tmp_path / "out", "--work", tmp_path / "work")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "work" / "rank_3" / "steps.parquet").is_file()
    assert (tmp_path / "out" / "cluster_analysis_output").is_dir()


def test_a_folder_without_ranks_is_an_error_of_one_message(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("drynpu: no ranks below")


def test_the_verb_starts_without_simulation_and_pages() -> None:
    code = "import drynpu_cluster.verbs.cluster, sys; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    heavy = ("drynpu.simulate", "drynpu.device", "drynpu.raw", "drynpu.kernels", "drynpu_pages.pages", "yaml")
    assert [name for name in heavy if name in loaded] == []
