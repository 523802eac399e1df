"""The index of a timeline as values: tracks with their lanes."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import field, frozen

from drynpu_pages.tracks._lanes import Lane


class TrackKind(enum.Enum):
    """What a track shows. In the order of the timeline from top to bottom; the value stands in addresses."""

    STEPS = "steps"
    OVERLAP = "overlap"
    STREAMS = "streams"
    COMMUNICATION = "communication"
    SCOPES = "scopes"
    OPERATORS = "operators"
    QUEUE = "queue"
    CALLS = "calls"
    MARKS = "marks"
    PYTHON = "python"


@frozen(eq=False)
class TrackNames:
    """The distinct names of events, and what kind of event has each: a core type, a level of calls, a phase."""

    texts: Sequence[str]
    kinds: Sequence[str]


@frozen(eq=False)
class Track:
    """
    A line of the timeline: a thread, a stream, a plane, a kind of overlap.

    Attributes
    ----------
    source:
        Table of the profile, or name of the analysis, whose rows the events are.
    device_id:
        ``None`` on the host.
    """

    kind: TrackKind
    title: str
    source: str
    names: TrackNames = field(repr=False)
    lanes: tuple[Lane, ...] = field(repr=False)
    device_id: int | None = None

    @property
    def events(self) -> int:
        """How many events there are on all lanes."""
        return sum(map(len, self.lanes))


@frozen
class Spot:
    """One event of a timeline: its track, its lane there, its place on the lane."""

    track: int
    lane: int
    place: int


@frozen(eq=False)
class TimelineIndex:
    """
    All events of a profile, ready to be looked at.

    Attributes
    ----------
    start_ns, end_ns:
        Of the first event and of the last; equal if there is none.
    steps:
        Name of a step -> begin and end over host and device, ns.
    """

    tracks: tuple[Track, ...]
    start_ns: int
    end_ns: int
    steps: Mapping[str, tuple[int, int]] = field(factory=dict)

    @property
    def events(self) -> int:
        """How many events there are on all tracks."""
        return sum(track.events for track in self.tracks)

    def lane(self, spot: Spot) -> Lane:
        """Return the lane of an event."""
        return self.tracks[spot.track].lanes[spot.lane]

    def name(self, spot: Spot) -> str:
        """Return the name of an event."""
        return self.tracks[spot.track].names.texts[int(self.lane(spot).code[spot.place])]

    def times(self, spot: Spot) -> tuple[int, int]:
        """Return start and end of an event, ns."""
        lane = self.lane(spot)
        return int(lane.start_ns[spot.place]), int(lane.end_ns[spot.place])

    def holds(self, spot: Spot) -> bool:
        """Return whether there is such an event: an address may name any."""
        return (
            0 <= spot.track < len(self.tracks)
            and 0 <= spot.lane < len(self.tracks[spot.track].lanes)
            and 0 <= spot.place < len(self.lane(spot))
        )

    def spot_of(self, source: str, row: int, start_ns: int) -> Spot | None:
        """Return the event that a row of a table became, ``None`` if there is none."""
        for number, track in enumerate(self.tracks):
            for depth, lane in enumerate(track.lanes if track.source == source else ()):
                low, high = (int(np.searchsorted(lane.start_ns, start_ns, side=side)) for side in ("left", "right"))
                rows = np.flatnonzero(lane.row[low:high] == row)
                if len(rows):
                    return Spot(number, depth, low + int(rows[0]))
        return None
