"""Blocks of pages as Dash components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html

from drynpu.views.content import EMPTY, WARNING, Block, Chart, Fact, Facts, Hint, Note, Row, Table, TimelineChart
from drynpu.views.theme import time_text
from drynpu_pages.dashboard._tables import grid
from drynpu_pages.dashboard._timeline import timeline_card

_TOOLS: Any = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "sendDataToCloud"],
}


def components(blocks: Sequence[Block]) -> list[Any]:
    """Return the components of the blocks of a page, top down."""
    return [_component(block) for block in blocks]


def _component(block: Block) -> Any:
    if isinstance(block, Facts):
        return _facts(block)
    if isinstance(block, TimelineChart):
        return timeline_card(block, _heading(block.title, block.detail, block.modelled))
    if isinstance(block, Chart):
        return _chart(block)
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Row):
        return html.Div([_component(each) for each in block.blocks], className="row")
    if isinstance(block, Hint):
        return _hint(block)
    return _note(block)


def modelled_tag() -> Any:
    """Return the mark of numbers that the simulation computed."""
    return html.Span("modelled", className="tag", title="Computed by the simulation, not measured on a device")


def _heading(title: str, detail: str, modelled: bool) -> list[Any]:
    parts: list[Any] = [html.H2([title, *([modelled_tag()] if modelled else [])])] if title else []
    return [*parts, *([html.P(detail, className="detail")] if detail else [])]


def _facts(block: Facts) -> Any:
    cells = [_fact(fact) for fact in block.facts]
    return html.Section(
        [*_heading(block.title, "", modelled=False), html.Dl(cells, className="facts")], className="card"
    )


def _fact(fact: Fact) -> Any:
    term = html.Dt([fact.label, *([modelled_tag()] if fact.modelled else [])])
    return html.Div(
        [term, html.Dd([html.Span(fact.text, className="value"), html.Span(fact.detail, className="detail")])]
    )


def _chart(block: Chart) -> Any:
    graph = dcc.Graph(
        id={"type": "chart", "name": block.name},
        figure=block.draw(),
        config=_TOOLS,
        style={"height": f"{block.height_px}px"},
        responsive=True,
    )
    described = html.Figcaption(block.alternative, className="unseen")
    return html.Section(
        [*_heading(block.title, block.detail, block.modelled), html.Figure([graph, described])], className="card"
    )


def _table(block: Table) -> Any:
    return html.Section([*_heading(block.title, block.detail, block.modelled), *grid(block)], className="card wide")


def _note(block: Note) -> Any:
    kind = {EMPTY: "note empty", WARNING: "note warning"}.get(block.kind, "note")
    return html.P(block.text, className=kind, role="status" if block.kind == WARNING else None)


def _hint(block: Hint) -> Any:
    cost = (
        [html.Span(f"{time_text(block.cost_us)} {block.per}", className="value")] if block.cost_us is not None else []
    )
    parts = [html.H3([block.title, *cost]), html.P(block.evidence, className="detail"), html.P(block.remedy)]
    return html.Article(parts, className="hint")
