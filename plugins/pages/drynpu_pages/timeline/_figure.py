"""The timeline as a figure: a strip of everything, and below it what lies in the window."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from drynpu_pages.figures import graph_objects, new_figure
from drynpu_pages.timeline._boxes import box_traces
from drynpu_pages.timeline._rows import LEVELS, TimelineRow, timeline_rows
from drynpu_pages.timeline._scene import PALE, PICKED, WIDTH, Scene, kind_colour
from drynpu_pages.tracks import TimelineIndex, TrackKind, visible

if TYPE_CHECKING:
    import plotly.graph_objects as go

_ROW, _STRIP, _AXIS, _LEGEND, _FOOT = 18, 34, 46, 30, 10
_LONGEST_TITLE = 26
_UNITS = ((2_000_000, 1_000, "us"), (2_000_000_000, 1_000_000, "ms"), (2**63, 1_000_000_000, "s"))
_MARGIN = 0.01
_SHADE = "rgba(127, 138, 150, 0.10)"


def _time_unit(window: tuple[int, int]) -> tuple[int, str]:
    """Return the unit of the axis of a window: its length in ns, and its name."""
    return next((size, name) for limit, size, name in _UNITS if window[1] - window[0] < limit)


def window_of_step(index: TimelineIndex, step: str) -> tuple[int, int]:
    """Return begin and end of a step, of everything where there is no such step, with a margin; Unix time in ns."""
    start, end = index.steps.get(step, (index.start_ns, index.end_ns))
    margin = max(1, int((end - start) * _MARGIN))
    return start - margin, end + margin


def figure_height(index: TimelineIndex) -> int:
    """Return the height in pixels that the rows take."""
    return _STRIP + _AXIS + _LEGEND + _FOOT + _ROW * max(1, len(timeline_rows(index)))


def draw_timeline(index: TimelineIndex, window: tuple[int, int], *, most_boxes: int = 3000) -> go.Figure:
    """Return the figure of a window as plotly's object."""
    figure: go.Figure = graph_objects().Figure(timeline_document(index, window, most_boxes=most_boxes))
    return figure


def timeline_document(index: TimelineIndex, window: tuple[int, int], *, most_boxes: int = 3000) -> dict[str, Any]:
    """Return the figure of a window as plotly writes it. Its objects check every value, which takes longer."""
    rows = timeline_rows(index)
    tracks = list(dict.fromkeys(row.track for row in rows if row.track >= 0))
    boxes = visible(index, tracks, *window, pixels=WIDTH, most_lanes=LEVELS, most_boxes=most_boxes)
    unit_ns, unit = _time_unit(window)
    row_of = {(row.track, row.lane): place for place, row in enumerate(rows) if row.track >= 0}
    scene = Scene(index=index, window=window, rows=rows, boxes=boxes, unit_ns=unit_ns, row_of=row_of)
    return {"data": [*box_traces(scene), *_strip(scene)], "layout": _layout(scene, unit)}


def _layout(scene: Scene, unit: str) -> dict[str, Any]:
    height = figure_height(scene.index)
    inner = height - _LEGEND - _FOOT
    top = 1 - (_STRIP + _AXIS) / inner
    titled = [(place, row) for place, row in enumerate(scene.rows) if row.title]
    return _merged(
        _common_layout(),
        {
            "height": height,
            "barmode": "overlay",
            "bargap": 0.12,
            "margin": {"t": _LEGEND, "b": _FOOT},
            "legend": {"y": 1, "itemclick": False, "itemdoubleclick": False, "yref": "container", "yanchor": "top"},
            "hovermode": "closest",
            "xaxis": {
                "range": [float(scene.x(each)) for each in scene.window],
                "separatethousands": True,
                "exponentformat": "none",
                "side": "top",
                "title": {"text": f"time since the first event ({unit})", "font": {"size": 13}},
                "anchor": "y",
                "automargin": False,
            },
            "yaxis": {
                "domain": [0, top],
                "range": [len(scene.rows) - 0.5, -0.5],
                "tickvals": [place for place, _ in titled],
                "ticktext": [_tick(row) for _, row in titled],
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
            },
            "xaxis2": {
                "range": [float(scene.x(each)) for each in window_of_step(scene.index, "")],
                "anchor": "y2",
                "automargin": False,
                "showticklabels": False,
                "showgrid": False,
                "zeroline": False,
            },
            "yaxis2": {"domain": [1 - _STRIP / inner, 1], "range": [0, 1], "visible": False, "fixedrange": True},
            "shapes": [*_shades(scene), _window_shape(scene)],
        },
    )


@functools.cache
def _common_layout() -> Mapping[str, Any]:
    """Return the looks that all figures share; plotly's objects take as long to make them as everything else takes."""
    layout: Mapping[str, Any] = new_figure().layout.to_plotly_json()
    return layout


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with changes at any depth; neither is changed."""
    deeper = {
        name: _merged(base[name], value)
        for name, value in changes.items()
        if isinstance(value, dict) and isinstance(base.get(name), dict)
    }
    return {**base, **changes, **deeper}


def _tick(row: TimelineRow) -> str:
    if row.track < 0:
        return f"<b>{escape(row.title)}</b>"
    title = row.title if len(row.title) <= _LONGEST_TITLE else row.title[: _LONGEST_TITLE - 1] + "…"
    return escape(title)


def _shades(scene: Scene) -> list[dict[str, Any]]:
    """Return a band behind each heading."""
    common = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "yref": "y", "layer": "below", "line": {"width": 0}}
    return [
        {**common, "y0": place - 0.5, "y1": place + 0.5, "fillcolor": _SHADE}
        for place, row in enumerate(scene.rows)
        if row.track < 0
    ]


def _window_shape(scene: Scene) -> dict[str, Any]:
    start, end = (float(scene.x(each)) for each in scene.window)
    return {
        "type": "rect", "xref": "x2", "yref": "y2", "x0": start, "x1": end, "y0": 0, "y1": 1,
        "line": {"width": 1.5, "color": PICKED}, "fillcolor": "rgba(201, 69, 123, 0.12)",
    }  # fmt: skip


def _strip(scene: Scene) -> list[dict[str, Any]]:
    """Return the strip of everything: how busy the device is, or the first track where there is no device."""
    index, window = scene.index, window_of_step(scene.index, "")
    tracks = [number for number, track in enumerate(index.tracks) if track.kind is TrackKind.OVERLAP][:2]
    tracks = tracks or list(range(min(1, len(index.tracks))))
    boxes = visible(index, tracks, *window, pixels=WIDTH // 2, most_lanes=1, most_boxes=600)
    traces = []
    for place, number in enumerate(tracks):
        here = np.flatnonzero(boxes.track == number)
        length = np.maximum(boxes.end_ns - boxes.start_ns, (window[1] - window[0]) / WIDTH)[here]
        opacity = (PALE + (1 - PALE) * boxes.busy_share[here]).round(3).tolist()
        traces.append(
            {
                "type": "bar",
                "base": scene.x(boxes.start_ns[here]).tolist(),
                "x": (length / scene.unit_ns).tolist(),
                "y": [0.72 - 0.44 * place] * len(here),
                "width": 0.4,
                "orientation": "h",
                "marker": {"color": kind_colour(index.tracks[number].names.kinds[0]), "opacity": opacity},
                "hoverinfo": "skip",
                "showlegend": False,
                "xaxis": "x2",
                "yaxis": "y2",
            }
        )
    return traces
