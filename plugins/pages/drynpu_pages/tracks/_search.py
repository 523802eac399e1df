"""Finding events of a timeline by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import field, frozen

from drynpu.arrays import I32, I64, Bools
from drynpu_pages.tracks._tracks import Spot, TimelineIndex, TrackNames


@frozen(eq=False)
class Hits:
    """Events whose names hold a text, by start; one element of each array per event."""

    start_ns: I64 = field(repr=False)
    track: I32 = field(repr=False)
    lane: I32 = field(repr=False)
    place: I32 = field(repr=False)

    def __len__(self) -> int:
        return len(self.start_ns)

    def spot(self, number: int) -> Spot:
        """Return one of the events."""
        return Spot(int(self.track[number]), int(self.lane[number]), int(self.place[number]))

    def number_of(self, spot: Spot) -> int | None:
        """Return which of the hits an event is, ``None`` if it is none."""
        same = (self.track == spot.track) & (self.lane == spot.lane) & (self.place == spot.place)
        places = np.flatnonzero(same)
        return int(places[0]) if len(places) else None


def matching(names: TrackNames, text: str) -> Bools:
    """Return which names hold *text*, whatever the case of letters."""
    wanted = text.casefold()
    return np.array([wanted in name.casefold() for name in names.texts], bool)


def find_events(index: TimelineIndex, tracks: Sequence[int], text: str) -> Hits:
    """Return the events of some tracks whose names hold *text*; none for an empty text."""
    parts: list[tuple[I64, int, int, I64]] = []
    for number in tracks if text else ():
        named = matching(index.tracks[number].names, text)
        if not named.any():
            continue
        for depth, lane in enumerate(index.tracks[number].lanes):
            places = np.flatnonzero(named[lane.code])
            if len(places):
                parts.append((lane.start_ns[places], number, depth, places))
    if not parts:
        return Hits(np.empty(0, np.int64), *(np.empty(0, np.int32) for _ in range(3)))
    sizes = [len(places) for _, _, _, places in parts]
    start = np.concatenate([starts for starts, _, _, _ in parts])
    order = np.argsort(start, kind="stable")
    return Hits(
        start[order],
        np.repeat(np.array([number for _, number, _, _ in parts], np.int32), sizes)[order],
        np.repeat(np.array([depth for _, _, depth, _ in parts], np.int32), sizes)[order],
        np.concatenate([places for _, _, _, places in parts]).astype(np.int32)[order],
    )
