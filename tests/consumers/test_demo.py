"""msprof-analyze opens what the example leaves (downstream_consumers.md 1)."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"

Tool = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the result directories of two runs of the example; the tool complains about paths others can write."""
    folder = tmp_path_factory.mktemp("demo")
    settings = {"RANK": "0", "DRYNPU_QUIET": "1", "TF_ENABLE_ONEDNN_OPTS": "0"}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("DRYNPU_", "ASCEND_"))}
    for _ in range(2):
        subprocess.run(
            [sys.executable, str(ROOT / "examples" / "torch" / "train_gpt.py")],
            cwd=folder,
            env=inherited | settings,
            check=True,
            capture_output=True,
        )
    first, second = sorted((folder / "demo_out").iterdir())
    return first, second


def sheets(workbook: Path) -> dict[str, list[list[str]]]:
    """Texts of the cells of every sheet, row by row."""
    with zipfile.ZipFile(workbook) as archive:
        shared = [
            "".join(text.text or "" for text in item.iter(f"{SHEET}t"))
            for item in ET.fromstring(archive.read("xl/sharedStrings.xml"))
        ]
        names = [s.attrib["name"] for s in ET.fromstring(archive.read("xl/workbook.xml")).iter(f"{SHEET}sheet")]
        found = {}
        for number, name in enumerate(names, 1):
            rows = ET.fromstring(archive.read(f"xl/worksheets/sheet{number}.xml")).iter(f"{SHEET}row")
            found[name] = [[_cell(cell, shared) for cell in row] for row in rows]
    return found


def _cell(cell: ET.Element, shared: list[str]) -> str:
    value = cell.find(f"{SHEET}v")
    text = "" if value is None else value.text or ""
    return shared[int(text)] if cell.attrib.get("t") == "s" and text else text


def cube_kernels(run: Path) -> int:
    """Return the kernels that the tool takes for work of the cube: by name, the clearing of a product included."""
    with (run / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(newline="", encoding="utf-8") as stream:
        return sum(row["Accelerator Core"] == "AI_CORE" or "MatMul" in row["Name"] for row in csv.DictReader(stream))


def test_compare(msprof_analyze: Tool, runs: tuple[Path, Path], tmp_path: Path) -> None:
    first, second = runs
    done = msprof_analyze("compare", "-d", first, "-bp", second, "-o", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "[ERROR]" not in done.stdout
    assert "Model Profiling Time Distribution" in done.stdout
    table = [line for line in done.stdout.splitlines() if line.startswith("| NPU")]
    assert len(table) == 2
    cube = cube_kernels(first)
    assert all(re.search(rf"\({cube}\)", line) for line in table)  # Cube Time(Num)
    (workbook,) = (tmp_path / "out").glob("performance_comparison_result_*.xlsx")
    found = sheets(workbook)
    assert {"OverallMetrics", "OperatorCompare", "OperatorCompareStatistic", "MemoryCompare"} <= found.keys()
    assert {"ApiCompare", "KernelCompare"} <= found.keys()
    for name, rows in found.items():
        filled = [row for row in rows if any(row)]
        assert len(filled) > 2, name
        assert any(re.fullmatch(r"\d+(\.\d+)?", cell) for row in filled for cell in row), name


def test_cluster(msprof_analyze: Tool, runs: tuple[Path, Path], tmp_path: Path) -> None:
    run, _ = runs
    copied = tmp_path / "run" / run.name  # the tool is free to write beside what it reads
    shutil.copytree(run, copied)
    done = msprof_analyze("cluster", "-m", "all", "-d", copied.parent, "-o", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "[ERROR]" not in done.stdout
    assert "1 ranks, data type: text, profiling type: pytorch" in done.stdout
    assert "The cluster analysis result file has been generated" in done.stdout
    result = tmp_path / "out" / "cluster_analysis_output"
    assert (result / "communication_group.json").is_file()
    with (result / "cluster_step_trace_time.csv").open(newline="", encoding="utf-8") as stream:
        cluster = list(csv.DictReader(stream))
    with (run / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv").open(newline="", encoding="utf-8") as stream:
        ours = list(csv.DictReader(stream))
    assert [row["Step"] for row in cluster] == [row["Step"] for row in ours] == ["3", "4", "5"]
    assert {(row["Type"], row["Index"]) for row in cluster} == {("rank", "0")}
    numbers = [name for name in ours[0] if name not in ("Device_id", "Step")]
    assert len(numbers) == 9
    for theirs, mine in zip(cluster, ours, strict=True):
        assert {name: float(theirs[name]) for name in numbers} == {name: float(mine[name]) for name in numbers}
    assert all(float(row["Computing"]) > 0 < float(row["Free"]) for row in cluster)
