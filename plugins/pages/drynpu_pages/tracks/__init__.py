"""The tracks of a timeline: an index of its events, and the part that is visible in a window of a certain width."""

from __future__ import annotations

from drynpu_pages.tracks._index import timeline_index
from drynpu_pages.tracks._lanes import Lane
from drynpu_pages.tracks._launches import Launches, launches_of
from drynpu_pages.tracks._search import Hits, find_events, matching
from drynpu_pages.tracks._tracks import Spot, TimelineIndex, Track, TrackKind, TrackNames
from drynpu_pages.tracks._visible import Boxes, visible

__all__ = [
    "Boxes",
    "Hits",
    "Lane",
    "Launches",
    "Spot",
    "TimelineIndex",
    "Track",
    "TrackKind",
    "TrackNames",
    "find_events",
    "launches_of",
    "matching",
    "timeline_index",
    "visible",
]
