"""aicpu, dp and aicpu_mi."""

from __future__ import annotations

import csv
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.by_hand import ANCHORS, BEGIN_NS

from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.device.samplers.aicpu import split_aicpu
from drynpu.kernels import KernelSpec, TaskType
from drynpu.options import Level
from drynpu.platforms import load_chip
from drynpu.raw import ProfReader
from drynpu.simulate import DatasetEvent
from drynpu.tables import Profile

Record = Callable[..., Profile]
Exported = Callable[..., dict[str, Path]]


def table(path: Path) -> tuple[str, list[list[str]]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return lines[0], list(csv.reader(lines))[1:]


@pytest.mark.parametrize("chip", ["Ascend910B2", "Ascend910A"])
def test_every_ai_cpu_kernel_has_a_row_inside_its_task(record: Record, exported: Exported, chip: str) -> None:
    kernels = record(chip=chip, name="tables").kernels.filter(pl.col("task_type") == "AI_CPU").rows(named=True)
    header, rows = table(exported(chip=chip)["aicpu.csv"])
    assert header == (
        "Device_id,Timestamp(us),Node,Compute_time(us),Memcpy_time(us),Task_time(us),Dispatch_time(us),"
        "Total_time(us),Stream ID,Task ID"
    )
    assert len(rows) == len(kernels) == 3
    tick_ns = 1e9 / load_chip(chip).hwts_hz
    for row, kernel in zip(rows, kernels, strict=True):
        assert row[1].endswith("\t")
        assert [row[0], row[2], row[8], row[9]] == [
            "0",
            kernel["name"],
            str(kernel["stream_id"]),
            str(kernel["task_id"]),
        ]
        compute, copy, task, dispatch, total = (Decimal(cell) for cell in row[3:8])
        start = Decimal(row[1]) * 1000 - kernel["start_ns"]
        # One tick before the task ends: the parser finds the task by that (Ascend/msprof viewer/aicpu_viewer.py).
        assert total * 1000 == Decimal(kernel["duration_ns"]) - Decimal(tick_ns)
        assert start >= dispatch * 1000 - 500 > 0
        assert start + task * 1000 == Decimal(kernel["duration_ns"]) - Decimal(tick_ns)
        # Two times in whole microseconds: each part may be off by one.
        assert 0 < compute + copy <= task + 2
        assert compute > 0 < copy


def test_the_parts_are_of_the_cost_model(record: Record) -> None:
    (row, *_) = record().frame("aicpu_kernels").rows(named=True)
    elements, size = 256 * 256, 256 * 256 * 2
    start, written, rest = 30_000, 2 * size / 2.0, size / 2.0 + elements
    scale = row["total_ns"] / (start + written + rest)
    assert row["copy_ns"] == pytest.approx(written * scale, abs=1000)
    assert row["compute_ns"] == pytest.approx(rest * scale, abs=1000)
    assert row["dispatch_ns"] == pytest.approx(start / 2 * scale, abs=1000)
    assert row["total_ns"] - row["run_ns"] == pytest.approx(start * 0.75 * scale, abs=50)


def test_events_of_the_data_queue(record: Record, exported: Exported) -> None:
    events = record(name="tables", chip="Ascend910A").frame("data_queue").rows(named=True)
    header, rows = table(exported(chip="Ascend910A")["dp.csv"])
    assert "dp.csv" not in exported(name="newer", chip="Ascend910B2"), "the 910 alone records them"
    assert header == "Device_id,Timestamp(us),Action,Source,Cached Buffer Size"
    # The record has room for sixteen bytes of the action.
    assert [row[2:] for row in rows] == [
        ["Last queue deque", "iterator_default", "131"],
        ["Dequeue", "iterator_default", "130"],
    ]
    for row, event in zip(rows, events, strict=True):
        assert row[1] == str(float(row[1]))
        assert abs(float(row[1]) * 1000 - event["time_ns"]) <= 256


def test_records_of_the_data_queue_have_the_monotonic_clock(record: Record) -> None:
    """The parser adds the offset of the clocks to them and nothing else (Ascend/msprof aicpu_add_info_parser)."""
    profile = record(chip="Ascend910A")
    assert profile.prof_path is not None
    reader = ProfReader(profile.prof_path, RECORD_KINDS)
    raw = reader.read("aicpu_data_preparation", 0)["timestamp"].astype(np.int64)
    # The recording begins at 5 s of that clock and lasts 20 ms; the device's counter would be at 250 million.
    assert ((raw > 5_000_000_000) & (raw < 5_020_000_000)).all()
    base = BEGIN_NS - ANCHORS.monotonic_raw_ns
    assert profile.frame("data_queue")["time_ns"].to_list() == (raw + base).tolist()


@pytest.mark.parametrize(("chip", "named"), [("Ascend910B2", False), ("Ascend910A", False), ("Ascend950PR", True)])
def test_without_operator_information_ai_cpu_kernels_have_a_name_on_the_950_alone(
    exported: Exported, chip: str, *, named: bool
) -> None:
    """Ascend/msprof viewer/aicpu_viewer.py: analysis_aicpu asks for the type of the operator, the other does not."""
    _, rows = table(exported(chip=chip, level=Level.L0)["aicpu.csv"])
    assert [row[2] for row in rows] == ["Where_kernel" if named else "N/A"] * 3


def test_waits_for_the_data_queue(record: Record, exported: Exported) -> None:
    profile = record(name="tables")
    header, rows = table(exported()["aicpu_mi.csv"])
    assert header == "Device_id,Node Name,Start Time(us),End Time(us),Queue Size"
    (row,) = rows
    assert [row[0], row[1], row[4]] == ["0", "GetNext_dequeue_wait", "130"]
    assert float(row[3]) - float(row[2]) == 20
    (wait,) = profile.frame("get_nexts").rows(named=True)
    assert profile.prof_path is not None
    offset = ProfReader(profile.prof_path, RECORD_KINDS).anchors(0).offset_ns
    assert abs(int(float(row[2])) * 1000 + offset - wait["start_ns"]) <= 1000


def test_a_buffer_that_nobody_counted_has_no_size(record: Record, exported: Exported) -> None:
    at = BEGIN_NS + 2_000_000
    uncounted = DatasetEvent(time_ns=at, action="Last queue dequeue", source="IteratorV2", duration_ns=20_000)
    profile = record(name="tables", chip="Ascend910A", recording={"dataset": (uncounted,)})
    assert profile.frame("data_queue")["buffered"].to_list() == [None]
    files = exported(chip="Ascend910A", recording={"dataset": (uncounted,)})
    assert [row[2:] for row in table(files["dp.csv"])[1]] == [["Last queue deque", "IteratorV2", "N/A"]]
    assert [row[4] for row in table(files["aicpu_mi.csv"])[1]] == ["4294967295"], "as the toolkit shows it"


def test_without_the_switch_nothing_is_recorded(record: Record) -> None:
    profile = record(aicpu=False)
    assert not {"aicpu_kernels", "data_queue", "queue_waits"} & set(profile.group_tables)


@given(
    st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**40), st.integers(0, 2**40)), min_size=1, max_size=10)
)
def test_parts_are_shares(works: list[tuple[int, int, int]]) -> None:
    kernels = [
        KernelSpec(
            name="k", op_type="K", task_type=TaskType.AI_CPU, vector_ops=ops, bytes_read=read, bytes_written=written
        )
        for ops, read, written in works
    ]
    split = split_aicpu(kernels)
    parts = np.stack([split.dispatch, split.scheduling, split.compute, split.copy])
    assert (parts >= 0).all()
    # Preparation is as long as scheduling.
    assert np.allclose(parts.sum(axis=0) + split.scheduling, 1)
