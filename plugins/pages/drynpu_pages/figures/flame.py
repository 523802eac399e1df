"""The flame graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from drynpu.views.theme import time_text
from drynpu_pages.colours import colour_of
from drynpu_pages.figures._base import graph_objects, new_figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

_LEAST = 0.002
"""Share of the whole below which a place is too narrow to be seen."""
_DEPTH = 12
"""Levels that are shown at first; a click shows what stands below a place."""
_WIDTH_PX, _LETTER_PX = 900, 8
"""Width of the figure on a usual screen, and of a letter: what is cut from a name follows from both."""
_ALL, _GROUND = "all", "#6b7580"
_DETAIL = "%{label}<br>%{value:.1f} us, %{percentRoot:.1%} of all<br>%{customdata}<extra></extra>"


def draw_flame(tree: pl.DataFrame, height_px: int) -> go.Figure:
    """Return the places of table `drynpu_pages.flame.FLAME` that can be seen, the root on top; a click goes down."""
    whole = float(tree.filter(pl.col("parent") == "")["total_us"].sum()) or 1.0
    shown = tree.filter(pl.col("total_us") >= _LEAST * whole)
    texts = [
        f"{calls} calls, {time:.1f} us of its own" if calls else ""
        for calls, time in shown.select("calls", "self_us").rows()
    ]
    names, widths = shown["name"].to_list(), (shown["total_us"] / whole * _WIDTH_PX).to_list()
    # Without a place for all, plotly leaves a row empty where it would stand.
    trace = graph_objects().Icicle(
        ids=[_ALL, *shown["path"]],
        labels=[_ALL, *names],
        text=[f"{_ALL}: {time_text(whole)}", *map(_fitting, names, widths)],
        textinfo="text",
        parents=["", *(shown["parent"].replace("", _ALL))],
        values=[whole, *shown["total_us"]],
        customdata=["", *texts],
        branchvalues="total",
        maxdepth=_DEPTH,
        sort=False,
        tiling={"orientation": "v", "pad": 1},
        marker={"colors": [_GROUND, *map(colour_of, names)]},
        textposition="middle left",
        outsidetextfont={"color": "white"},
        hovertemplate=_DETAIL,
        pathbar={"visible": True, "thickness": 24},
    )
    figure = new_figure([trace], height_px=height_px, legend=False)
    figure.update_layout(uniformtext={"minsize": 11, "mode": "hide"})
    return figure


def _fitting(name: str, width_px: float) -> str:
    """Return a name, or the last of its parts where only that has room; ``""`` where nothing has."""
    most = int(width_px / _LETTER_PX)
    for text in (name, *(name.rpartition(mark)[2].strip() for mark in (": ", "::", "/", "."))):
        if text and len(text) <= most:
            return text
    return ""
