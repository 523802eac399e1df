"""The figures of calculation: roofline and flow of operations through the scopes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from drynpu_pages.colours import COLOURS, colour_of, colours_of
from drynpu_pages.figures._base import graph_objects, new_figure, window_marks

if TYPE_CHECKING:
    import plotly.graph_objects as go

_SMALLEST_PX, _LARGEST_PX = 6.0, 34.0
_MOST_POINTS = 2000
"""Kinds of kernels that are drawn, those that take most time."""


def roofline(
    points: pl.DataFrame, cube_gflops: float | None, memory_gbs: float | None, *, height_px: int = 340
) -> go.Figure:
    """
    Return rate over operations per byte, both logarithmic, with the limits of the chip where they are known.

    Parameters
    ----------
    points:
        Columns ``op_type input_shapes intensity gflops total_us start_ns end_ns``, the last two of the longest kernel.
    """
    objects = graph_objects()
    shown = points.sort("total_us", descending=True).head(_MOST_POINTS)
    longest = float(shown["total_us"].max() or 1.0) if shown.height else 1.0  # type: ignore[arg-type]
    traces = []
    names = shown["op_type"].unique(maintain_order=True).to_list()
    for name, colour in zip(names, colours_of(names), strict=True):
        rows = shown.filter(pl.col("op_type") == name)
        marks = window_marks([None if None in each else each for each in rows.select("start_ns", "end_ns").rows()])
        sizes = [max(_SMALLEST_PX, _LARGEST_PX * math.sqrt(time / longest)) for time in rows["total_us"]]
        traces.append(
            objects.Scatter(
                x=rows["intensity"].to_list(),
                y=rows["gflops"].to_list(),
                customdata=list(zip(*rows.select("input_shapes", "total_us"), marks, strict=True)),
                name=name,
                mode="markers",
                marker={"size": sizes, "color": colour, "opacity": 0.8, "line": {"width": 0}},
                hovertemplate=f"{name} %{{customdata[0]}}<br>%{{y:.1f}} GFLOPS at %{{x:.2f}} FLOP/byte"
                "<br>%{customdata[1]:.3f} us in all<extra></extra>",
            )
        )
    figure = new_figure(traces, x_title="FLOP per byte", y_title="GFLOPS", height_px=height_px)
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    _limits(figure, shown, cube_gflops, memory_gbs)
    return figure


def _limits(figure: go.Figure, points: pl.DataFrame, cube_gflops: float | None, memory_gbs: float | None) -> None:
    if not cube_gflops or not memory_gbs:
        return
    ridge = cube_gflops / memory_gbs
    lowest = min([*points["intensity"].to_list(), ridge]) / 2
    highest = max([*points["intensity"].to_list(), ridge]) * 4
    figure.add_scatter(
        x=[lowest, ridge, highest],
        y=[lowest * memory_gbs, cube_gflops, cube_gflops],
        mode="lines",
        name=f"limit: {memory_gbs:g} GB/s, {cube_gflops / 1000:.0f} TFLOPS with 16 bit",
        line={"color": COLOURS["mark"], "dash": "dash", "width": 2},
        hoverinfo="skip",
    )


def sankey(scopes: pl.DataFrame, *, height_px: int = 400) -> go.Figure:
    """
    Return the flow of operations from the whole through the scopes.

    Parameters
    ----------
    scopes:
        Table ``SCOPE_FLOPS`` of `drynpu.analysis.calculation`.
    """
    paths = ["", *scopes["scope"].to_list()]
    place = {path: number for number, path in enumerate(paths)}
    names = ["Total", *(path.rsplit("/", 1)[-1] for path in paths[1:])]
    trace = graph_objects().Sankey(
        node={
            "label": names,
            "customdata": paths,
            "color": [colour_of(name) for name in names],
            "pad": 14,
            "thickness": 14,
            "line": {"width": 0},
            "hovertemplate": "%{customdata}: %{value:.3f} MFLOPs<extra></extra>",
        },
        link={
            "source": [place[parent] for parent in scopes["parent"]],
            "target": [place[scope] for scope in scopes["scope"]],
            "value": (scopes["flops"] / 1e6).to_list(),
            "color": "rgba(127, 138, 150, 0.35)",
            "hovertemplate": "%{target.customdata}: %{value:.3f} MFLOPs<extra></extra>",
        },
    )
    return new_figure([trace], height_px=height_px, legend=False)
