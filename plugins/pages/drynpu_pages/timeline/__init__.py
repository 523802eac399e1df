"""What a reader of the timeline looks at, and how it is drawn and described; no outlet in particular."""

from __future__ import annotations

from drynpu_pages.timeline._details import Detail, describe
from drynpu_pages.timeline._figure import draw_timeline, figure_height, timeline_document
from drynpu_pages.timeline._look import LEVELS, LOOK_KEYS, Look
from drynpu_pages.timeline._rows import KIND_TITLES, TimelineRow, timeline_rows

__all__ = [
    "KIND_TITLES",
    "LEVELS",
    "LOOK_KEYS",
    "Detail",
    "Look",
    "TimelineRow",
    "describe",
    "draw_timeline",
    "figure_height",
    "timeline_document",
    "timeline_rows",
]
