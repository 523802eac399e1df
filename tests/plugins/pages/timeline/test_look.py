"""Where a reader is: written into addresses, read from any, and moved without leaving what there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu_pages.timeline import LEVELS, Look, timeline_document, timeline_rows
from drynpu_pages.tracks import Spot, TimelineIndex, Track, TrackKind, TrackNames
from drynpu_pages.tracks._lanes import nest

BEGIN = 1_736_408_883_000_000_123
TIMES = st.integers(0, 2**62)


def index(name: str = "mul") -> TimelineIndex:
    """One stream with a kernel of 500 ns at each millisecond of a hundred."""
    start = BEGIN + np.arange(100, dtype=np.int64) * 1_000_000
    lanes = nest(start, start + 500, np.zeros(100, np.int32), np.arange(100, dtype=np.int32))
    stream = Track(TrackKind.STREAMS, "stream 2", "tasks", TrackNames([name], ["AI_CORE"]), lanes, 0)
    return TimelineIndex((stream,), BEGIN, int(start[-1]) + 500, {"7": (BEGIN + 10_000_000, BEGIN + 20_000_000)})


@given(
    st.tuples(TIMES, TIMES).filter(lambda window: window[0] < window[1]),
    st.tuples(*[st.integers(0, 10**6)] * 3),
    st.text(max_size=9),
    st.frozensets(st.sampled_from(TrackKind)),
    st.sampled_from(LEVELS),
)
def test_what_is_written_is_read(
    window: tuple[int, int], spot: tuple[int, int, int], find: str, hidden: frozenset[TrackKind], levels: int
) -> None:
    look = Look(*window, Spot(*spot), find, hidden, levels)
    assert Look.from_choices(look.choices) == look
    assert Look.from_choices(Look().choices) == Look()


@given(st.dictionaries(st.sampled_from(["from", "to", "event", "find", "hide", "levels"]), st.text(max_size=20)))
def test_any_address_can_be_shown(choices: dict[str, str]) -> None:
    document = timeline_document(index(), Look.from_choices(choices))
    assert document["layout"]["height"] > 0


def test_without_a_window_the_step_or_everything_is_shown() -> None:
    shown = index()
    assert Look().window(shown, "7") == (BEGIN + 9_900_000, BEGIN + 20_100_000)
    start, end = Look().window(shown, "")
    assert start < shown.start_ns
    assert shown.end_ns < end
    assert Look().window(shown, "no such step") == (start, end)
    assert Look(5, 9).window(shown, "7") == (5, 9)


def test_zooming_keeps_the_middle_to_the_nanosecond() -> None:
    look = Look(BEGIN + 10_000_000, BEGIN + 10_000_800)
    found = look.zoomed(0.5, index(), "")
    assert (found.start_ns, found.end_ns) == (BEGIN + 10_000_200, BEGIN + 10_000_600)
    assert found.zoomed(2.0, index(), "") == look


def test_movements_end_where_nothing_follows() -> None:
    shown = index()
    whole = Look().window(shown, "")
    for look in (Look(BEGIN, BEGIN + 1000).panned(-90_000, shown, ""), Look(*whole).zoomed(4, shown, "")):
        assert look.start_ns == whole[0]
    assert Look(BEGIN, BEGIN + 1000).panned(10**9, shown, "").end_ns == whole[1]
    closest = Look(BEGIN, BEGIN + 30).zoomed(0.001, shown, "")
    assert (closest.end_ns or 0) - (closest.start_ns or 0) == 20


def test_a_jump_brings_an_event_into_sight() -> None:
    shown = index()
    look = Look().at(Spot(0, 0, 40), shown, "")
    start, end = look.window(shown, "")
    assert start < BEGIN + 40_000_000 < BEGIN + 40_000_500 < end
    assert 500 / (end - start) == pytest.approx(0.1)
    near = Look(BEGIN, BEGIN + 4000).at(Spot(0, 0, 40), shown, "")
    assert (near.end_ns or 0) - (near.start_ns or 0) == 4000


def test_rows_have_headings_and_hidden_kinds_have_none() -> None:
    assert [row.title for row in timeline_rows(index(), Look())] == ["Streams", "stream 2"]
    assert timeline_rows(index(), Look(hidden=frozenset({TrackKind.STREAMS}))) == []


def test_names_are_text_and_never_markup() -> None:
    hostile = "<b>x</b><a href='javascript:0'>%{y}"
    document = timeline_document(index(hostile), Look(BEGIN, BEGIN + 600))
    (trace,) = (trace for trace in document["data"] if "hovertext" in trace)
    shown = [*trace["hovertext"], *trace["text"]]
    assert "&lt;b&gt;x" in shown[0]
    assert not any("<a" in text or "<b>x" in text for text in shown)


def test_what_is_searched_for_stands_out() -> None:
    found = timeline_document(index(), Look(BEGIN, BEGIN + 600, find="MUL"))
    missed = timeline_document(index(), Look(BEGIN, BEGIN + 600, find="conv"))
    opacity = [next(t for t in each["data"] if "hovertext" in t)["marker"]["opacity"] for each in (found, missed)]
    assert opacity[0] == [1.0]
    assert opacity[1][0] < 0.5
