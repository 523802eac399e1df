"""The rows of a timeline from top to bottom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from attrs import frozen

from drynpu_pages.timeline._look import Look
from drynpu_pages.tracks import TimelineIndex, TrackKind

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


@frozen
class TimelineRow:
    """One row: a heading (``track`` is -1), or a lane of a track."""

    title: str
    track: int = -1
    lane: int = 0


def timeline_rows(index: TimelineIndex, look: Look) -> list[TimelineRow]:
    """Return the rows that are shown: each kind of track with its heading, the lanes of a track below its title."""
    return list(_rows(index, look))


def _rows(index: TimelineIndex, look: Look) -> Iterator[TimelineRow]:
    before = None
    for number, track in enumerate(index.tracks):
        if track.kind in look.hidden:
            continue
        if track.kind is not before:
            before = track.kind
            yield TimelineRow(KIND_TITLES[track.kind])
        for lane in range(min(len(track.lanes), look.levels)):
            yield TimelineRow("" if lane else track.title, number, lane)
