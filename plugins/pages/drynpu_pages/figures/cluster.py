"""The figures of several ranks: matrix of links, one block for each rank."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from drynpu_pages.figures._base import graph_objects, new_figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

_SCALE = "Blues"
_WRITTEN = 16
"""Ranks up to which the numbers stand in the fields."""

_WHOLE = 1000
"""From here on three digits would need an exponent."""


def link_matrix(links: pl.DataFrame, *, height_px: int = 320) -> go.Figure:
    """
    Return the rate of every link: sources down, targets to the right; what exchanged nothing is empty.

    Parameters
    ----------
    links:
        Table ``CLUSTER_LINKS`` of `drynpu.analysis`; of several transports between two ranks the quickest is shown.
    """
    ranks = sorted({*links["source"].to_list(), *links["target"].to_list()})
    place = {rank: number for number, rank in enumerate(ranks)}
    values: list[list[float | None]] = [[None] * len(ranks) for _ in ranks]
    texts = [[""] * len(ranks) for _ in ranks]
    for row in links.sort("gb_s", nulls_last=False).iter_rows(named=True):
        down, across = place[row["source"]], place[row["target"]]
        values[down][across] = row["gb_s"]
        texts[down][across] = f"{row['transport']}, {row['size_bytes'] / 2**20:.2f} MiB in {row['time_us']:.1f} us"
    names = [str(rank) for rank in ranks]
    trace = graph_objects().Heatmap(
        z=values,
        x=names,
        y=names,
        customdata=texts,
        zmin=0,
        zmax=links["gb_s"].max(),  # the library leaves out one bound without the other
        colorscale=_SCALE,
        colorbar={"title": {"text": "GB/s"}, "thickness": 12},
        texttemplate="%{z:.1f}" if len(ranks) <= _WRITTEN else None,
        hovertemplate="%{y} → %{x}: %{z:.2f} GB/s<br>%{customdata}<extra></extra>",
        hoverongaps=False,
        xgap=1,
        ygap=1,
    )
    figure = new_figure([trace], x_title="to rank", y_title="from rank", height_px=height_px, legend=False)
    figure.update_xaxes(type="category")
    figure.update_yaxes(type="category", autorange="reversed")
    return figure


def rank_blocks(ranks: list[str], values: list[float], title: str, *, height_px: int = 220) -> go.Figure:
    """Return one field for each rank, row by row, coloured by its share of the largest value."""
    width = min(len(ranks), max(8, math.ceil(math.sqrt(len(ranks)))))
    most = max(values) or 1.0
    rows = [range(start, min(start + width, len(ranks))) for start in range(0, len(ranks), width)]
    shares: list[list[float | None]] = [[values[at] / most for at in row] + [None] * (width - len(row)) for row in rows]
    texts = [[f"rank {ranks[at]}<br>{_short(values[at])}" for at in row] + [""] * (width - len(row)) for row in rows]
    trace = graph_objects().Heatmap(
        z=shares,
        customdata=texts,
        zmin=0,
        zmax=1,
        colorscale=_SCALE,
        colorbar={"title": {"text": "of the most"}, "thickness": 12, "tickformat": ".0%"},
        text=texts if len(ranks) <= _WRITTEN else None,
        texttemplate="%{text}" if len(ranks) <= _WRITTEN else None,
        hovertemplate=f"%{{customdata}}<br>%{{z:.1%}} of the most<extra>{title}</extra>",
        hoverongaps=False,
        xgap=2,
        ygap=2,
    )
    figure = new_figure([trace], height_px=height_px, legend=False)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False, autorange="reversed")
    return figure


def _short(value: float) -> str:
    """Return three digits of a number, and all those before its point."""
    return f"{value:.0f}" if abs(value) >= _WHOLE else f"{value:.3g}"
