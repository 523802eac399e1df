"""The rows of a timeline from top to bottom."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from drynpu_pages.tracks import KIND_TITLES, TimelineIndex

LEVELS = 8
"""Lanes of a track that are shown."""


@frozen
class TimelineRow:
    """One row: a heading (``track`` is -1), or a lane of a track."""

    title: str
    track: int = -1
    lane: int = 0


def timeline_rows(index: TimelineIndex) -> list[TimelineRow]:
    """Return the rows: each kind of track with its heading, the lanes of a track below its title."""
    return list(_rows(index))


def _rows(index: TimelineIndex) -> Iterator[TimelineRow]:
    before = None
    for number, track in enumerate(index.tracks):
        if track.kind is not before:
            before = track.kind
            yield TimelineRow(KIND_TITLES[track.kind])
        for lane in range(min(len(track.lanes), LEVELS)):
            yield TimelineRow("" if lane else track.title, number, lane)
