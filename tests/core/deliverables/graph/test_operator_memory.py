"""memory_record and operator_memory of the toolkit."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from attrs import evolve

from drynpu.analysis import toolkit_memory
from drynpu.deliverables.operator_memory.tables import CANN_ALLOCATIONS
from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.kernels import Allocations
from drynpu.products import export_msprof
from drynpu.raw import ProfReader
from drynpu.tables import Profile

Record = Callable[..., Profile]
Exported = Callable[..., dict[str, Path]]
RECORD = "Device_id,Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device"
OPERATOR = (
    "Device_id,Name,Size(KB),Allocation Time(us),Duration(us),Allocation Total Allocated(KB),"
    "Allocation Total Reserved(KB),Release Total Allocated(KB),Release Total Reserved(KB),Device"
)


def table(path: Path) -> tuple[str, list[list[str]]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return lines[0], list(csv.reader(lines))[1:]


def us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}\t"


def test_memory_belongs_to_the_operator_that_allocated(record: Record) -> None:
    events = record().frame("cann_allocations")
    # 64 KiB and 2 KiB in blocks of the allocator; what came before the recording leaves no trace.
    assert events.select("name", "size_bytes").rows() == [
        ("fp32_vars/first", 66048),
        ("Conv2D", 2560),
        ("fp32_vars/first", -66048),
    ]
    assert events["total_allocated_bytes"].to_list() == [66048, 68608, 2560]


def test_files(record: Record, exported: Exported) -> None:
    events = record(name="tables").frame("cann_allocations").rows(named=True)
    files = exported()
    header, rows = table(files["memory_record.csv"])
    assert header == RECORD
    assert rows == [
        ["0", "GE", us(event["time_ns"]), str(event["total_allocated_bytes"] / 1024), "2048.0", "NPU:0"]
        for event in events
    ]
    header, rows = table(files["operator_memory.csv"])
    assert header == OPERATOR
    taken, kept, released = events
    lasted = round((released["time_ns"] - taken["time_ns"]) / 1000, 3)
    assert rows == [
        [
            "0", "fp32_vars/first", "64.5", us(taken["time_ns"]), str(lasted),
            "64.5", "2048.0", "2.5", "2048.0", "NPU:0",
        ],
        ["0", "Conv2D", "2.5", us(kept["time_ns"]), "", "67.0", "2048.0", "", "", "NPU:0"],
    ]  # fmt: skip


def test_a_framework_that_reports_its_allocator_is_not_reported_twice(record: Record) -> None:
    profile = record(profile_memory=True)
    assert profile.frame("cann_allocations").is_empty()
    assert profile.allocations.height > 0
    assert record(task_memory=False, name="off").frame("cann_allocations").is_empty()


def test_a_recording_without_allocations_has_no_files(exported: Exported) -> None:
    files = exported(recording={"allocations": Allocations.empty(), "dataset": ()})
    assert not {"memory_record.csv", "operator_memory.csv"} & set(files)


def events(*rows: tuple[int, str, int, int]) -> pl.DataFrame:
    columns = [
        {
            "device_id": 0,
            "time_ns": time,
            "name": name,
            "address": address,
            "size_bytes": size,
            "total_allocated_bytes": 10 * time,
            "total_reserved_bytes": 100,
        }
        for time, name, address, size in rows
    ]
    return pl.DataFrame(columns, schema=CANN_ALLOCATIONS)


def test_releases_find_the_allocation_of_their_operator_and_address(record: Record) -> None:
    profile = evolve(
        record(),
        group_tables={
            "cann_allocations": events(
                (1, "b", 1, -7), (2, "a", 1, 5), (3, "b", 1, 6), (4, "a", 1, -5), (5, "a", 1, 8), (6, "a", 1, -8)
            )
        },
    )
    found = toolkit_memory(profile).select("name", "size_bytes", "allocation_ns", "release_ns")
    assert found.rows() == [("", -7, None, 1), ("a", 5, 2, 4), ("a", 8, 5, 6), ("b", 6, 3, None)]
    _, rows = table(next(path for path in export_msprof(profile) if path.name.startswith("operator_memory")))
    assert rows[0][1:7] == ["", "-0.007", "", "", "", ""]
    assert rows[0][7:] == ["0.01", "0.098", "NPU:0"]


def test_records_carry_what_the_layout_asks(record: Record) -> None:
    profile = record()
    assert profile.prof_path is not None
    rows: Any = ProfReader(profile.prof_path, RECORD_KINDS).read("task_memory_info")
    assert set(rows["device_type"]) == {20}
    assert np.array_equal(rows["address"], [4096, 8192, 4096])
