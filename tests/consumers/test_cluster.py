"""Drynpu's cluster analysis beside the vendor's: the same files with the same numbers of the same directories."""

from __future__ import annotations

import ast
import csv
import json
import os
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
from drynpu_cluster import FOLDER, analyse_cluster, find_cluster
from drynpu_cluster.synth import SynthOptions, synthesise

pytestmark = pytest.mark.slow

Tool = Callable[..., "subprocess.CompletedProcess[str]"]

GENUINE = Path(os.environ.get("GENUINE_PROFILES") or Path(__file__).parents[3] / "shared" / "data") / "genuine"


def sorted_sets(value: object) -> Any:
    """Sort the ranks in keys and lists: the vendor writes sets in the order in which Python happens to hold them."""
    if isinstance(value, dict):
        keys = (str(tuple(sorted(ast.literal_eval(key)))) if key.startswith("(") else key for key in value)
        return {key: sorted_sets(content) for key, content in zip(keys, value.values(), strict=True)}
    return value


def sorted_groups(document: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {key: sorted(rows, key=str) for key, rows in document.items()}


def rows_of(path: Path) -> list[list[str]]:
    """Return the rows of a csv in order, the ranks of stages as well: the vendor keeps the order of the disk."""
    with path.open(newline="") as file:
        rows = [list(row) for row in csv.reader(file)]
    for row in rows:
        if row[1] == "stage":
            row[2] = str(tuple(sorted(ast.literal_eval(row[2]))))
    return sorted(rows)


def tables_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables: dict[str, list[tuple[object, ...]]] = {}
        for name in names:
            cursor = connection.execute(f"SELECT * FROM {name}")
            titles = tuple(column[0] for column in cursor.description)
            tables[name] = [titles, *sorted(cursor.fetchall(), key=lambda row: str([_text(cell) for cell in row]))]
    return tables


def _text(cell: object) -> str:
    return f"{float(cell):.9g}" if isinstance(cell, (int, float)) else str(cell)


def check_equal(ours: Path, theirs: Path) -> None:
    assert {path.name for path in ours.iterdir()} == {path.name for path in theirs.iterdir()}
    for path in theirs.iterdir():
        if path.suffix == ".db":
            assert tables_of(ours / path.name) == tables_of(path)
        elif path.suffix == ".csv":
            assert rows_of(ours / path.name) == rows_of(path)
        else:
            change = sorted_groups if path.name == "communication_group.json" else sorted_sets
            assert change(json.loads((ours / path.name).read_text())) == change(json.loads(path.read_text()))


def compare(msprof_analyze: Tool, source: Path, tmp_path: Path) -> Path:
    """Analyse a run with both, compare all that they write, and return the folder of ours."""
    done = msprof_analyze("cluster", "-m", "all", "-d", source, "-o", tmp_path / "theirs", "--force")
    assert "[ERROR]" not in done.stdout, done.stdout
    analyse_cluster(find_cluster(source), tmp_path / "ours")
    check_equal(tmp_path / "ours" / FOLDER, tmp_path / "theirs" / FOLDER)
    return tmp_path / "ours" / FOLDER


def as_databases(run: Path, folder: Path) -> Path:
    shutil.copytree(run, folder)
    for directory in folder.iterdir():
        export_torch(load_profile(directory), [ExportType.DB])
    return folder


def test_texts_give_the_files_of_the_vendor(msprof_analyze: Tool, four_ranks: Path, tmp_path: Path) -> None:
    folder = compare(msprof_analyze, four_ranks, tmp_path)
    assert {path.name for path in folder.iterdir()} == {
        "cluster_step_trace_time.csv",
        "cluster_communication.json",
        "cluster_communication_matrix.json",
        "communication_group.json",
    }


def test_databases_give_the_database_of_the_vendor(msprof_analyze: Tool, four_ranks: Path, tmp_path: Path) -> None:
    folder = compare(msprof_analyze, as_databases(four_ranks, tmp_path / "run"), tmp_path)
    counts = {name: len(rows) - 1 for name, rows in tables_of(folder / "cluster_analysis.db").items()}
    assert min(counts.values()) > 0
    assert {"ClusterCommunicationTime", "ClusterCommunicationBandwidth", "ClusterCommunicationMatrix"} <= set(counts)


@pytest.mark.parametrize("form", ["text", "db"])
def test_synthetic_ranks_open_in_the_tool_of_the_vendor(
    msprof_analyze: Tool, four_ranks: Path, form: str, tmp_path: Path
) -> None:
    run = four_ranks if form == "text" else as_databases(four_ranks, tmp_path / "run")
    options = SynthOptions(10, slow_rank=5, slow_factor=3.0)
    synthesise(find_cluster(run), tmp_path / "many", options)
    compare(msprof_analyze, tmp_path / "many", tmp_path)


@pytest.mark.parametrize("form", ["text", "db"])
def test_synthetic_ranks_with_the_links_of_a_topology_too(
    msprof_analyze: Tool, four_ranks: Path, form: str, tmp_path: Path
) -> None:
    run = four_ranks if form == "text" else as_databases(four_ranks, tmp_path / "run")
    topology = tmp_path / "cluster.yaml"
    topology.write_text("devices: 2\nhccs: {gbs: 28}\nsuper_node: {nodes: 2, gbs: 49}\nroce: {gbs: 25}\n")
    options = SynthOptions(16, slow_link=(6, 7), topology=str(topology))
    synthesise(find_cluster(run), tmp_path / "many", options)
    folder = compare(msprof_analyze, tmp_path / "many", tmp_path)
    if form == "db":
        # Node r // 2 and device r % 2 of rank r, as the vendor's analysis reads them.
        tables = tables_of(folder / "cluster_analysis.db")
        assert sorted(tables["RankDeviceMap"][1:])[9][:2] == (9, 1)
        assert len(tables["HostInfo"]) == 1 + 8


def state_a_pipeline(run: Path) -> None:
    """Let all ranks say that 0 and 1 are the stages of a pipeline, as 2 and 3 are, and 0, 2 and 1, 3 do the same."""
    pairs = {"pp0": [0, 1], "pp2": [2, 3]}
    groups = {name: {"group_name": "pp", "global_ranks": ranks} for name, ranks in pairs.items()}
    sizes = ("world_size", "tensor_model_parallel_size", "pipeline_model_parallel_size", "data_parallel_size")
    arguments = dict(zip(sizes, (4, 1, 2, 2), strict=True))
    for directory in run.iterdir():
        document = {"parallel_group_info": groups, "distributed_args": {**arguments, "rank": 0}}
        (directory / "profiler_metadata.json").write_text(json.dumps(document))
        # One stage has the reduction of its two ranks alone: groups across pipelines make no stage.
        path = directory / "ASCEND_PROFILER_OUTPUT" / "communication.json"
        rank = int(next(directory.glob("profiler_info_*.json")).stem.rpartition("_")[2])
        renamed = path.read_text().replace("@12936441508764", f"@stage{rank % 2}")
        path.write_text(renamed)
        matrix = path.with_name("communication_matrix.json")
        matrix.write_text(matrix.read_text().replace("@12936441508764", f"@stage{rank % 2}"))


def test_stages_of_pipelines_and_places_of_ranks_are_those_of_the_vendor(
    msprof_analyze: Tool, four_ranks: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(four_ranks, tmp_path / "run")
    state_a_pipeline(run)
    folder = compare(msprof_analyze, run, tmp_path)
    rows = rows_of(folder / "cluster_step_trace_time.csv")
    assert {row[2] for row in rows if row[1] == "stage"} == {"(0, 2)", "(1, 3)"}
    assert rows[-1][-3:] == ["DP Index", "PP Index", "TP Index"]


def test_stages_in_databases_are_those_of_the_vendor(msprof_analyze: Tool, four_ranks: Path, tmp_path: Path) -> None:
    run = as_databases(four_ranks, tmp_path / "run")
    for directory in run.iterdir():
        rank = int(next(directory.glob("profiler_info_*.json")).stem.rpartition("_")[2])
        groups = {name: {"group_name": "pp", "global_ranks": [low, low + 1]} for name, low in (("pp0", 0), ("pp2", 2))}
        arguments = {"world_size": 4, "pipeline_model_parallel_size": 2, "data_parallel_size": 2, "rank": rank}
        (directory / "profiler_metadata.json").write_text(json.dumps({"distributed_args": arguments}))
        output = directory / "ASCEND_PROFILER_OUTPUT"
        with closing(sqlite3.connect(output / f"ascend_pytorch_profiler_{rank}.db")) as connection:
            connection.execute("DELETE FROM META_DATA WHERE name = 'parallel_group_info'")
            connection.execute("INSERT INTO META_DATA VALUES ('parallel_group_info', ?)", (json.dumps(groups),))
            connection.commit()
        with closing(sqlite3.connect(output / "analysis.db")) as connection:
            for table in ("CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix"):
                connection.execute(
                    f"UPDATE {table} SET group_name = ? WHERE group_name = '12936441508764'", (f"stage{rank % 2}",)
                )
            connection.commit()
    folder = compare(msprof_analyze, run, tmp_path)
    rows = tables_of(folder / "cluster_analysis.db")["ClusterStepTraceTime"]
    assert {row[2] for row in rows if row[1] == "stage"} == {"(0,2)", "(1,3)"}


@pytest.mark.parametrize("form", ["text", "db"])
def test_genuine_ranks_give_the_numbers_of_the_vendor(msprof_analyze: Tool, form: str, tmp_path: Path) -> None:
    source = GENUINE / f"torch_{form}_level1"
    if not source.is_dir():
        pytest.skip(f"GENUINE PROFILES ARE MISSING: {source}")
    compare(msprof_analyze, source, tmp_path)
