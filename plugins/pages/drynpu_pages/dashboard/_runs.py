"""The list of runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from dash import dcc, html
from dash.development.base_component import Component

from drynpu.views.runs import RunFolder
from drynpu.views.theme import count_text, share_text, size_text, time_text
from drynpu_pages.dashboard._address import path_of
from drynpu_pages.dashboard._attributes import attributes
from drynpu_pages.pages import PAGES
from drynpu_pages.run_lines import RunLine

_COLUMNS = ("", "Run", "Step", "Kernels", "Peak memory", "Chip", "Framework", "Kind", "Ranks", "Size", "Time")
_SPARK_PX = 16


def run_list(folders: Sequence[RunFolder], lines: Sequence[RunLine | None]) -> Component:
    """Return the table of runs, or why there are none."""
    if not folders:
        return html.P("No profile here yet. This page shows runs as soon as they are written.", className="note empty")
    head = html.Thead(html.Tr([html.Th(text, scope="col") for text in _COLUMNS]))
    rows = [_row(folder, line) for folder, line in zip(folders, lines, strict=True)]
    label = attributes(aria_label="Runs")
    table = html.Table([head, html.Tbody(rows)], className="list runs")
    return html.Div(table, className="card scroll", tabIndex="0", role="region", **label)


def _row(folder: RunFolder, line: RunLine | None) -> Component:
    pick = attributes(data_pick=folder.name, aria_pressed="false", aria_label=f"Compare {folder.name}")
    name = dcc.Link(_breakable(folder.name), href=path_of(folder.name, PAGES[0].name))
    texts = _texts(line) if line is not None else ["…", *[""] * 6]
    step, kernels, peak, chip, framework, kind, size = texts
    cells = [
        html.Button("Compare", className="pick", title="Choose two to compare them: the baseline first", **pick),
        [name, html.Div(line.note, className="detail")] if line is not None and line.note else name,
        step, kernels, peak, chip, framework, kind, count_text(len(folder.folders)), size, _time(folder.stamp),
    ]  # fmt: skip
    return html.Tr([html.Td(cell) for cell in cells])


def _breakable(name: str) -> list[Component | str]:
    """Return a name that a narrow page breaks between its words."""
    first, *rest = re.split(r"(?<=[/_])", name)
    return [first, *(part for word in rest for part in (html.Wbr(), word))]


def _texts(line: RunLine) -> list[Component | str]:
    peak = "" if line.peak_bytes is None else size_text(line.peak_bytes)
    if line.peak_bytes is not None and line.capacity_bytes:
        peak += f" ({share_text(line.peak_bytes / line.capacity_bytes)})"
    return [
        "" if line.step_us is None else html.Div([html.Div(time_text(line.step_us)), _spark(line.steps_us)]),
        "" if line.kernels is None else count_text(line.kernels),
        peak,
        line.chip,
        line.framework,
        line.kind,
        size_text(line.size_bytes),
    ]


def _spark(steps_us: Sequence[float]) -> Component | str:
    """Return the times of steps as small bars; a screen reader is told how many there are."""
    highest = max(steps_us, default=0.0)
    if highest <= 0:
        return ""
    bars = [html.I(style={"height": f"{max(1, round(_SPARK_PX * each / highest))}px"}) for each in steps_us]
    label = attributes(aria_label=f"{len(steps_us)} steps")
    return html.Span(bars, className="spark", role="img", **label)


def _time(stamp: str) -> str:
    try:
        return datetime.strptime(stamp[:14], "%Y%m%d%H%M%S").strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return ""
