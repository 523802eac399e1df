"""One deliverable that raises costs itself: a line names it, and the others are written as without the mistake."""

from __future__ import annotations

import importlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from attrs import evolve

from drynpu import OutputError
from drynpu.deliverables.registry import GROUPS
from drynpu.options import ExportType, ProfilingRequest, Switches
from drynpu.products import export_msprof, export_result, load_profile
from drynpu.tables import Profile
from drynpu.writers.db import Table, new_database, tables_by_name
from drynpu.writers.text_table import TextTable
from drynpu.writers.trace_json import COMPACT, Events, write_trace

TORCH, TOOLKIT = "drynpu.products.torch._export", "drynpu.products.toolkit._msprof"
FORMS = (ExportType.TEXT, ExportType.DB)
RAISES = {
    "write_trace": "trace_view.json",
    "operator_details_table": "operator_details.csv",
    "operator_memory_table": "operator_memory.csv",
    "memory_record_table": "memory_record.csv",
    "kernel_details": "kernel_details.csv",
    "step_trace_table": "step_trace_time.csv",
    "task_time_table": "task_time.csv",
    "op_statistic_table": "op_statistic.csv",
    "api_statistic_table": "api_statistic.csv",
    "export_torch_db": "the databases",
}
OF_TOOLKIT = {
    "write_trace": "msprof_",
    "whole_op_summary": "op_summary.csv",
    "api_statistic_table": "api_statistic.csv",
    "task_time_table": "task_time.csv",
    "op_statistic_table": "op_statistic.csv",
}


def fail(*_: object, **__: object) -> Any:
    raise ValueError("a mistake in one file")


@pytest.fixture
def profile(tools: Any, write: Callable[..., Any]) -> Profile:
    rows = [(120_000, 4096, 512), (400_000, 4096, -512)]
    request = ProfilingRequest(switches=Switches(record_shapes=True, profile_memory=True))
    return load_profile(write(tools.mixture(), allocations=tools.allocations(rows), request=request).directory)


def texts(files: list[Path]) -> dict[str, bytes]:
    """Return the bytes of files that are no databases, by name without time stamps; databases have times inside."""
    return {
        "".join(letter for letter in file.name if not letter.isdigit()): b""
        if file.suffix == ".db"
        else file.read_bytes()
        for file in files
    }


def missing(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    assert {name: before[name] for name in after} == after
    return {*before} - {*after}


@pytest.mark.parametrize("function", RAISES)
def test_a_file_of_pytorch_that_raises_costs_itself(
    function: str, profile: Profile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = texts(export_result(profile, FORMS))
    monkeypatch.setattr(importlib.import_module(TORCH), function, fail)
    capsys.readouterr()
    lost = missing(whole, texts(export_result(profile, FORMS)))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"[drynpu] ERROR: {RAISES[function]} cannot be made, the other files are: ValueError(")
    assert lost == ({name for name in whole if name.endswith(".db")} if ".db" in str(lost) else {RAISES[function]})


@pytest.mark.parametrize("function", OF_TOOLKIT)
def test_a_file_of_the_toolkit_that_raises_costs_itself(
    function: str, profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = texts([*(each for each in export_msprof(profile, tmp_path / "whole") if each.name != "README.txt")])
    monkeypatch.setattr(importlib.import_module(TOOLKIT), function, fail)
    capsys.readouterr()
    rest = texts([*(each for each in export_msprof(profile, tmp_path / "rest") if each.name != "README.txt")])
    lines = capsys.readouterr().err.splitlines()
    assert all("cannot be made, the other files are: ValueError" in line for line in lines)
    assert lines[0].startswith(f"[drynpu] ERROR: {OF_TOOLKIT[function]}")
    lost = missing(whole, rest)
    said = {"".join(letter for letter in line.split()[2] if not letter.isdigit()) for line in lines}
    # A table has no time stamp yet; a timeline without a layer of its own is empty.
    assert lost
    assert lost <= said | {name.replace(".csv", "_.csv") for name in said}


@pytest.mark.parametrize("member", ["csv_files", "json_files", "trace_files", "torch_csv_files", "torch_json_files"])
def test_a_group_of_records_that_raises_costs_what_it_has(
    member: str, profile: Profile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = [evolve(each, **{member: fail}) if getattr(each, member) is not None else each for each in GROUPS]
    has = [each.name for each in GROUPS if getattr(each, member) is not None and each.has_rows(profile)]
    whole = texts([*export_result(profile, FORMS), *export_msprof(profile, tmp_path / "whole")])
    capsys.readouterr()
    rest = texts([*export_result(profile, FORMS, broken), *export_msprof(profile, tmp_path / "rest", groups=broken)])
    lines = capsys.readouterr().err.splitlines()
    assert {line.split()[3] for line in lines} <= {*has}
    assert {"trace_view.json", "op_summary_.csv"} <= {*rest} <= {*whole}


def test_a_full_disk_ends_the_export(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> Any:
        raise OutputError("no space left")

    before = texts(export_result(profile, FORMS))
    monkeypatch.setattr(importlib.import_module(TORCH), "task_time_table", full)
    with pytest.raises(OutputError, match="no space left"):
        export_result(profile, FORMS)
    assert texts([*(profile.path / "ASCEND_PROFILER_OUTPUT").iterdir()]).keys() == before.keys()


@pytest.mark.parametrize("member", ["layers", "db_rows"])
def test_a_group_that_raises_in_a_file_costs_its_part(
    member: str, profile: Profile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = [evolve(each, **{member: fail}) if getattr(each, member) is not None else each for each in GROUPS]
    has = {each.name for each in GROUPS if getattr(each, member) is not None and each.has_rows(profile)}
    whole = texts([*export_result(profile, FORMS), *export_msprof(profile, tmp_path / "whole")])
    capsys.readouterr()
    rest = texts([*export_result(profile, FORMS, broken), *export_msprof(profile, tmp_path / "rest", groups=broken)])
    assert {line.split()[3] for line in capsys.readouterr().err.splitlines()} == has != set()
    assert {*rest} == {*whole}
    assert json.loads(rest["trace_view.json"])


def test_rows_that_raise_cost_their_table_and_their_layer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, odd = pl.DataFrame({"globalPid": [1]}), TextTable(("globalPid",), 1, fail)
    good, bad = Events(first, {"n": pl.col("globalPid")}), Events(first, {"n": pl.col("nowhere")})
    assert write_trace(tmp_path / "t.json", [bad, good, bad, good], COMPACT)
    assert json.loads((tmp_path / "t.json").read_text()) == [{"n": 1}, {"n": 1}]
    tables = tables_by_name([Table("A", {"globalPid": "INTEGER"}), Table("B", {"globalPid": "INTEGER"})])
    with new_database(tmp_path / "d.db", tables) as database:
        database.write("A", odd)
        database.write("B", first)
    with closing(sqlite3.connect(tmp_path / "d.db")) as opened:
        assert opened.execute("SELECT * FROM B").fetchall() == [(1,)]
        assert opened.execute("SELECT * FROM A").fetchall() == []
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" cannot be made")[0] for line in lines] == [
        *["[drynpu] ERROR: a layer of t.json"] * 2,
        "[drynpu] ERROR: table A",
    ]
