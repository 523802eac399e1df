"""The comparison of whole runs: what it lets pass, what it reports, and what it gives to the vendor's analysis."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
import run_comparison
import torch_runs


@pytest.fixture
def outputs(tmp_path: Path) -> tuple[Path, Path]:
    folders = (tmp_path / "ours", tmp_path / "theirs")
    for folder in folders:
        folder.mkdir()
        (folder / "analyse.done").touch()
    return folders


@pytest.mark.parametrize(
    ("ours", "theirs", "column", "equal"),
    [
        ("7.1", "7.1", "Computing", True),
        ("7.1", "7.100000000000001", "Computing", True),
        ("7.1", "7.101", "Computing", False),
        ("13686.58", "13686.5", "Stage", True),
        ("905.46", "905.5", "Preparing", True),
        ("905.46", "906.0", "Preparing", False),
        ("1", "", "Step Id", False),
    ],
)
def test_cells(ours: str, theirs: str, column: str, equal: bool) -> None:
    assert run_comparison.same_cell(ours, theirs, column) is equal


def test_files_of_one_side_and_rows_that_differ(outputs: tuple[Path, Path]) -> None:
    ours, theirs = outputs
    (ours / "kernel_details.csv").write_text("Name,Step Id\nk,1\nk,2\n")
    (theirs / "kernel_details.csv").write_text("Name,Step Id\nk,1\nk,3\n")
    (theirs / "operator_details.csv").write_text("Name\nmm\n")
    (ours / "communication.json").write_text(json.dumps({"step1": {"p2p": {"a": [1, 0.30000000000000004]}}}))
    (theirs / "communication.json").write_text(json.dumps({"step1": {"p2p": {"a": [1, 0.3]}}}))
    found = run_comparison.compare_runs(ours, theirs)
    assert [(of.file, of.equal, of.rows, of.differences) for of in found] == [
        ("operator_details.csv", 0, 1, ("only theirs",)),
        ("kernel_details.csv", 1, 2, ("Step Id, 1 rows: row 1: '2' and '3'",)),
        ("communication.json", 2, 2, ()),
    ]


def database(path: Path, shift: int, connections: list[int]) -> None:
    """Write one operator under numbers of its own."""
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE STRING_IDS (id, value)")
        made.executemany("INSERT INTO STRING_IDS VALUES (?, ?)", [(shift, "aten::mm"), (shift + 1, "train.py(3): f")])
        made.execute("CREATE TABLE CONNECTION_IDS (id, connectionId)")
        made.executemany("INSERT INTO CONNECTION_IDS VALUES (?, ?)", [(2, number) for number in connections])
        made.execute("CREATE TABLE PYTORCH_CALLCHAINS (id, stack, stackDepth)")
        made.execute("INSERT INTO PYTORCH_CALLCHAINS VALUES (?, ?, 0)", (shift + 3, shift + 1))
        made.execute("CREATE TABLE PYTORCH_API (name, connectionId, callchainId, startNs)")
        made.execute("INSERT INTO PYTORCH_API VALUES (?, ?, ?, '7')", (shift, 2, shift + 3))


def test_numbers_of_databases_are_what_they_stand_for(outputs: tuple[Path, Path]) -> None:
    ours, theirs = outputs
    database(ours / "ascend_pytorch_profiler_1.db", 100, [4, 5])
    database(theirs / "ascend_pytorch_profiler_1.db", 900, [5, 4])
    (found,) = run_comparison.compare_runs(ours, theirs)
    assert (found.file, found.equal, found.rows) == ("ascend_pytorch_profiler.db", 3, 3)
    (theirs / "ascend_pytorch_profiler_1.db").unlink()
    database(theirs / "ascend_pytorch_profiler_1.db", 900, [5])
    (found,) = run_comparison.compare_runs(ours, theirs)
    assert (found.equal, len(found.differences)) == (2, 2)
    assert found.differences[0].startswith(
        "PYTORCH_API: 1 rows of ours alone: ('aten::mm', (2, (4,), (5,)), ((0, 'train"
    )


def test_arrows_of_the_framework_differ_in_nothing_but_their_id() -> None:
    layer = {"name": "process_name", "ph": "M", "pid": 7, "args": {"name": "Python"}}
    arrow = {"name": "torch_to_npu", "ph": "s", "cat": "async_npu", "id": 5, "pid": 7, "tid": 1, "ts": "1.000"}
    flow = {**arrow, "name": "fwdbwd"}
    ours, moved = ([layer, arrow, flow], [layer, {**arrow, "id": 6}, {**flow, "id": 6}])
    shared = run_comparison.trace_events(ours) & run_comparison.trace_events(moved)
    assert [json.loads(rest)["name"] for *_, rest in shared] == ["process_name", "torch_to_npu"]
    assert {layer for layer, *_ in shared} == {"Python"}


def test_runs_and_the_command_that_stands_in(tmp_path: Path) -> None:
    assert [run.name for run in torch_runs.all_runs(["Ascend910B2"], every=False)] == [
        "Ascend910B2-run-Level1-text-db-1",
        "Ascend910B2-run-Level1-text-db-2",
        "Ascend910B2-run-Level1-text-db-4",
    ]
    every = [run.name for run in torch_runs.all_runs(["Ascend910B2"], every=True)]
    assert len(every) == len(set(every)) == 3 * 3 * 3 + 2 * 7
    assert "Ascend910B2-run-Level2-text-db-1-MemoryAccess" in every
    folder = torch_runs.place_msprof(tmp_path)
    # Where the analysis looks for the toolkit's script, seen from the command.
    root = Path(str(folder).partition("tools")[0])
    assert (root / "tools/profiler/profiler_tool/analysis/msprof/msprof.py").is_file()
    done = subprocess.run([folder / "msprof", "--help"], capture_output=True, text=True, check=True)
    assert "--type" in done.stdout
