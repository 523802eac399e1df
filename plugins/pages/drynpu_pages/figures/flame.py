"""The flame graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from drynpu_pages.colours import colour_of
from drynpu_pages.figures._base import graph_objects, new_figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

_LEAST = 0.002
"""Share of the whole below which a place is too narrow to be seen."""
_DEPTH = 12
"""Levels that are shown at first; a click shows what stands below a place."""
_DETAIL = "%{label}<br>%{value:.1f} us, %{percentRoot:.1%} of all<br>%{customdata}<extra></extra>"


def draw_flame(tree: pl.DataFrame, height_px: int) -> go.Figure:
    """Return the places of table `drynpu_pages.flame.FLAME` that can be seen, the root on top; a click goes down."""
    whole = float(tree.filter(pl.col("parent") == "")["total_us"].sum()) or 1.0
    shown = tree.filter(pl.col("total_us") >= _LEAST * whole)
    texts = [
        f"{calls} calls, {time:.1f} us of its own" if calls else ""
        for calls, time in shown.select("calls", "self_us").rows()
    ]
    trace = graph_objects().Icicle(
        ids=shown["path"].to_list(),
        labels=shown["name"].to_list(),
        parents=shown["parent"].to_list(),
        values=shown["total_us"].to_list(),
        customdata=texts,
        branchvalues="total",
        maxdepth=_DEPTH,
        sort=False,
        tiling={"orientation": "v", "pad": 1},
        marker={"colors": [colour_of(name) for name in shown["name"]]},
        textposition="middle left",
        hovertemplate=_DETAIL,
        pathbar={"visible": True, "thickness": 24},
        root={"color": "rgba(0,0,0,0)"},
    )
    figure = new_figure([trace], height_px=height_px, legend=False)
    figure.update_layout(uniformtext={"minsize": 11, "mode": "hide"})
    return figure
