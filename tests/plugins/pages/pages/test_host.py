"""The host page against the files that the toolkit leaves of the same samples, and against api_statistic.csv."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from attrs import evolve

from drynpu.deliverables.host.files import csv_files
from drynpu.views.content import EMPTY, Chart, Facts, Note, Table, find_block, flat
from drynpu.views.runs import Rank, View
from drynpu.writers.number_text import Writer
from drynpu_pages.pages import find_page

PAGE = find_page("host")
SECOND = 1_000_000_000


def with_tables(view: View, tables: Mapping[str, list[tuple[Any, ...]]], **frames: pl.DataFrame) -> View:
    """Return a view of the same run with other samples of the host."""
    profile = view.rank.profile
    named = {name: pl.DataFrame(rows, schema=profile.schemas[name], orient="row") for name, rows in tables.items()}
    rank = Rank(view.rank.path, None)
    vars(rank)["profile"] = evolve(profile, group_tables={**profile.group_tables, **named}, **frames)
    return View(view.run, rank)


@pytest.fixture
def sampled(view: View) -> View:
    return with_tables(
        view,
        {
            "host_cpu_usage": [
                (0, "Avg", 30.0, 2), (0, "0", 60.0, 2), (0, "1", 0.0, 2),
                (SECOND, "Avg", 10.0, 2), (SECOND, "0", 4.0, 2), (SECOND, "1", 16.0, 2),
            ],
            "host_memory_usage": [(0, 1.5, 4_000_000), (SECOND, 2.25, 4_000_000)],
            "host_disk_usage": [(0, 512.0, 3.0, None), (SECOND, 128.0, 70.5, None)],
            "host_network_usage": [(0, None, 17.25, None), (SECOND, None, 11.0, None)],
            "host_cpu_times": [
                (0, "cpu0", 100, 50, 10, 0, 0, 840, 1000),
                (SECOND, "cpu0", 130, 60, 12, 0, 0, 898, 1100),
            ],
            "host_cpu_shares": [(0, 7, "python", 0.5), (SECOND, 7, "python", 0.25), (0, 8, "sshd", 0.125)],
            "host_process_memory": [(0, 7, "python", 5000, 1024, 256), (SECOND, 7, "python", 5000, 3072, 256)],
            "host_memory": [],
        },
    )  # fmt: skip


def facts(view: View) -> dict[str, str]:
    return {f.label: f.text for block in flat(PAGE.build(view)) if isinstance(block, Facts) for f in block.facts}


def test_peaks_are_those_of_the_files(sampled: View) -> None:
    files = csv_files(sampled.rank.profile, Writer.PYTHON)
    shown = facts(sampled)
    memory_kb = float(files["host_mem_usage"]["Peak Used Memory(KB)"][0])
    assert shown["Memory"] == f"{memory_kb / 1024:.2f} MiB" == "87.89 MiB"
    disk = files["host_disk_usage"].row(0, named=True)
    assert (float(disk["Peak Disk Read(KB/s)"]), float(disk["Peak Disk Write(KB/s)"])) == (512.0, 70.5)
    assert (shown["Disk read"], shown["Disk write"]) == ("512.0 KiB/s", "70.50 KiB/s")
    assert shown["Network"] == "17.25 KiB/s"
    # The toolkit's file has no rates where the speed of the link is unknown.
    assert files["host_network_usage"]["Peak Used Speed(KB/s)"][0] == "N/A"
    assert (shown["Processor"], shown["Cores"]) == ("20.0 %", "2")
    assert files["host_cpu_usage"]["Total Cpu Numbers"][0] == "2"


def test_processes_are_those_of_the_files(sampled: View) -> None:
    files = csv_files(sampled.rank.profile, Writer.PYTHON)
    rows = find_block(PAGE.build(sampled), "processes", Table).frame.to_dicts()
    expected = {int(row["PID"]): float(row["CPU(%)"]) for row in files["process_cpu_usage"].iter_rows(named=True)}
    assert {row["pid"]: row["cpu_pct"] for row in rows} == pytest.approx(expected)
    assert rows[0]["resident_mib"] == float(files["process_mem"]["Resident(pages)"][0]) * 4 / 1024 == 8.0
    assert rows[1]["resident_mib"] is None


def test_the_machine_is_shown_between_samples(sampled: View) -> None:
    figure = find_block(PAGE.build(sampled), "machine-cpu", Chart).draw()
    assert {trace.name: list(trace.y) for trace in figure.data} == {
        "user": [30.0], "system": [10.0], "waiting for disks": [2.0], "idle": [58.0],
    }  # fmt: skip


def test_collections_add_up(view: View) -> None:
    gc = pl.DataFrame({"pid": [5, 5], "start_ns": [1000, 9000], "end_ns": [3500, 9250]})
    shown = facts(with_tables(view, {}, gc=gc))
    assert (shown["Collections"], shown["Total time"], shown["Longest"]) == ("2", "2.75 us", "2.50 us")


def test_calls_are_those_of_the_file(view: View, recorded: Path) -> None:
    with (recorded / "ASCEND_PROFILER_OUTPUT" / "api_statistic.csv").open(newline="") as file:
        expected = {(row["Level"], row["API Name"]): float(row["Time(us)"]) for row in csv.DictReader(file)}
    rows = find_block(PAGE.build(view), "calls", Table).frame
    assert {(row["level"], row["name"]): row["time_us"] for row in rows.iter_rows(named=True)} == pytest.approx(
        expected, abs=1e-3
    )


def test_what_was_not_sampled_is_told_with_its_option(view: View) -> None:
    notes = [block.text for block in PAGE.build(view) if isinstance(block, Note) and block.kind == EMPTY]
    assert any("host_sys of torch_npu.profiler" in text for text in notes)
    assert any("gc_detect_threshold of torch_npu.profiler" in text for text in notes)
    assert any("--host-sys-usage of msprof" in text for text in notes)
