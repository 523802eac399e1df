"""``drynpu analyze`` and ``msprof --query`` where there is no raw data."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

OUTPUT = "ASCEND_PROFILER_OUTPUT"
Run = Callable[..., Any]


@pytest.fixture
def results(drynpu: Run, profile: Callable[[Path], Path], tmp_path: Path) -> Path:
    """A directory that holds text results alone, and a second of the same run."""
    whole = profile(tmp_path / "raw" / "host_77_20250109074803000_ascend_pt")
    assert drynpu("analyze", whole).code == 0
    for name in ("host_77_20250109074803000_ascend_pt", "host_78_20250109074803000_ascend_pt"):
        shutil.copytree(whole / OUTPUT, tmp_path / "run" / name / OUTPUT)
    return tmp_path / "run" / "host_77_20250109074803000_ascend_pt"


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def cells(content: bytes) -> list[list[object]]:
    rows = csv.reader(content.decode().splitlines())
    return [[float(cell) if re.fullmatch(r"[\d.]+", cell) else cell for cell in row] for row in rows]


def test_results_are_summed_up_and_stay_as_they_are(drynpu: Run, results: Path) -> None:
    before = content(results)
    ended = drynpu("analyze", results)
    assert (ended.code, ended.err) == (0, "")
    assert "Top kernels (6 in all" in ended.out
    assert "No raw data: read from results. Not in them: collectives, memory of operators" in ended.out
    assert "Read:" in ended.out
    assert content(results) == before
    document = json.loads(drynpu("analyze", results, "--json").out)
    assert [step["step"] for step in document["steps"]] == ["0", "1"]
    assert "collectives" in document["missing"]


def test_output_rebuilds_elsewhere(drynpu: Run, results: Path, tmp_path: Path) -> None:
    before = content(results)
    ended = drynpu("analyze", results, "--output", tmp_path / "new", "--export-type", "text", "--export-type", "db")
    assert (ended.code, ended.err) == (0, "")
    assert content(results) == before
    rebuilt = tmp_path / "new" / results.name
    for name in ("kernel_details.csv", "op_statistic.csv", "step_trace_time.csv", "api_statistic.csv"):
        # Text results do not name the chip, so the toolkit's older writer is used: 0.0 for 0.000, 0 for host.
        first = 1 if name == "api_statistic.csv" else 0
        rows = [cells(text) for text in ((rebuilt / OUTPUT / name).read_bytes(), before[f"{OUTPUT}/{name}"])]
        assert [row[first:] for row in rows[0]] == [row[first:] for row in rows[1]], name
    # What is a database now opens as the text did.
    for path in (rebuilt / OUTPUT).glob("*.[cj]s*"):
        path.unlink()
    again = json.loads(drynpu("analyze", rebuilt, "--json").out)
    first = json.loads(drynpu("analyze", results, "--json").out)
    assert (again["kernels"], again["busy"]) == (first["kernels"], first["busy"])


@pytest.mark.parametrize("place", ["", OUTPUT])
def test_nothing_is_rebuilt_into_what_was_read(drynpu: Run, results: Path, tmp_path: Path, place: str) -> None:
    before = content(tmp_path)
    ended = drynpu("analyze", results / place, "--output", results.parent)
    assert ended.code == 1
    assert "holds the results that the profile was read from" in ended.err
    assert content(tmp_path) == before


def test_single_files_and_folders_of_ranks(drynpu: Run, results: Path) -> None:
    ended = drynpu("analyze", results / OUTPUT / "kernel_details.csv")
    assert (ended.code, "Top kernels (6 in all" in ended.out) == (0, True)
    assert "Not in them: operators of the framework, calls of the toolkit" in ended.out
    documents = json.loads(drynpu("analyze", results.parent, "--json").out)
    assert [Path(document["path"]).name for document in documents] == [
        path.name for path in sorted(results.parent.iterdir())
    ]


def test_query_lists_devices(drynpu: Run, results: Path) -> None:
    ended = drynpu("msprof", "--query=on", f"--output={results.parent}")
    assert (ended.code, ended.err) == (0, "")
    rows = [line.split("\t") for line in ended.out.splitlines() if "ascend_pt" in line and "\t" in line]
    assert [(row[1].strip(), row[2].strip(), row[4].strip()) for row in rows] == [
        ("0", path.name, "N/A") for path in sorted(results.parent.iterdir())
    ]
    ended = drynpu("msprof", "--export=on", f"--output={results.parent}")
    assert "does not contain valid profiling data" in ended.err
