"""The memory page against the files: totals of memory_record.csv, lives of operator_memory.csv."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from attrs import evolve

from drynpu.analysis import host_phases, memory_blocks, step_phases
from drynpu.tables import KERNELS
from drynpu.tables.stored import Stored
from drynpu.views.content import EMPTY, PLACE, Chart, Facts, Note, Table, find_block, flat
from drynpu.views.runs import Run, Selection, View
from drynpu_pages.figures import thin
from drynpu_pages.pages import find_page
from drynpu_pages.pages.memory._curve import unit_of
from drynpu_pages.pages.memory._tensors import with_tensors

PAGE = find_page("memory")
OUTPUT = "ASCEND_PROFILER_OUTPUT"
KIB, MIB = 1024, 1024**2

RECORDS = """Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type
APP,1736408883000000.500\t,,900.5,,,NPU:0
PTA,1736408883000001.000\t,10.0,32.0,10.0,8,NPU:0
PTA,1736408883000002.000\t,13.0,32.0,13.0,8,NPU:0
PTA,1736408883000004.000\t,18.0,64.0,18.0,8,NPU:0
PTA,1736408883000005.000\t,15.0,64.0,15.0,8,NPU:0
GE,1736408883000004.500\t,2.0,4.0,,,NPU:0
"""
BLOCKS = """Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),\
Duration(us),Active Duration(us),\
Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),\
Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type
aten::mm,3072.0,1736408883000002.000\t,1736408883000005.000\t,,3.0,,13.0,32.0,13.0,15.0,64.0,15.0,8,NPU:0
aten::add,5120.0,1736408883000004.000\t,,,,,18.0,64.0,18.0,,,,8,NPU:0
"""
MODULES = """Component,Timestamp(us),Total Reserved(MB),Device
HCCL,1736408883000001.000\t,7.5,NPU:0
HCCL,1736408883000003.000\t,6.25,NPU:0
"""


@pytest.fixture
def small(tmp_path: Path) -> View:
    output = tmp_path / "host_5_20250109074803000_ascend_pt" / OUTPUT
    output.mkdir(parents=True)
    (output / "memory_record.csv").write_text(RECORDS)
    (output / "operator_memory.csv").write_text(BLOCKS)
    (output / "npu_module_mem.csv").write_text(MODULES)
    run = Run.from_path(tmp_path)
    return View(run, run.rank())


def choose(view: View, step: str = "", **choices: str) -> View:
    return View(view.run, view.rank, Selection(step, choices))


def facts(blocks: Sequence[Any]) -> dict[str, str]:
    return {each.label: each.text for block in flat(blocks) if isinstance(block, Facts) for each in block.facts}


def shares(blocks: Sequence[Any], name: str) -> dict[str, float]:
    trace = find_block(blocks, name, Chart).draw().data[0]
    return dict(zip(trace.customdata, trace.values, strict=True))


def test_the_peak_is_that_of_the_record(small: View) -> None:
    blocks = PAGE.build(small)
    shown = facts(blocks)
    assert shown["Peak memory"] == "18.00 MiB"
    assert shown["Reserved at the peak"] == "64.00 MiB"
    assert shown["Peak at"] == "3.50 us"
    assert shown["Blocks alive"] == "2"
    assert shown["Never released"] == "1"
    # What no block is known for was there before: 18 - 3 - 5.
    assert shares(blocks, "live-operators") == {"aten::add": 5.0, "aten::mm": 3.0, "before the recording": 10.0}
    table = find_block(blocks, "live-blocks", Table).frame
    assert table.select("name", "size_kib", "life_ms", "released").rows() == [
        ("aten::add", 5120.0, None, "never"),
        ("aten::mm", 3072.0, 0.003, "yes"),
    ]


@pytest.mark.parametrize(
    ("shape", "dtype", "size_bytes", "shown"),
    [
        ("32,128", "FLOAT", 16896, ("32,128", "FLOAT", "ND")),
        ("128", "FLOAT", 1024, ("128", "FLOAT", "ND")),  # 512 bytes and what lies behind the tensor
        ("", "FLOAT", 512, ("scalar", "FLOAT", "ND")),
        ("128", "FLOAT", 512, ("", "", "")),
        ("128", "VARIANT", 1024, ("", "", "")),
    ],
)
def test_a_block_holds_the_output_of_its_size(
    small: View, shape: str, dtype: str, size_bytes: int, shown: tuple[str, str, str]
) -> None:
    profile, kernel = small.rank.profile, "Default/network/MatMul-op1"
    row: dict[str, object] = {name: "" if kind == pl.String else 0 for name, kind in KERNELS.items()}
    row |= {"name": kernel, "output_shapes": shape, "output_dtypes": dtype, "output_formats": "ND", "hf32": False}
    one = Stored.from_columns(KERNELS, {name: pl.Series([value], dtype=KERNELS[name]) for name, value in row.items()})
    blocks = memory_blocks(profile).head(1)
    blocks = blocks.with_columns(pl.lit(kernel).alias("name"), pl.lit(size_bytes).alias("size_bytes"))
    tensors = with_tensors(blocks, evolve(profile, kernels=one))
    assert tensors.select("shape", "dtype", "layout").row(0) == shown


def test_blocks_count_in_the_order_of_their_allocation(small: View) -> None:
    shown = find_block(PAGE.build(small), "live-blocks", Table).frame
    assert dict(shown.select("name", "order").iter_rows()) == {"aten::mm": 1, "aten::add": 2}


@pytest.mark.parametrize(("chip", "available"), [("Ascend910B2", "64.00 GiB"), ("N/A", "N/A")])
def test_the_memory_of_the_chip_waits_in_the_legend(small: View, chip: str, available: str) -> None:
    vars(small.rank)["summary"] = evolve(small.rank.summary, chip=chip)
    blocks = PAGE.build(small)
    chart = find_block(blocks, "memory-curve", Chart).draw()
    lines = [trace.visible for trace in chart.data if trace.name == "Available on the chip"]
    assert lines == ([] if chip == "N/A" else ["legendonly"])
    assert facts(blocks)["Available"] == available


def test_a_position_is_a_choice_of_the_address(small: View) -> None:
    before = PAGE.build(choose(small, at="1736408883000003999"))
    assert facts(before)["Position"] == "3.50 us"
    assert shares(before, "live-operators") == {"aten::mm": 3.0, "before the recording": 10.0}
    after = PAGE.build(choose(small, at="end"))
    assert shares(after, "live-operators") == {"aten::add": 5.0, "before the recording": 10.0}


@pytest.mark.parametrize("at", ["1", "nonsense", "9" * 40, "-5"])
def test_a_position_that_is_not_there_is_told(small: View, at: str) -> None:
    blocks = PAGE.build(choose(small, at=at))
    assert facts(blocks)["Position"] == "peak"
    assert any("not in what is shown" in block.text for block in blocks if isinstance(block, Note))


def test_points_of_the_curve_are_positions(small: View) -> None:
    figure = find_block(PAGE.build(small), "memory-curve", Chart).draw()
    allocated = next(trace for trace in figure.data if trace.name == "Allocated")
    assert list(allocated.y) == [10.0, 13.0, 18.0, 15.0]
    assert [key.partition("=")[0] for key in allocated.customdata] == [PLACE] * 4
    assert allocated.customdata[2] == "at=1736408883000004000"
    assert list(allocated.x) == pytest.approx([0.0005, 0.0015, 0.0035, 0.0045])


def test_components_and_parts_of_the_device_software(small: View) -> None:
    blocks = PAGE.build(small)
    table = find_block(blocks, "components", Table).frame
    peaks = {row["component"]: (row["allocated_mib"], row["reserved_mib"]) for row in table.iter_rows(named=True)}
    assert peaks == {"APP": (None, 900.5), "PTA": (18.0, 64.0), "GE": (2.0, 4.0)}
    parts = find_block(blocks, "device-modules", Table).frame
    assert parts.select("name", "peak_mib", "last_mib", "count").rows() == [("HCCL", 7.5, 6.25, 2)]
    process = PAGE.build(choose(small, component="APP"))
    assert facts(process)["Peak memory"] == "900.5 MiB"
    assert any(block.kind == EMPTY for block in process if isinstance(block, Note))


def test_a_total_far_above_the_others_waits_in_the_legend(small: View, tmp_path: Path) -> None:
    traces = {trace.name: trace for trace in find_block(PAGE.build(small), "memory-curve", Chart).draw().data}
    assert traces["Reserved"].visible is True
    file = small.rank.path / OUTPUT / "memory_record.csv"
    file.write_text(RECORDS.replace(",64.0,18", ",2048.0,18"))
    run = Run.from_path(tmp_path)
    chart = find_block(PAGE.build(View(run, run.rank())), "memory-curve", Chart)
    traces = {trace.name: trace for trace in chart.draw().data}
    assert (traces["Reserved"].visible, traces["Allocated"].visible) == ("legendonly", True)
    assert "in the legend" in chart.detail


@pytest.mark.parametrize(
    ("size", "unit"), [(0, "KiB"), (MIB - 1, "KiB"), (MIB, "MiB"), (16 * 1024 * MIB - 1, "MiB"), (1 << 40, "GiB")]
)
def test_units_follow_the_size(size: int, unit: str) -> None:
    assert unit_of(size)[0] == unit


def test_thin_rows_keep_extremes() -> None:
    frame = pl.DataFrame({"t": range(100_000), "a": [(i * 7919) % 10_007 for i in range(100_000)]})
    kept = thin(frame, ["a"], 600)
    assert kept.height <= 600
    assert (kept["a"].max(), kept["a"].min()) == (frame["a"].max(), frame["a"].min())
    assert kept["t"].is_sorted()
    assert kept["t"][-1] == 99_999


def rows(path: Path, name: str) -> list[dict[str, str]]:
    with (path / OUTPUT / name).open(newline="") as file:
        return list(csv.DictReader(file))


def test_genuine_steps_have_an_end_of_backward(genuine: Run) -> None:
    """Timelines name what autograd runs; the end lies in the step, on the host as on the device."""
    profile = genuine.rank().profile
    if not genuine.name.startswith("genuine/"):
        pytest.skip("excerpts have no whole step")
    for phases, end in ((step_phases(profile), "backward_ns"), (host_phases(profile), "backward_end_ns")):
        assert phases.height
        assert ((phases["forward_ns"] < phases[end]) & (phases[end] < phases["end_ns"])).all()


def test_genuine_totals_and_lives(genuine: Run) -> None:
    """Add up operator_memory.csv by hand at the moment at which memory_record.csv is highest."""
    rank = genuine.rank()
    if not (rank.path / OUTPUT / "memory_record.csv").is_file():
        pytest.skip("the genuine profile has no memory_record.csv")
    record = [row for row in rows(rank.path, "memory_record.csv") if row["Component"] == "PTA"]
    highest = max(record, key=lambda row: float(row["Total Allocated(MB)"]))
    time_ns = int(highest["Timestamp(us)"].strip().replace(".", ""))
    alive: Counter[str] = Counter()
    for row in rows(rank.path, "operator_memory.csv"):
        begin, end = (row[f"{name} Time(us)"].strip().replace(".", "") for name in ("Allocation", "Release"))
        is_torch = not row["Name"].startswith("cann::")
        if is_torch and begin and int(begin) <= time_ns and (not end or int(end) > time_ns):
            alive[row["Name"]] += round(float(row["Size(KB)"]) * KIB)
    blocks = PAGE.build(View(genuine, rank))
    table = find_block(blocks, "live-blocks", Table).frame if alive else pl.DataFrame()
    shown = find_block(blocks, "memory-curve", Chart).draw()
    allocated = next(trace for trace in shown.data if trace.name == "Allocated")
    assert max(allocated.y) == pytest.approx(float(highest["Total Allocated(MB)"]), abs=1e-6)
    if alive:
        sums = table.group_by("name").agg(pl.col("size_kib").sum())
        assert dict(sums.iter_rows()) == pytest.approx({name: size / KIB for name, size in alive.items()}, abs=1e-6)
        whole = sum(shares(blocks, "live-operators").values())
        assert whole == pytest.approx(float(highest["Total Allocated(MB)"]), abs=1e-6)
