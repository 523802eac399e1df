"""The critical path over time, a lane for each kind of part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from drynpu_pages.colours import COLOURS
from drynpu_pages.figures._base import graph_objects, new_figure, window_marks

if TYPE_CHECKING:
    import plotly.graph_objects as go

_PLACES = 1500
"""Parts of one kind that are nearer than the width divided by this are drawn as one."""
_LEAST = 0.0008
"""Share of the width that a part has at least, so that it is seen."""
_SEEN = 0.05
"""Share of a place that parts take at least to be drawn: gaps of some ns would look as if they filled it."""
_ORDER = ("host", "task queue", "launch", "gap", "other stream", "kernel", "collective", "other ranks")
"""Lanes from top to bottom: the host, what leads from it to the device, the device, other ranks."""


def draw_path(path: pl.DataFrame, titles: Mapping[str, tuple[str, str]], height_px: int) -> go.Figure:
    """
    Return the parts of one step over time.

    Parameters
    ----------
    path:
        Table `drynpu_pages.critical.PATH`.
    titles:
        Kind of a part -> key of its colour in `drynpu_pages.colours.COLOURS`, and name.
    """
    begin = int(path["start_ns"].min() or 0)  # type: ignore[arg-type]
    span = max(int(path["end_ns"].max() or 0) - begin, 1)  # type: ignore[arg-type]
    bar = graph_objects().Bar
    traces = []
    for kind in _ORDER:
        rows = _joined(path.filter(pl.col("kind") == kind), begin, span)
        if rows.is_empty():
            continue
        colour, title = titles[kind]
        marks = window_marks(rows.select("start_ns", "end_ns").rows())
        traces.append(
            bar(
                base=((rows["start_ns"] - begin) / 1e6).to_list(),
                x=[max(us / 1e3, _LEAST * span / 1e6) for us in rows["us"]],
                y=[kind] * rows.height,
                customdata=list(zip(*rows.select("name", "us", "count"), marks, strict=True)),
                name=title,
                orientation="h",
                marker={"color": COLOURS[colour], "line": {"width": 0}},
                width=0.7,
                hovertemplate="%{customdata[0]}<br>%{customdata[1]:.3f} us, parts: %{customdata[2]}<extra></extra>",
            )
        )
    figure = new_figure(traces, x_title="time (ms)", height_px=height_px, legend=False)
    figure.update_layout(barmode="overlay")
    figure.update_yaxes(type="category", autorange="reversed", dtick=1)
    return figure


def _joined(parts: pl.DataFrame, begin: int, span: int) -> pl.DataFrame:
    """Return parts of one kind, those in one place as one, with the name of the longest."""
    length = pl.col("end_ns") - pl.col("start_ns")
    label = pl.when(pl.col("name") == "").then("type").otherwise("name")
    # What is longer than a place stands by itself.
    place = pl.when(length * _PLACES < span).then((pl.col("start_ns") - begin) * _PLACES // span)
    alone = -1 - pl.int_range(pl.len())
    return (
        parts.group_by(place.fill_null(alone).alias("place"), maintain_order=True)
        .agg(
            pl.col("start_ns").min(),
            pl.col("end_ns").max(),
            (length.sum() / 1000).alias("us"),
            pl.len().alias("count"),
            label.get(length.arg_max()).alias("name"),
        )
        .filter(pl.col("us") * 1000 * _PLACES >= _SEEN * span)
        .sort("start_ns")
    )
