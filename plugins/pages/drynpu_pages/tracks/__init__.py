"""The tracks of a timeline: an index of its events, and the part that is visible in a window of a certain width."""

from __future__ import annotations

from drynpu_pages.tracks._index import timeline_index
from drynpu_pages.tracks._lanes import Lane
from drynpu_pages.tracks._tracks import KIND_TITLES, TimelineIndex, Track, TrackKind, TrackNames
from drynpu_pages.tracks._visible import Boxes, visible

__all__ = [
    "KIND_TITLES",
    "Boxes",
    "Lane",
    "TimelineIndex",
    "Track",
    "TrackKind",
    "TrackNames",
    "timeline_index",
    "visible",
]
