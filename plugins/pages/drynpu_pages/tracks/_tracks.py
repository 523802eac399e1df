"""The index of a timeline as values: tracks with their lanes."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from attrs import field, frozen

from drynpu_pages.tracks._lanes import Lane


class TrackKind(enum.Enum):
    """What a track shows. In the order of the timeline from top to bottom."""

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


KIND_TITLES: Mapping[TrackKind, str] = MappingProxyType(
    {
        TrackKind.STEPS: "Steps",
        TrackKind.OVERLAP: "Overlap Analysis",
        TrackKind.STREAMS: "Streams",
        TrackKind.COMMUNICATION: "Communication",
        TrackKind.SCOPES: "Scopes",
        TrackKind.OPERATORS: "Host operators",
        TrackKind.QUEUE: "Task queue",
        TrackKind.CALLS: "CANN API calls",
        TrackKind.MARKS: "Marks",
        TrackKind.PYTHON: "Python",
    }
)


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
