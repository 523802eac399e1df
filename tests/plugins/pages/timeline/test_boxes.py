"""Boxes of the timeline of two tracks made by hand: a window of 88 us on 880 pixels, so a pixel is 100 ns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from drynpu_pages.colours import COLOURS
from drynpu_pages.timeline import Look, timeline_document
from drynpu_pages.tracks import Launches, Spot, TimelineIndex, Track, TrackKind, TrackNames
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


def drawn(find: str = "", event: Spot | None = None, launches: Launches | None = None) -> dict[str, Any]:
    look = Look(BEGIN, BEGIN + 88_000, event=event, find=find)
    return timeline_document(index(), look, launches=launches)


def boxes(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return every box by what a click on it says: track, lane, place and number of events."""
    found = {}
    for trace in document["data"]:
        for place, identity in enumerate(trace.get("customdata", ())):
            row = {name: trace[name][place] for name in ("base", "x", "y", "text", "hovertext")}
            row |= {"kind": trace["name"], "colour": trace["marker"]["color"]}
            row |= {"opacity": trace["marker"]["opacity"][place], "outline": trace["marker"]["line"]["width"][place]}
            found[identity] = row | {"ink": trace["insidetextfont"]["color"][place]}
    return found


def test_events_and_runs_lie_where_they_happen() -> None:
    found = {name: (box["base"], pytest.approx(box["x"])) for name, box in boxes(drawn()).items()}
    assert found == {
        "0.0.0.1": (1.0, 44.0),
        "0.0.1.1": (50.0, 4.0),
        "0.0.2.3": (60.1, 0.12),
        "0.0.5.1": (70.0, 0.03),  # not the whole pixel: the next one is nearer
        "0.0.6.1": (70.03, 3.97),
        "1.0.0.1": (2.0, 5.0),
        "1.1.0.1": (3.0, 0.5),
    }


def test_rows_are_those_of_the_axis() -> None:
    """Headings take a row each: Streams, stream 2, Host operators, thread 1 and its second lane."""
    rows = {name.rpartition(".")[0].rpartition(".")[0]: box["y"] for name, box in boxes(drawn()).items()}
    assert rows == {"0.0": 1, "1.0": 3, "1.1": 4}
    assert drawn()["layout"]["yaxis"]["tickvals"] == [0, 1, 2, 3]


def test_a_short_box_is_a_pixel_wide_where_there_is_room() -> None:
    stream = Track(TrackKind.STREAMS, "stream 2", "tasks", TrackNames(["Add"], ["x"]), lanes([(0, 9_000, 9_010)]), 0)
    lone = TimelineIndex((stream,), BEGIN, BEGIN + 88_000)
    (box,) = boxes(timeline_document(lone, Look(BEGIN, BEGIN + 88_000))).values()
    assert box["x"] == pytest.approx(0.1)


def test_what_reaches_over_the_window_is_cut() -> None:
    document = timeline_document(index(), Look(BEGIN + 5_000, BEGIN + 13_800))
    found = {name: (box["base"], box["x"]) for name, box in boxes(document).items()}
    assert found == {"0.0.0.1": (5.0, pytest.approx(8.8)), "1.0.0.1": (5.0, pytest.approx(2.0))}


def test_names_stand_on_boxes_that_have_room_for_them() -> None:
    """A letter takes 7.1 pixels and a margin one: 40 pixels are 4 letters, 50 are 6."""
    texts = {name: box["text"] for name, box in boxes(drawn()).items() if box["text"]}
    assert texts == {"0.0.0.1": "Mat&lt;Mul&gt;", "0.0.1.1": "Add", "0.0.6.1": "Mat…", "1.0.0.1": "aten:…"}


def test_a_pointer_is_told_names_times_and_steps() -> None:
    found = {name: box["hovertext"].split("<br>") for name, box in boxes(drawn()).items()}
    assert found["0.0.0.1"] == [
        "<b>Mat&lt;Mul&gt;</b>",
        "AI_CORE, stream 2",
        "start 1.00 us, duration 44.00 us",
        "step 4",
    ]
    assert found["0.0.2.3"] == [
        "<b>3 events</b>, busy 50.0 %",
        "most are Add",
        "AI_VECTOR_CORE, stream 2",
        "start 60.10 us, duration 0.120 us",
    ]
    assert len(found["0.0.1.1"]) == 3, "a step ends before what begins at its end"


