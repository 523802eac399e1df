"""The timeline as a picture that stands still: for the report, for notebooks and for pictures of pages."""

from __future__ import annotations

from drynpu_pages.timeline._figure import draw_timeline, figure_height, timeline_document, window_of_step

__all__ = ["draw_timeline", "figure_height", "timeline_document", "window_of_step"]
