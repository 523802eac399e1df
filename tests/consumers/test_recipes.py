"""Recipes beside the vendor's: the same tables with the same numbers of the same databases."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from drynpu.options import ExportType
from drynpu.products import export_torch, load_profile
from drynpu_cluster import FOLDER, find_cluster
from drynpu_cluster.recipes import RECIPES, run_recipe
from drynpu_cluster.synth import SynthOptions, synthesise

pytestmark = pytest.mark.slow

Tool = Callable[..., "subprocess.CompletedProcess[str]"]

GENUINE = Path(os.environ.get("GENUINE_PROFILES") or Path(__file__).parents[3] / "shared" / "data") / "genuine"
EXPERTS = json.dumps({"ep": {"group_name": "exp", "global_ranks": [0, 1, 2, 3, 4, 5]}})


def add_what_stands_out(path: Path, rank: int) -> None:
    """Add frequencies, a link that was slow once, and grouped products, to the database of a rank."""
    with closing(sqlite3.connect(path)) as connection:
        device, instant = connection.execute("SELECT deviceId, max(timestampNs) FROM AICORE_FREQ").fetchone()
        for freq in {1: (800,), 2: (800, 1000)}.get(rank, ()):
            connection.execute("INSERT INTO AICORE_FREQ VALUES (?, ?, ?, -1)", (device, instant + 1, freq))
        row = connection.execute("SELECT * FROM COMMUNICATION_OP WHERE count > 0 LIMIT 1").fetchone()
        connection.execute("INSERT INTO STRING_IDS VALUES (900001, 'hcom_broadcast_'), (900002, 'GroupedMatmul')")
        connection.execute("INSERT INTO STRING_IDS VALUES (900003, ?)", (f'"{8 + rank},16;4,16;16,4;4"',))
        for number in range(14):
            name, length = 900_100 + number, 90_000 if number == 13 else 1000 + number
            connection.execute("INSERT INTO STRING_IDS VALUES (?, ?)", (name, f"hcom_broadcast__178_{number}_1"))
            # No two ranks take the same time: whom the vendor names of several depends on the disk.
            new = [
                name,
                row[1],
                row[1] + length + rank,
                row[3],
                row[4],
                500_000 + number,
                *row[6:11],
                900_001,
                *row[12:],
            ]
            connection.execute(f"INSERT INTO COMMUNICATION_OP VALUES ({','.join('?' * len(new))})", new)
        connection.execute("UPDATE COMPUTE_TASK_INFO SET opType = 900002, inputShapes = 900003 WHERE rowid % 2 = 0")
        connection.execute("UPDATE META_DATA SET value = ? WHERE name = 'parallel_group_info'", (EXPERTS,))
        connection.commit()


@pytest.fixture(scope="module")
def cluster(four_ranks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recipes")
    run = shutil.copytree(four_ranks, folder / "run")
    for directory in run.iterdir():
        export_torch(load_profile(directory), [ExportType.DB])
    synthesise(find_cluster(run), folder / "many", SynthOptions(6, slow_rank=4, slow_factor=3.0))
    for path in (folder / "many").glob("*/*/ascend_pytorch_profiler_*.db"):
        add_what_stands_out(path, int(path.stem.rpartition("_")[2]))
    return folder / "many"


def tables_of(folder: Path) -> dict[str, list[list[object]]]:
    with closing(sqlite3.connect(folder / FOLDER / "cluster_analysis.db")) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables: dict[str, list[list[object]]] = {}
        for name in names:
            cursor = connection.execute(f"SELECT * FROM {name}")
            titles = [column[0] for column in cursor.description]
            rows = [[_cell(title, cell) for title, cell in zip(titles, row, strict=True)] for row in cursor]
            tables[name] = [list(titles), *sorted(rows, key=str)]
    return tables


def _cell(title: str, cell: object) -> object:
    """
    Return a cell to compare: numbers to nine digits, and ranks of a group in order, which the vendor's are not.

    The fastest and slowest of a link are each all ranks of one collective; which of them the vendor names depends on
    the disk.
    """
    if title in ("minRank", "maxRank") and isinstance(cell, int):
        return "some rank"
    if isinstance(cell, (int, float)):
        return f"{float(cell):.9g}"
    # The vendor joins ranks of equal values, "1, 0", in the order in which its processes end.
    if title in ("minRank", "maxRank"):
        return sorted(str(cell).split(", "))
    return sorted(str(cell).split(";")) if title == "Ranks" else cell


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_gives_the_tables_of_the_vendor(
    msprof_analyze: Tool, cluster: Path, name: str, tmp_path: Path
) -> None:
    done = msprof_analyze("cluster", "-m", name, "-d", cluster, "-o", tmp_path / "theirs", "--force")
    result = run_recipe(find_cluster(cluster), name, tmp_path / "ours")
    ours, theirs = tables_of(tmp_path / "ours"), tables_of(tmp_path / "theirs")
    assert theirs, done.stdout
    assert ours == theirs
    assert set(result.tables) == set(theirs)


@pytest.mark.skipif(
    not (GENUINE / "torch_db_level1").is_dir(), reason="THERE ARE NO GENUINE PROFILES: set GENUINE_PROFILES"
)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.exhaustive if i % 4 else ()) for i, name in enumerate(RECIPES)]
)
def test_genuine_ranks_give_the_tables_of_the_vendor(msprof_analyze: Tool, name: str, tmp_path: Path) -> None:
    run = shutil.copytree(GENUINE / "torch_db_level1", tmp_path / "run")
    msprof_analyze("cluster", "-m", name, "-d", run, "-o", tmp_path / "theirs", "--force")
    result = run_recipe(find_cluster(run), name, tmp_path / "ours")
    if not (tmp_path / "theirs" / FOLDER / "cluster_analysis.db").is_file():
        assert dict(result.tables) == {}
        return
    assert tables_of(tmp_path / "ours") == tables_of(tmp_path / "theirs")