def test_kinds_have_their_colour_and_those_of_a_device_a_legend_the_busiest_first() -> None:
    kinds = [(trace["name"], trace["showlegend"]) for trace in drawn()["data"] if "customdata" in trace]
    assert kinds == [("AI_CORE", True), ("operator", False), ("AI_VECTOR_CORE", True)]
    assert {box["kind"]: box["colour"] for box in boxes(drawn()).values()} == {kind: COLOURS[kind] for kind, _ in kinds}


def test_a_run_is_as_solid_as_it_is_busy() -> None:
    """Half of 120 ns, between 0.3 for nothing and 1."""
    opacity = {name: box["opacity"] for name, box in boxes(drawn()).items()}
    assert opacity.pop("0.0.2.3") == pytest.approx(0.3 + 0.7 / 2)
    assert set(opacity.values()) == {1.0}


def test_what_is_searched_for_stands_out() -> None:
    found = {name: box["opacity"] for name, box in boxes(drawn("add")).items()}
    faint = 0.12 / 0.3
    assert found == {
        "0.0.0.1": pytest.approx(faint),
        "0.0.1.1": 1.0,
        "0.0.2.3": pytest.approx(0.65),
        "0.0.5.1": 1.0,
        "0.0.6.1": pytest.approx(faint),
        "1.0.0.1": pytest.approx(faint),
        "1.1.0.1": pytest.approx(faint),
    }
    run = boxes(drawn("mat"))["0.0.2.3"]
    assert run["opacity"] == pytest.approx(0.65 * faint)


def test_texts_stand_out_from_their_ground() -> None:
    """White on the blue of AI_CORE; a faint box has the ground of the page."""
    assert boxes(drawn())["0.0.0.1"]["ink"] == "#ffffff"
    assert boxes(drawn("add"))["0.0.0.1"]["ink"] == "#7a8590"
    light = Track(TrackKind.STREAMS, "stream 2", "tasks", TrackNames(["x"], ["free"]), lanes([(0, 0, 80_000)]), 0)
    document = timeline_document(TimelineIndex((light,), BEGIN, BEGIN + 88_000), Look(BEGIN, BEGIN + 88_000))
    assert COLOURS["free"] == "#9aa5b1"  # 0.299 * 154 + 0.587 * 165 + 0.114 * 177 = 163
    assert boxes(document)["0.0.0.1"]["ink"] == "#10161d"


@pytest.mark.parametrize(
    ("event", "outlined"),
    [
        (Spot(0, 0, 0), "0.0.0.1"),
        (Spot(0, 0, 1), "0.0.1.1"),
        (Spot(0, 0, 2), "0.0.2.3"),
        (Spot(0, 0, 4), "0.0.2.3"),
        (Spot(0, 0, 5), "0.0.5.1"),
        (Spot(1, 0, 0), "1.0.0.1"),
        (Spot(1, 1, 0), "1.1.0.1"),
    ],
)
def test_the_box_of_the_event_is_outlined(event: Spot, outlined: str) -> None:
    assert {name: box["outline"] for name, box in boxes(drawn(event=event)).items() if box["outline"]} == {
        outlined: 2.5
    }


def lines(document: dict[str, Any]) -> list[list[tuple[float, float]]]:
    """Return the points of each line between events."""
    found: list[list[tuple[float, float]]] = [[]]
    for trace in document["data"]:
        if trace.get("mode") == "lines+markers":
            for point in zip(trace["x"], trace["y"], strict=True):
                if point == (None, None):
                    found.append([])
                else:
                    found[-1].append(point)
    return [path for path in found if path]


def test_lines_lead_from_what_launched_an_event_and_to_what_it_launched() -> None:
    before = [Spot(1, 1, 0), Spot(1, 0, 0), Spot(1, 9, 0)]
    chain = Launches(before=before, after=[Spot(0, 0, 1), Spot(0, 3, 0)])
    found = lines(drawn(event=Spot(0, 0, 0), launches=chain))
    # What leads to the event stands in the order of time; lanes that are not shown are left out.
    assert found == [[(2.0, 3.0), (3.0, 4.0), (1.0, 1.0)], [(1.0, 1.0), (50.0, 1.0)]]
    assert lines(drawn(event=Spot(0, 0, 0), launches=Launches(after=[Spot(0, 0, 1)]))) == [[(1.0, 1.0), (50.0, 1.0)]]
    assert lines(drawn(event=Spot(0, 0, 0), launches=Launches())) == []
    assert lines(drawn(launches=chain)) == []
    assert lines(drawn(event=Spot(0, 5, 0))) == []
