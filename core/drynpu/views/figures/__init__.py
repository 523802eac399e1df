"""The figures of all outlets: each takes tables and returns a plotly figure that both light and dark pages can show."""

from __future__ import annotations

from drynpu.views.figures._base import bars, donut, empty_figure, graph_objects, lines, new_figure, stacked_bars

__all__ = ["bars", "donut", "empty_figure", "graph_objects", "lines", "new_figure", "stacked_bars"]
