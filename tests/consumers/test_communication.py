"""Four ranks that were simulated one by one, opened together by the vendor's cluster analysis."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from drynpu.options import ExportType
from drynpu.products import export_torch, load_profile

pytestmark = pytest.mark.slow

Tool = Callable[..., "subprocess.CompletedProcess[str]"]

RANKS = (0, 1, 2, 3)


@pytest.fixture(scope="module")
def run(four_ranks: Path) -> Path:
    return four_ranks


def analysed(msprof_analyze: Tool, source: Path, out: Path) -> Path:
    done = msprof_analyze("cluster", "-m", "all", "-d", source, "-o", out)
    assert "[ERROR]" not in done.stdout, done.stdout
    assert "cannot be mapped" not in done.stdout, done.stdout
    assert "get the same local rank" not in done.stdout, done.stdout
    return out / "cluster_analysis_output"


def check(folder: Path, step: str) -> None:
    groups = json.loads((folder / "communication_group.json").read_text())
    assert groups["collective"] == [[0, 1, 2, 3]]
    assert sorted(map(sorted, groups["p2p"])) == [[0, 1], [2, 3]]
    named = {entry["group_id"]: entry["rank_set"] for entry in groups["comm_group_parallel_info"]}
    assert named.get("dp", [0, 1, 2, 3]) == [0, 1, 2, 3]
    times = json.loads((folder / "cluster_communication.json").read_text())
    of_all = times["(0, 1, 2, 3)"][step]
    reduces = {key: value for key, value in of_all.items() if key.startswith("hcom_allReduce")}
    for ranks in reduces.values():
        assert sorted(ranks) == ["0", "1", "2", "3"]
        waits = [ranks[str(rank)]["Communication Time Info"]["Synchronization Time(ms)"] for rank in RANKS]
        assert waits == pytest.approx([0.03, 0.02, 0.01, 0.0], abs=2e-4)
    matrix = json.loads((folder / "cluster_communication_matrix.json").read_text())
    total = matrix["(0, 1, 2, 3)"][step]
    links = next(value for key, value in total.items() if key.startswith("allreduce-total"))
    assert sorted(links) == sorted(f"{one}-{two}" for one in RANKS for two in RANKS)
    with (folder / "cluster_step_trace_time.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["Type"] == "rank"]
    assert {row["Index"] for row in rows} == {"0", "1", "2", "3"}
    assert all(float(row["Communication"]) > 0 for row in rows)


def test_the_cluster_analysis_opens_torch_directories(msprof_analyze: Tool, run: Path, tmp_path: Path) -> None:
    folder = analysed(msprof_analyze, run, tmp_path / "out")
    check(folder, "step0")
    groups = json.loads((folder / "communication_group.json").read_text())
    assert "dp" in {entry["group_id"] for entry in groups["comm_group_parallel_info"]}


def test_the_cluster_analysis_opens_toolkit_directories(msprof_analyze: Tool, run: Path, tmp_path: Path) -> None:
    source = tmp_path / "toolkit"
    source.mkdir()
    for directory in run.glob("*_ascend_pt/PROF_*"):
        shutil.copytree(directory, source / directory.name)
    check(analysed(msprof_analyze, source, tmp_path / "out"), "step")


def test_the_cluster_analysis_says_of_databases_what_it_says_of_texts(
    msprof_analyze: Tool, run: Path, tmp_path: Path
) -> None:
    source = tmp_path / "databases"
    shutil.copytree(run, source)
    for directory in source.iterdir():
        export_torch(load_profile(directory), [ExportType.DB])
    folder = analysed(msprof_analyze, source, tmp_path / "out")
    of_texts = analysed(msprof_analyze, run, tmp_path / "texts")
    with closing(sqlite3.connect(folder / "cluster_analysis.db")) as connection:
        connection.row_factory = sqlite3.Row

        def rows(table: str) -> list[dict[str, Any]]:
            return [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]

        times, links, steps = (
            rows(name) for name in ("ClusterCommunicationTime", "ClusterCommunicationMatrix", "ClusterStepTraceTime")
        )
        assert {row["rankId"]: row["deviceId"] for row in rows("RankDeviceMap")} == {rank: rank for rank in RANKS}
        sets = {row["rank_set"] for row in rows("CommunicationGroupMapping")}
        assert sets == {"(0,1,2,3)", "(0,1)", "(2,3)"}
    document = json.loads((of_texts / "cluster_communication.json").read_text())["(0, 1, 2, 3)"]
    for step in ("step0", "step1"):
        reduces = {key: ranks for key, ranks in document[step].items() if key.startswith("hcom_allReduce")}
        wanted = {
            int(rank): [
                entry["Communication Time Info"][f"{title} Time(ms)"] for title in ("Elapse", "Synchronization")
            ]
            for ranks in reduces.values()
            for rank, entry in ranks.items()
        }
        found = {
            row["rank_id"]: [row["elapsed_time"], row["synchronization_time"]]
            for row in times
            if row["step"] == step and row["hccl_op_name"].startswith("hcom_allReduce")
        }
        assert found.keys() == wanted.keys() == set(RANKS)
        for rank, numbers in wanted.items():
            assert found[rank] == pytest.approx(numbers, abs=1e-6)
    assert {(row["src_rank"], row["dst_rank"]) for row in links} >= {(one, two) for one in RANKS for two in RANKS}
    with (of_texts / "cluster_step_trace_time.csv").open() as file:
        shown = {(row["Step"], row["Index"]): row for row in csv.DictReader(file) if row["Type"] == "rank"}
    counted = {(row["step"], row["index"]): row for row in steps if row["type"] == "rank"}
    assert counted.keys() == shown.keys()
    for key, row in counted.items():
        assert row["computing"] == pytest.approx(float(shown[key]["Computing"]))
        assert row["communication"] == pytest.approx(float(shown[key]["Communication"]))
