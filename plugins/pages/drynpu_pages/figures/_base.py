"""
Kinds of figures.

Grounds are transparent, and texts and grids have the middle grey that pages replace by colours of their own
(``figure.css``), so that one figure serves light and dark pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from drynpu import require
from drynpu_pages.colours import COLOURS, colours_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
_GREY, _GRID = "#6b7580", "rgba(127, 138, 150, 0.25)"
_LONGEST_LABEL = 28


def graph_objects() -> Any:
    """Return ``plotly.graph_objects``, or say which extra brings it."""
    require("plotly", "dashboard")
    import plotly.graph_objects

    return plotly.graph_objects


def new_figure(
    traces: Sequence[Any] = (), *, x_title: str = "", y_title: str = "", height_px: int = 320, legend: bool = True
) -> go.Figure:
    """Return a figure of *traces* with the looks that all figures share; titles of axes carry the unit."""
    axis = {"gridcolor": _GRID, "zerolinecolor": _GRID, "linecolor": _GRID, "automargin": True, "title_standoff": 8}
    figure: go.Figure = graph_objects().Figure(list(traces))
    figure.update_layout(
        template=None,
        height=height_px,
        margin={"l": 8, "r": 8, "t": 8, "b": 8, "pad": 2},
        font={"family": _FONT, "size": 13, "color": _GREY},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        showlegend=legend,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "xanchor": "left"},
        hoverlabel={"font": {"family": _FONT, "size": 13}},
        xaxis={**axis, "title": {"text": x_title}},
        yaxis={**axis, "title": {"text": y_title}},
        bargap=0.25,
    )
    return figure


Windows = Sequence["tuple[int, int] | None"]
"""Begin and end of the time that each point of a figure is about, ns; ``None`` for no time."""


def window_marks(windows: Windows) -> list[str]:
    """Return what stands behind points that lead to their window in the timeline when they are clicked."""
    return ["" if window is None else "window={}-{}".format(*window) for window in windows]


def stacked_bars(
    labels: Sequence[str],
    parts: Mapping[str, tuple[str, Sequence[float]]],
    *,
    axis_title: str,
    unit: str,
    height_px: int = 320,
    horizontal: bool = False,
    label_title: str = "",
    windows: Windows = (),
) -> go.Figure:
    """
    Return bars, one per label, of parts on top of each other.

    Parameters
    ----------
    parts:
        Key of `drynpu.views.theme.COLOURS` -> name in the legend, and one value per label.
    axis_title:
        Of the axis of values, with its unit.
    windows:
        One for each label, or none.
    """
    bar = graph_objects().Bar
    traces = []
    colours = colours_of(parts)
    for (name, values), colour in zip(parts.values(), colours, strict=True):
        at = {"x": list(values), "y": list(labels)} if horizontal else {"x": list(labels), "y": list(values)}
        value = "%{x" if horizontal else "%{y"
        traces.append(
            bar(
                **at,
                name=name,
                marker_color=colour,
                orientation="h" if horizontal else "v",
                customdata=window_marks(windows) or None,
                hovertemplate=f"{name}: {value}:.3f}} {unit}<extra></extra>",
            )
        )
    titles = (axis_title, label_title) if horizontal else (label_title, axis_title)
    figure = new_figure(traces, x_title=titles[0], y_title=titles[1], height_px=height_px)
    figure.update_layout(barmode="stack", legend_traceorder="normal")
    # Names are names, also those that look like numbers; the first stands on top.
    if horizontal:
        figure.update_yaxes(type="category", autorange="reversed")
    else:
        figure.update_xaxes(type="category")
    return figure


def bars(
    labels: Sequence[str],
    values: Sequence[float],
    *,
    axis_title: str,
    unit: str,
    height_px: int = 320,
    windows: Windows = (),
) -> go.Figure:
    """Return horizontal bars, the first on top, each in the colour of its label; *windows* as of `stacked_bars`."""
    shown = [_short(label) for label in labels]
    marks = window_marks(windows) or [""] * len(labels)
    trace = graph_objects().Bar(
        x=list(values),
        y=shown,
        customdata=list(zip(labels, marks, strict=True)),
        orientation="h",
        marker_color=_with_other(labels),
        hovertemplate=f"%{{customdata[0]}}: %{{x:.3f}} {unit}<extra></extra>",
    )
    figure = new_figure([trace], x_title=axis_title, height_px=height_px, legend=False)
    figure.update_yaxes(type="category", autorange="reversed")
    return figure


def donut(
    labels: Sequence[str], values: Sequence[float], *, unit: str, height_px: int = 320, windows: Windows = ()
) -> go.Figure:
    """Return a ring of shares in the order of *labels*, clockwise from the top; *windows* as of `stacked_bars`."""
    marks = window_marks(windows)
    trace = graph_objects().Pie(
        labels=[_short(label) for label in labels],
        values=list(values),
        customdata=list(zip(labels, marks, strict=True)) if marks else list(labels),
        hole=0.55,
        sort=False,
        direction="clockwise",
        marker={"colors": _with_other(labels)},
        texttemplate="%{percent:.1%}",
        textposition="inside",
        insidetextorientation="horizontal",
        hovertemplate=f"%{{customdata{'[0]' if marks else ''}}}: %{{value:.3f}} {unit} (%{{percent}})<extra></extra>",
    )
    figure = new_figure([trace], height_px=height_px)
    figure.update_layout(
        # Below, where a narrow page has room for it, too.
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": -0.04, "yanchor": "top"},
        # A slice that has no room for its share shows it when it is pointed at.
        uniformtext={"minsize": 11, "mode": "hide"},
    )
    return figure


def lines(
    x: Sequence[Any],
    series: Mapping[str, tuple[str, Sequence[float | None]]],
    *,
    x_title: str,
    y_title: str,
    height_px: int = 300,
    category: bool = False,
    markers: bool = False,
    windows: Windows = (),
) -> go.Figure:
    """
    Return lines over one axis; *windows* as of `stacked_bars`.

    Parameters
    ----------
    series:
        Key of `drynpu.views.theme.COLOURS` (or any name) -> name in the legend, and one value per *x*; ``None`` is a
        gap.
    """
    scatter = graph_objects().Scatter
    colours = colours_of(series)
    traces = [
        scatter(
            x=list(x),
            y=list(values),
            name=name,
            mode="lines+markers" if markers else "lines",
            customdata=window_marks(windows) or None,
            line={"color": colour, "width": 2},
            hovertemplate=f"{name}: %{{y}}<extra>%{{x}}</extra>",
        )
        for (name, values), colour in zip(series.values(), colours, strict=True)
    ]
    figure = new_figure(traces, x_title=x_title, y_title=y_title, height_px=height_px, legend=len(traces) > 1)
    if category:
        figure.update_xaxes(type="category")
    figure.update_yaxes(rangemode="tozero")
    return figure


def _with_other(labels: Sequence[str]) -> list[str]:
    colours = colours_of([label for label in labels if label != "Other"])
    return [COLOURS["other"] if label == "Other" else colours.pop(0) for label in labels]


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"
