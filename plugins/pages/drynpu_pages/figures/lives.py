"""The lives of blocks of memory, stacked over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from drynpu.arrays import F64
from drynpu_pages.colours import COLOURS, colour_of
from drynpu_pages.figures._base import graph_objects, new_figure
from drynpu_pages.figures._over_time import mark_position

if TYPE_CHECKING:
    import plotly.graph_objects as go

_DIGITS = 4
_FAINT = 0.5
"""How much of the colour of a band is seen: it lies behind what the picture is about."""
_LAST = 2000
"""Behind all blocks in the legend, which have 1000."""


@frozen
class Life:
    """One block: its outline over time in the units of the axes, what it is for, and what is said of it."""

    times: Sequence[float]
    bottoms: Sequence[float]
    end: float
    height: float
    kind: str
    text: str


@frozen
class Band:
    """What lies on top of the blocks, from the height of the band before it: tops at times."""

    kind: str
    title: str
    tops: Sequence[float]


def draw_lives(
    lives: Sequence[Life],
    times: Sequence[float],
    bands: Sequence[Band],
    line: tuple[str, float, bool] | None,
    *,
    unit: str,
    position: tuple[float, str],
    height_px: int,
) -> go.Figure:
    """
    Return blocks on top of each other.

    Parameters
    ----------
    times, bands:
        What lies above the blocks; the first band is their sum, which is not drawn.
    line:
        Name and height of a level line, and whether it is drawn before it is chosen in the legend.
    """
    scatter = graph_objects().Scatter
    named: set[str] = set()
    traces: list[go.Scatter | dict[str, object]] = []
    for number, band in enumerate(bands):
        colour = COLOURS.get(band.kind, COLOURS["other"])
        traces.append(
            scatter(
                x=_rounded(times),
                y=_rounded(band.tops),
                name=band.title,
                showlegend=number > 0,
                mode="lines",
                line={"shape": "hv", "width": 0},
                fill="tonexty" if number else None,
                fillcolor=_faint(colour),
                legendrank=_LAST,
                hovertemplate=f"{band.title}, up to %{{y:.2f}} {unit}<extra></extra>" if number else None,
                hoverinfo=None if number else "skip",
            )
        )
    traces.extend(_blocks(lives, named))
    if line is not None and times:
        name, level, is_drawn = line
        traces.append(
            scatter(
                x=[times[0], times[-1]], y=[level, level], name=name, mode="lines",
                visible=True if is_drawn else "legendonly",
                line={"color": COLOURS["available"], "width": 1.6, "dash": "dash"}, legendrank=_LAST + 1,
                hovertemplate=f"{name}: %{{y:.2f}} {unit}<extra></extra>",
            )
        )  # fmt: skip
    figure = new_figure(traces, x_title="time (ms)", y_title=f"memory ({unit})", height_px=height_px)
    figure.update_layout(hovermode="closest")
    figure.update_yaxes(rangemode="tozero")
    figure.update_xaxes(exponentformat="none")
    mark_position(figure, *position, times)
    return figure


def _blocks(lives: Sequence[Life], named: set[str]) -> list[dict[str, object]]:
    """Return a trace for each block as plain values: one by one, a thousand objects would take a second."""
    traces: list[dict[str, object]] = []
    for life in lives:
        x, y = _outline(life)
        traces.append(
            {
                "type": "scatter", "x": x, "y": y, "mode": "lines", "fill": "toself", "hoveron": "fills",
                "hoverinfo": "text", "text": life.text, "name": life.kind, "legendgroup": life.kind,
                "showlegend": life.kind not in named, "fillcolor": colour_of(life.kind),
                "line": {"width": 0.6, "color": "rgba(255,255,255,0.75)"},
            }
        )  # fmt: skip
        named.add(life.kind)
    return traces


def _outline(life: Life) -> tuple[F64, F64]:
    """Return the corners of a block: along its top, and back along its bottom."""
    times = np.array([*life.times, life.end])
    x = np.repeat(times, 2)[1:-1]
    bottom = np.repeat(np.array(life.bottoms), 2)
    top = bottom + life.height
    corners = (np.concatenate([x, x[::-1], x[:1]]), np.concatenate([top, bottom[::-1], top[:1]]))
    return corners[0].round(_DIGITS), corners[1].round(_DIGITS)


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {_FAINT})"


def _rounded(values: Sequence[float]) -> F64:
    return np.asarray(values, np.float64).round(_DIGITS)
