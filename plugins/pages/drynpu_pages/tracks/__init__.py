"""The timeline of a profile: an index of its events, and the part that is visible in a window of a certain width."""

from __future__ import annotations

from drynpu.analysis.timeline._index import timeline_index
from drynpu.analysis.timeline._lanes import Lane
from drynpu.analysis.timeline._launches import Launches, launches_of
from drynpu.analysis.timeline._search import Hits, find_events, matching
from drynpu.analysis.timeline._tracks import Spot, TimelineIndex, Track, TrackKind, TrackNames
from drynpu.analysis.timeline._visible import Boxes, visible

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
