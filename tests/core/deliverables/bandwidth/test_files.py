"""Files, layers and database rows of memory and caches, of samples made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from drynpu.deliverables.bandwidth.files import csv_files, db_rows, layers
from drynpu.deliverables.bandwidth.tables import SCHEMAS
from drynpu.platforms._platform import PlatformFiles
from drynpu.writers.number_text import Writer
from drynpu.writers.trace_json import COMPACT, write_trace

US = 1000
MEMORY = [
    (0, US, "hbm", 0, "read", 10, 1.0),
    (0, US, "hbm", 1, "read", 10, 4.0),
    (0, US, "hbm", 1, "write", 10, 16.0),
    (0, 2 * US, "hbm", 0, "read", 10, 3.0),
    (0, US, "ddr", -1, "write", 10, 64.0),
    (0, US, "ddr", -1, "read", 10, 32.0),
    (0, 2 * US, "ddr", -1, "read", 10, 128.0),
]
CACHES = [(0, US, 0, "read", 0.5, 100.0), (0, US, 1, "read", 0.25, 300.0)]
TASKS = [(0, 2, 7, "MatMul", 8, 6, 1), (0, 2, 8, "", 0, 0, 0)]


def profile(*, shows_hits: bool = True, tasks: list[Any] = TASKS) -> Any:
    rows = {"memory_bandwidth": MEMORY, "llc_samples": CACHES, "l2_cache_tasks": tasks}
    frames = {name: pl.DataFrame(rows[name], schema=schema, orient="row") for name, schema in SCHEMAS.items()}
    platform = SimpleNamespace(files=PlatformFiles(l2_hit_rate=shows_hits))
    return SimpleNamespace(pid=4321, frame=frames.__getitem__, platform=platform)


def test_caches_are_shown_one_by_one_behind_their_mean() -> None:
    found = csv_files(profile(), Writer.NATIVE)["llc_read_write"]
    assert [[*row[:3], *map(float, row[3:])] for row in found.rows()] == [
        ["0", "read", "Average", 37.5, 200.0],
        ["0", "read", "0", 50.0, 100.0],
        ["0", "read", "1", 25.0, 300.0],
    ]


@pytest.mark.parametrize("shows_hits", [True, False])
def test_tasks_have_shares_of_their_requests(shows_hits: bool) -> None:
    found = csv_files(profile(shows_hits=shows_hits), Writer.NATIVE)["l2_cache"]
    hits = ["0.75", "0.0"] if shows_hits else ["N/A", "N/A"]
    assert found["Hit Rate"].to_list() == hits
    assert found["Victim Rate"].to_list() == ["0.125", "0.0"]
    assert found["Op Name"].to_list() == ["MatMul", "N/A"]
    assert "Op Name" not in csv_files(profile(tasks=TASKS[1:]), Writer.NATIVE)["l2_cache"].columns


def test_rows_of_the_database_are_bytes_and_percent() -> None:
    found = dict(db_rows(profile()))
    mb = 2**20
    hbm = found["HBM"]
    assert hbm["bandwidth"].to_list() == [1 * mb, 4 * mb, 16 * mb, 3 * mb]
    assert hbm["hbmId"].to_list() == [0, 1, 1, 0]
    assert found["DDR"].select("read", "write").rows() == [(32 * mb, 64 * mb), (128 * mb, 0)]
    assert found["LLC"].select("hitRate", "throughput").rows() == [(50.0, 100 * mb), (25.0, 300 * mb)]


def test_layers_have_a_counter_for_each_unit_and_way(tmp_path: Path) -> None:
    assert write_trace(tmp_path / "t.json", layers(profile(), COMPACT, Writer.NATIVE), COMPACT)
    events = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    shown = [(event["name"], float(event["ts"]), event["args"]) for event in events if event["ph"] == "C"]
    assert shown == [
        ("DDR/Read", 1.0, {"Read(MB/s)": 32.0}),
        ("DDR/Read", 2.0, {"Read(MB/s)": 128.0}),
        ("DDR/Write", 1.0, {"Write(MB/s)": 64.0}),
        ("HBM 0/Read", 1.0, {"Read(MB/s)": 1.0}),
        ("HBM 1/Read", 1.0, {"Read(MB/s)": 4.0}),
        ("HBM 0/Read", 2.0, {"Read(MB/s)": 3.0}),
        ("HBM 1/Write", 1.0, {"Write(MB/s)": 16.0}),
        ("LLC 0 Read/Hit Rate", 1.0, {"Hit Rate(%)": 0.5}),
        ("LLC 1 Read/Hit Rate", 1.0, {"Hit Rate(%)": 0.25}),
        ("LLC 0 Read/Throughput", 1.0, {"Throughput(MB/s)": 100.0}),
        ("LLC 1 Read/Throughput", 1.0, {"Throughput(MB/s)": 300.0}),
    ]
