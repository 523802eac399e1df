"""The figures of all outlets: each takes tables and returns a plotly figure that both light and dark pages can show."""

from __future__ import annotations

from drynpu_pages.figures._base import bars, donut, graph_objects, lines, new_figure, stacked_bars, window_marks
from drynpu_pages.figures._over_time import curves, thin

__all__ = ["bars", "curves", "donut", "graph_objects", "lines", "new_figure", "stacked_bars", "thin", "window_marks"]
