"""Events found by name are numbered by their start."""

from __future__ import annotations

import numpy as np

from drynpu_pages.tracks import Spot
from drynpu_pages.tracks._lanes import nest
from drynpu_pages.tracks._search import Hits, find_events
from drynpu_pages.tracks._tracks import Track, TrackKind, TrackNames


def track(*events: tuple[int, int, str]) -> Track:
    names = sorted({name for _, _, name in events})
    start, end = (np.array([event[place] for event in events], np.int64) for place in (0, 1))
    code = np.array([names.index(name) for *_, name in events], np.int32)
    lanes = nest(start, end, code, np.arange(len(events), dtype=np.int32))
    return Track(TrackKind.STREAMS, "stream", "tasks", TrackNames(names, ["AI_CORE"] * len(names)), lanes)


def test_an_event_is_one_of_the_hits_if_track_lane_and_place_are_its_own() -> None:
    hits = Hits(*(np.array(column) for column in ([10, 20, 30, 40], [0, 1, 1, 1], [2, 2, 0, 0], [5, 5, 5, 6])))
    places = [Spot(0, 2, 5), Spot(1, 2, 5), Spot(1, 0, 5), Spot(1, 0, 6)]
    assert [hits.number_of(place) for place in places] == [0, 1, 2, 3]
    assert [hits.spot(number) for number in range(len(hits))] == places
    assert [hits.number_of(place) for place in (Spot(2, 2, 5), Spot(0, 0, 5), Spot(0, 2, 6))] == [None] * 3


def test_hits_of_several_tracks_stand_by_their_start_whatever_the_case() -> None:
    tracks = (
        track((50, 60, "MatMulV2"), (10, 20, "Add")),
        track((0, 99, "step")),
        track((5, 90, "matmul outer"), (7, 9, "inner MATMUL"), (55, 56, "Add")),
    )
    index = type("Index", (), {"tracks": tracks})
    hits = find_events(index, [0, 1, 2], "MatMul")  # type: ignore[arg-type]
    assert hits.start_ns.tolist() == [5, 7, 50]
    assert [hits.spot(number) for number in range(3)] == [Spot(2, 0, 0), Spot(2, 1, 0), Spot(0, 0, 1)]
    assert len(find_events(index, [0, 1, 2], "")) == 0  # type: ignore[arg-type]
    assert len(find_events(index, [1], "MatMul")) == 0  # type: ignore[arg-type]
