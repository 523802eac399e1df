"""The picture of the blocks' lives: its tops are the totals of the record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from drynpu.platforms import load_chip
from drynpu.views.content import Chart, find_block, flat
from drynpu.views.runs import Run, Selection, View
from drynpu_pages.pages import find_page

MIB = 1024**2
BEGIN_US = "17364088830000"
RECORDS = f"""Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type
PTA,{BEGIN_US}01.000\t,10.0,32.0,10.0,8,NPU:0
PTA,{BEGIN_US}02.000\t,13.0,32.0,13.0,8,NPU:0
PTA,{BEGIN_US}04.000\t,18.0,64.0,18.0,8,NPU:0
PTA,{BEGIN_US}05.000\t,15.0,64.0,15.0,8,NPU:0
PTA,{BEGIN_US}06.000\t,15.002,64.0,15.0,8,NPU:0
"""
BLOCKS = f"""Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),\
Duration(us),Active Duration(us),\
Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),\
Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type
aten::mm,3072.0,{BEGIN_US}02.000\t,{BEGIN_US}05.000\t,,3.0,,13.0,32.0,13.0,15.0,64.0,15.0,8,NPU:0
aten::add,5120.0,{BEGIN_US}04.000\t,,,,,18.0,64.0,18.0,,,,8,NPU:0
aten::tiny,2.0,{BEGIN_US}05.000\t,,,,,18.0,64.0,18.0,,,,8,NPU:0
"""


@pytest.fixture
def small(tmp_path: Path) -> View:
    output = tmp_path / "host_5_20250109074803000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (output / "memory_record.csv").write_text(RECORDS)
    (output / "operator_memory.csv").write_text(BLOCKS)
    run = Run.from_path(tmp_path)
    return View(run, run.rank())


def picture(view: View) -> Chart:
    chart: Chart = find_block(find_page("memory").build(view), "memory-lives", Chart)
    return chart


def test_each_block_has_its_life_and_size(small: View) -> None:
    chart = picture(small)
    assert chart.alternative == "2 blocks over time; the largest, 5.00 MiB, is of aten::add."
    assert "1 smaller ones are one band" in chart.detail
    traces = {trace.text.split(":<")[0].split("<br>")[0]: trace for trace in chart.draw().data if trace.text}
    assert set(traces) == {"aten::mm: 3.00 MiB", "aten::add: 5.00 MiB"}
    first, second = traces["aten::mm: 3.00 MiB"], traces["aten::add: 5.00 MiB"]
    assert (min(first.x), max(first.x)) == pytest.approx((0.001, 0.004))
    assert (min(first.y), max(first.y)) == (0, 3)
    # The second stands on the first, and sinks when that goes.
    corners = set(zip(np.round(second.x, 3), np.round(second.y), strict=True))
    assert corners >= {(0.003, 3), (0.003, 8), (0.004, 0), (0.004, 5), (0.005, 5)}
    assert first.text.endswith("allocated at 0.001 ms, lives 3.00 us")
    assert second.text.endswith("allocated at 0.003 ms, never released")


def test_the_tops_of_the_bands_are_the_totals(small: View) -> None:
    bands = [trace for trace in picture(small).draw().data if trace.fill == "tonexty"]
    assert [band.name for band in bands] == ["smaller blocks", "before the recording"]
    before = dict(zip(np.round(bands[1].x, 3), bands[1].y, strict=True))
    assert before == pytest.approx({0: 10, 0.001: 13, 0.003: 18, 0.004: 15, 0.005: 15.002}, abs=1e-3)
    smaller = dict(zip(np.round(bands[0].x, 3), bands[0].y, strict=True))
    assert smaller[0.005] - 5 == pytest.approx(2 / 1024, abs=1e-4)


def test_the_chips_memory_is_a_line_that_is_drawn_where_it_is_near(small: View) -> None:
    chip = load_chip("910B2")
    for near, expected in ((False, "legendonly"), (True, True)):
        memory = 20 * MIB if near else chip.memory_bytes
        vars(small.rank)["chip"] = evolve(chip, memory_bytes=memory)
        (line,) = (trace for trace in picture(small).draw().data if trace.name == "Available on the chip")
        assert (line.visible, set(line.y)) == (expected, {memory / MIB})


def test_there_is_no_picture_without_blocks(small: View) -> None:
    selection = Selection("", {"component": "APP"})
    blocks = flat(find_page("memory").build(View(small.run, small.rank, selection)))
    assert [block.name for block in blocks if isinstance(block, Chart)].count("memory-lives") == 1
