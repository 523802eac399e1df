"""Curves over time, with marks at moments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from drynpu_pages.colours import COLOURS, colours_of
from drynpu_pages.figures._base import graph_objects, new_figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_POINTS = 3000
"""Points of a curve that are drawn: more than a screen has columns."""


def thin(frame: pl.DataFrame, columns: Sequence[str], most: int = MOST_POINTS) -> pl.DataFrame:
    """
    Return rows of *frame* that give the same picture: of each stretch the last row and the least and most of *columns*.

    Rows keep the order of the frame; at most about *most*.
    """
    if frame.height <= most:
        return frame
    kept_each = 1 + 2 * len(columns)
    buckets = max(most // kept_each, 1)
    rows = frame.select(columns).with_row_index("row")
    bucket = (pl.col("row").cast(pl.Int64) * buckets // frame.height).alias("bucket")
    extremes = [
        pl.col("row").get(getattr(pl.col(name), which)()).alias(f"{name}_{which}")
        for name in columns
        for which in ("arg_min", "arg_max")
    ]
    kept = rows.group_by(bucket).agg(pl.col("row").last().alias("last"), *extremes).drop("bucket")
    places = pl.concat([kept[name].alias("row") for name in kept.columns]).drop_nulls().unique().sort()
    rows_kept: pl.DataFrame = frame[places]
    return rows_kept


def curves(
    x: Sequence[float],
    series: Mapping[str, tuple[str, Sequence[float | None]]],
    *,
    x_title: str,
    y_title: str,
    marks: Mapping[str, tuple[str, Sequence[float]]] | None = None,
    position: tuple[float, str] | None = None,
    keys: Sequence[str] | None = None,
    hidden: Collection[str] = (),
    stepped: bool = True,
    height_px: int = 340,
) -> go.Figure:
    """
    Return curves that hold their value until the next point, with upright lines at moments.

    Parameters
    ----------
    series:
        Key of `drynpu.views.theme.COLOURS` (or any name) -> name in the legend, and one value per *x*.
    marks:
        Key of a colour -> name in the legend, and the moments.
    position:
        The chosen moment and what stands beside its line.
    keys:
        What identifies each point where it is clicked, one per *x*.
    hidden:
        Keys of series that are not drawn before they are chosen in the legend.
    stepped:
        Whether a value holds until the next; else the points are joined.
    """
    scatter = graph_objects().Scatter
    marks = marks or {}
    unit = y_title.rpartition("(")[2].rstrip(")")
    drawn = [values for key, (_, values) in series.items() if key not in hidden]
    highest = max((value for values in drawn for value in values if value is not None), default=0.0) or 1.0
    traces: list[Any] = [
        scatter(
            x=np.asarray(x, float),
            y=np.asarray(values, float),
            name=name,
            visible="legendonly" if key in hidden else True,
            mode="lines" if len(x) > 1 else "markers",
            line={"color": colour, "width": 1.6, "shape": "hv" if stepped else "linear"},
            customdata=None if keys is None else np.asarray(keys, object),
            hovertemplate=f"{name}: %{{y:.2f}} {unit}<extra>%{{x:.3f}}</extra>",
        )
        for (key, (name, values)), colour in zip(series.items(), colours_of(series), strict=True)
    ]
    dashes = ("dot", "dash", "dashdot")
    for number, (key, (name, moments)) in enumerate(marks.items()):
        traces.append(
            scatter(
                x=[at for moment in moments for at in (moment, moment, None)],
                y=[height for _ in moments for height in (0.0, highest * 1.05, None)],
                name=name,
                mode="lines",
                line={"color": COLOURS.get(key, COLOURS["other"]), "width": 1.2, "dash": dashes[number % len(dashes)]},
                hoverinfo="skip",
            )
        )
    figure = new_figure(traces, x_title=x_title, y_title=y_title, height_px=height_px, legend=len(traces) > 1)
    figure.update_yaxes(rangemode="tozero")
    figure.update_xaxes(exponentformat="none")
    figure.update_layout(hovermode="closest")
    if position is not None:
        mark_position(figure, *position, x)
    return figure


def mark_position(figure: go.Figure, at: float, text: str, x: Sequence[float]) -> None:
    """Draw the chosen moment; its text stands on the side that has room."""
    on_right = len(x) > 0 and at > (x[0] + x[-1]) / 2
    figure.add_shape(
        type="line", x0=at, x1=at, y0=0, y1=1, yref="paper", line={"color": COLOURS["position"], "width": 2}
    )
    figure.add_annotation(
        x=at, y=1, yref="paper", text=text, showarrow=False, yanchor="top", xanchor="right" if on_right else "left",
        xshift=-4 if on_right else 4, font={"color": COLOURS["position"]},
    )  # fmt: skip
