"""What a reader does leads to the look that it means, and nonsense leads nowhere."""

from __future__ import annotations

import pytest
from attrs import evolve

pytest.importorskip("dash", reason="the dashboard is an extra")

from drynpu.views.runs import View
from drynpu_pages.dashboard._moves import TimelinePlace, next_look
from drynpu_pages.timeline import Look
from drynpu_pages.tracks import Spot, TrackKind, timeline_index


@pytest.fixture
def place(view: View) -> TimelinePlace:
    return TimelinePlace(view.rank, timeline_index(view.rank.profile), Look(), "")


def stream(place: TimelinePlace) -> int:
    return next(n for n, track in enumerate(place.index.tracks) if track.kind is TrackKind.STREAMS)


def test_dragging_takes_the_window_from_the_axis(place: TimelinePlace) -> None:
    begin, span = place.index.start_ns, place.index.end_ns - place.index.start_ns
    unit = 1000 if span < 2_000_000 else 1_000_000
    low, high = span // 4, span // 2
    dragged = {"xaxis.range[0]": low / unit, "xaxis.range[1]": high / unit, "unit_ns": unit}
    look = next_look(place, "range", dragged)
    assert (look.start_ns, look.end_ns) == (pytest.approx(begin + low, abs=2), pytest.approx(begin + high, abs=2))
    strip = {"xaxis2.range": [high / unit, low / unit], "unit_ns": unit}
    assert next_look(place, "range", strip) == look
    back = next_look(evolve(place, look=look), "range", {"xaxis.autorange": True, "unit_ns": unit})
    assert back == Look()


def test_the_figure_says_in_which_unit_it_was_drawn(place: TimelinePlace) -> None:
    """The window may be another by the time the server hears of the drag."""
    low, high = 10, 90
    closer = evolve(place, look=next_look(place, "in"))
    looks = [
        next_look(each, "range", {"xaxis.range": [low * 1000 / unit, high * 1000 / unit], "unit_ns": unit})
        for each in (place, closer)
        for unit in (1, 1000)
    ]
    assert {(look.start_ns, look.end_ns) for look in looks} == {
        (place.index.start_ns + low * 1000, place.index.start_ns + high * 1000)
    }


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"autosize": True},
        {"xaxis.range[0]": 1, "unit_ns": 1000},
        {"xaxis.range": ["a", 2], "unit_ns": 1000},
        {"xaxis.range": [1, 2]},
        {"xaxis.range": [1, 2], "unit_ns": "us"},
    ],
)
def test_other_changes_of_the_figure_mean_nothing(place: TimelinePlace, data: object) -> None:
    assert next_look(place, "range", data) == place.look


@pytest.mark.parametrize("said", ["", "1", "x.0.0.1", "99.0.0.1", "0.0.0.999999", "0.0.-1.1"])
def test_clicks_on_what_is_not_there_mean_nothing(place: TimelinePlace, said: str) -> None:
    assert next_look(place, "point", said) == place.look


def test_a_click_describes_an_event_and_looks_into_a_run(place: TimelinePlace) -> None:
    number = stream(place)
    event = next_look(place, "point", f"{number}.0.1.1")
    assert event == Look(event=Spot(number, 0, 1))
    run = next_look(place, "point", f"{number}.0.0.2")
    first, last = (place.index.times(Spot(number, 0, each)) for each in (0, 1))
    assert run.event is None
    assert run.start_ns is not None
    assert run.end_ns is not None
    assert run.start_ns <= first[0] < last[1] <= run.end_ns


def test_searching_goes_to_the_hits_one_after_the_other_and_around(place: TimelinePlace) -> None:
    name = place.index.name(Spot(stream(place), 0, 0))
    found = next_look(place, "find", name[2:].upper())
    assert found.find == name[2:].upper()
    now = evolve(place, look=found)
    count = len(now.hits)
    assert count > 1
    assert found.event == now.hits.spot(0)
    seen = []
    for _ in range(count):
        seen.append(now.look.event)
        now = evolve(now, look=next_look(now, "next"))
    assert seen == [now.hits.spot(number) for number in range(count)]
    assert now.look.event == seen[0]
    assert next_look(now, "previous").event == seen[-1]
    assert next_look(now, "find", "").find == ""


def test_a_text_that_no_name_holds_moves_nothing(place: TimelinePlace) -> None:
    look = next_look(place, "find", "no such name")
    assert look == Look(find="no such name")
    assert next_look(evolve(place, look=look), "next") == look


def test_hidden_kinds_are_not_searched(place: TimelinePlace) -> None:
    name = place.index.name(Spot(stream(place), 0, 0))
    look = next_look(place, "kind:streams")
    assert look.hidden == {TrackKind.STREAMS}
    everywhere, there = (len(evolve(place, look=evolve(each, find=name)).hits) for each in (place.look, look))
    assert there < everywhere
    assert next_look(evolve(place, look=look), "kind:streams") == place.look
    assert next_look(place, "kind:nothing") == place.look


def test_buttons_zoom_and_levels_are_chosen(place: TimelinePlace) -> None:
    closer = next_look(place, "in")
    assert closer != place.look
    assert next_look(evolve(place, look=closer), "all") == Look()
    assert next_look(place, "levels:16").levels == 16
    assert next_look(place, "levels:7") == next_look(place, "nothing") == place.look
