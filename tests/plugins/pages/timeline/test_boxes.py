"""Boxes of the timeline of two tracks made by hand: a window of 88 us on 880 pixels, so a pixel is 100 ns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from drynpu_pages.colours import COLOURS
from drynpu_pages.timeline import timeline_document
from drynpu_pages.tracks import TimelineIndex, Track, TrackKind, TrackNames
from drynpu_pages.tracks._lanes import nest

BEGIN = 1_736_408_883_000_000_123
PRODUCT, SUM = 0, 1
KERNELS = [
    (PRODUCT, 1_000, 45_000),
    (SUM, 50_000, 54_000),
    *((SUM, start, start + 20) for start in (60_100, 60_150, 60_200)),
    (SUM, 70_000, 70_010),
    (PRODUCT, 70_030, 74_000),
]
"""A long product and sum; three tiny sums within 120 ns; one right before another product."""
CALL = "aten::long_name"


def lanes(events: list[tuple[int, int, int]]) -> Any:
    code, start, end = np.array(events, np.int64).T
    return nest(BEGIN + start, BEGIN + end, code.astype(np.int32), np.arange(len(events), dtype=np.int32))


def index() -> TimelineIndex:
    names = TrackNames(["Mat<Mul>", "Add"], ["AI_CORE", "AI_VECTOR_CORE"])
    stream = Track(TrackKind.STREAMS, "stream 2", "tasks", names, lanes(KERNELS), 0)
    calls = [(0, 2_000, 7_000), (0, 3_000, 3_500)]
    thread = Track(TrackKind.OPERATORS, "thread 1", "host_ops", TrackNames([CALL], ["operator"]), lanes(calls))
    return TimelineIndex((stream, thread), BEGIN, BEGIN + 88_000, {"4": (BEGIN + 1_000, BEGIN + 50_000)})


def drawn() -> dict[str, Any]:
    return timeline_document(index(), (BEGIN, BEGIN + 88_000))


def boxes(document: dict[str, Any]) -> dict[float, dict[str, Any]]:
    """Return every box by where it begins, in us."""
    found = {}
    for trace in document["data"]:
        for place, begin in enumerate(trace["base"] if "hovertext" in trace else ()):
            row = {name: trace[name][place] for name in ("base", "x", "y", "text", "hovertext")}
            row |= {"kind": trace["name"], "colour": trace["marker"]["color"]}
            row |= {"opacity": trace["marker"]["opacity"][place]}
            found[begin] = row | {"ink": trace["insidetextfont"]["color"][place]}
    return found


def test_events_and_runs_lie_where_they_happen() -> None:
    found = {begin: pytest.approx(box["x"]) for begin, box in boxes(drawn()).items()}
    # The box at 70 is not a whole pixel long: the next one is nearer.
    assert found == {1.0: 44.0, 50.0: 4.0, 60.1: 0.12, 70.0: 0.03, 70.03: 3.97, 2.0: 5.0, 3.0: 0.5}


def test_rows_are_those_of_the_axis() -> None:
    """Headings take a row each: Streams, stream 2, Host operators, thread 1 and its second lane."""
    rows = {begin: box["y"] for begin, box in boxes(drawn()).items()}
    assert rows == {1.0: 1, 50.0: 1, 60.1: 1, 70.0: 1, 70.03: 1, 2.0: 3, 3.0: 4}
    assert drawn()["layout"]["yaxis"]["tickvals"] == [0, 1, 2, 3]


def test_a_short_box_is_a_pixel_wide_where_there_is_room() -> None:
    stream = Track(TrackKind.STREAMS, "stream 2", "tasks", TrackNames(["Add"], ["x"]), lanes([(0, 9_000, 9_010)]), 0)
    lone = TimelineIndex((stream,), BEGIN, BEGIN + 88_000)
    (box,) = boxes(timeline_document(lone, (BEGIN, BEGIN + 88_000))).values()
    assert box["x"] == pytest.approx(0.1)


def test_what_reaches_over_the_window_is_cut() -> None:
    document = timeline_document(index(), (BEGIN + 5_000, BEGIN + 13_800))
    bars = [trace for trace in document["data"] if "hovertext" in trace]
    found = [(trace["base"], trace["x"]) for trace in bars]
    assert found == [([5.0], [pytest.approx(8.8)]), ([5.0], [pytest.approx(2.0)])]


def test_names_stand_on_boxes_that_have_room_for_them() -> None:
    """A letter takes 7.1 pixels and a margin one: 40 pixels are 4 letters, 50 are 6."""
    texts = {begin: box["text"] for begin, box in boxes(drawn()).items() if box["text"]}
    assert texts == {1.0: "Mat&lt;Mul&gt;", 50.0: "Add", 70.03: "Mat…", 2.0: "aten:…"}


def test_a_pointer_is_told_names_times_and_steps() -> None:
    found = {name: box["hovertext"].split("<br>") for name, box in boxes(drawn()).items()}
    assert found[1.0] == [
        "<b>Mat&lt;Mul&gt;</b>",
        "AI_CORE, stream 2",
        "start 1.00 us, duration 44.00 us",
        "step 4",
    ]
    assert found[60.1] == [
        "<b>3 events</b>, busy 50.0 %",
        "most are Add",
        "AI_VECTOR_CORE, stream 2",
        "start 60.10 us, duration 0.120 us",
    ]
    assert len(found[50.0]) == 3, "a step ends before what begins at its end"


def test_kinds_have_their_colour_and_those_of_a_device_a_legend_the_busiest_first() -> None:
    kinds = [(trace["name"], trace["showlegend"]) for trace in drawn()["data"] if "hovertext" in trace]
    assert kinds == [("AI_CORE", True), ("operator", False), ("AI_VECTOR_CORE", True)]
    assert {box["kind"]: box["colour"] for box in boxes(drawn()).values()} == {kind: COLOURS[kind] for kind, _ in kinds}


def test_a_run_is_as_solid_as_it_is_busy() -> None:
    """Half of 120 ns, between 0.3 for nothing and 1."""
    opacity = {name: box["opacity"] for name, box in boxes(drawn()).items()}
    assert opacity.pop(60.1) == pytest.approx(0.3 + 0.7 / 2)
    assert set(opacity.values()) == {1.0}


def test_texts_stand_out_from_their_ground() -> None:
    """White on the blue of AI_CORE; a faint box has the ground of the page."""
    assert boxes(drawn())[1.0]["ink"] == "#ffffff"
    light = Track(TrackKind.STREAMS, "stream 2", "tasks", TrackNames(["x"], ["free"]), lanes([(0, 0, 80_000)]), 0)
    document = timeline_document(TimelineIndex((light,), BEGIN, BEGIN + 88_000), (BEGIN, BEGIN + 88_000))
    assert COLOURS["free"] == "#9aa5b1"  # 0.299 * 154 + 0.587 * 165 + 0.114 * 177 = 163
    assert boxes(document)[0.0]["ink"] == "#10161d"
