"""Two ranks of MindSpore, made by hand, opened by the vendor's cluster analysis."""

from __future__ import annotations

import csv
import importlib.util
import json
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from drynpu.options import ExportType
from drynpu.products import export_mindspore, export_msprof, load_profile

HAND_MADE = Path(__file__).parents[1] / "core" / "products" / "mindspore" / "hand_made.py"
RANKS = (0, 1)
Tool = Callable[..., "subprocess.CompletedProcess[str]"]


def record(folder: Path, form: ExportType) -> list[Path]:
    """Leave a run directory per rank, with what MindSpore tells of the group."""
    spec = importlib.util.spec_from_file_location("mindspore_hand_made", HAND_MADE)
    assert spec
    assert spec.loader
    hand = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hand)
    found = []
    for rank in RANKS:
        name = f"host_{hand.PID + rank}_{20260101000000000 + rank}_ascend_ms"
        path = hand.record(folder, rank=rank, name=name, told={"export_type": [form.value]})
        group = {"group_name": "hccl_world_group", "group_rank": rank, "global_ranks": list(RANKS)}
        (path / "profiler_metadata.json").write_text(json.dumps({"parallel_group_info": {"hccl_world_group": group}}))
        profile = load_profile(path)
        export_msprof(profile)
        export_mindspore(profile)
        found.append(path)
    return found


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return record(tmp_path_factory.mktemp("mindspore"), ExportType.TEXT)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_cluster_analysis_says_what_our_files_say(msprof_analyze: Tool, ranks: list[Path], tmp_path: Path) -> None:
    done = msprof_analyze("cluster", "-m", "all", "-d", ranks[0].parent, "-o", tmp_path / "out")
    assert "[ERROR]" not in done.stdout, done.stdout
    assert "cannot be mapped" not in done.stdout, done.stdout
    assert "get the same local rank" not in done.stdout, done.stdout
    folder = tmp_path / "out" / "cluster_analysis_output"
    told = {(row["Index"], row["Step"]): row for row in rows(folder / "cluster_step_trace_time.csv")}
    for rank, path in zip(RANKS, ranks, strict=True):
        for row in rows(path / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv"):
            same = told[str(rank), row["Step"]]
            for name in ("Computing", "Communication", "Free", "Stage", "Bubble", "Preparing"):
                assert float(same[name]) == float(row[name])
    groups = json.loads((folder / "communication_group.json").read_text())
    assert groups["collective"] == [list(RANKS)]
    (named,) = groups["comm_group_parallel_info"]
    assert (named["group_id"], named["rank_set"]) == ("hccl_world_group", list(RANKS))
    times = json.loads((folder / "cluster_communication.json").read_text())[str(RANKS)]
    assert set(times) == {"step3", "step4", "step5"}
    for operators in times.values():
        assert all(set(told_by) == {"0", "1"} for name, told_by in operators.items() if "allReduce" in name)
    matrix = json.loads((folder / "cluster_communication_matrix.json").read_text())[str(RANKS)]["step3"]
    links = next(value for key, value in matrix.items() if key.startswith("allreduce-total"))
    assert {"0-1", "1-0"} <= set(links)


def test_the_cluster_analysis_opens_databases(msprof_analyze: Tool, tmp_path: Path) -> None:
    (first, _) = record(tmp_path / "run", ExportType.DB)
    assert {path.name for path in (first / "ASCEND_PROFILER_OUTPUT").iterdir()} == {
        "ascend_mindspore_profiler_0.db",
        "communication_analyzer.db",
    }
    done = msprof_analyze("cluster", "-m", "all", "-d", tmp_path / "run", "-o", tmp_path / "out")
    assert "[ERROR]" not in done.stdout, done.stdout
    with closing(sqlite3.connect(tmp_path / "out" / "cluster_analysis_output" / "cluster_analysis.db")) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert "HostInfo" in tables
