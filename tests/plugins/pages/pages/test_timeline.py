"""The timeline shows what the files say: kernels, their times, and what launched them."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from drynpu.views.content import Note, TimelineChart, find_block
from drynpu.views.runs import Run, Selection, View
from drynpu_pages.pages import find_page
from drynpu_pages.timeline import timeline_document, window_of_step
from drynpu_pages.tracks import TrackKind, timeline_index

OUTPUT = "ASCEND_PROFILER_OUTPUT"


def kernels(directory: Path) -> list[dict[str, str]]:
    with (directory / OUTPUT / "kernel_details.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def nanoseconds(text: str) -> int:
    return int(Decimal(text.strip()) * 1000)


def boxes(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Every box of the figure with what is said of it."""
    names = ("base", "x", "y", "hovertext")
    traces = [trace for trace in document["data"] if "hovertext" in trace]
    return [
        dict(zip(names, box, strict=True)) for trace in traces for box in zip(*(trace[n] for n in names), strict=True)
    ]


def test_streams_hold_the_kernels_of_kernel_details(view: View, recorded: Path) -> None:
    index = timeline_index(view.rank.profile)
    found = sorted(
        (track.names.texts[code], int(start), int(end - start))
        for track in index.tracks
        if track.kind is TrackKind.STREAMS
        for lane in track.lanes
        for code, start, end in zip(lane.code, lane.start_ns, lane.end_ns, strict=True)
        if track.names.kinds[code].startswith(("AI_", "MIX_"))
    )
    expected = kernels(recorded)
    assert found == sorted(
        (row["Name"], nanoseconds(row["Start Time(us)"]), nanoseconds(row["Duration(us)"])) for row in expected
    )


def test_the_window_of_a_kernel_shows_it_in_full_width(view: View, recorded: Path) -> None:
    index = timeline_index(view.rank.profile)
    row = kernels(recorded)[2]
    start, length = nanoseconds(row["Start Time(us)"]), nanoseconds(row["Duration(us)"])
    document = timeline_document(index, (start, start + length))
    on_stream = [box for box in boxes(document) if f"<b>{row['Name']}</b>" in box["hovertext"]]
    shown = document["layout"]["xaxis"]["range"]
    assert [(box["base"], box["base"] + box["x"]) for box in on_stream] == [pytest.approx(tuple(shown))]


def test_the_window_of_a_step_holds_its_kernels_alone(view: View, recorded: Path) -> None:
    index = timeline_index(view.rank.profile)
    start, end = window_of_step(index, "1")
    for row in kernels(recorded):
        inside = start <= nanoseconds(row["Start Time(us)"]) < end
        assert inside == (row["Step Id"] == "1")


def test_all_events_are_drawn(view: View) -> None:
    index = timeline_index(view.rank.profile)
    document = timeline_document(index, window_of_step(index, ""))
    rows = len(document["layout"]["yaxis"]["ticktext"])
    assert rows == len({track.kind for track in index.tracks}) + len(index.tracks)


def test_without_a_device_the_page_says_so(tmp_path: Path) -> None:
    file = tmp_path / OUTPUT / "api_statistic.csv"
    file.parent.mkdir()
    file.write_text(
        "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n"
        "host,acl,aclrtMalloc,2.5,1,2.5,2.5,2.5,0\n"
    )
    run = Run.from_path(tmp_path)
    (note,) = find_page("timeline").build(View(run, run.rank()))
    assert isinstance(note, Note)
    assert "no timeline" in note.text


def test_the_block_is_a_chart_of_the_whole_and_of_a_step(view: View) -> None:
    for step, said in (("", "the whole run"), ("1", "step 1")):
        block = find_block(
            find_page("timeline").build(View(view.run, view.rank, Selection(step))), "timeline", TimelineChart
        )
        assert said in block.alternative
        assert block.draw().layout.height == block.height_px
