"""Blocks of pages as Dash components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from drynpu.views.content import (
    ANSWER,
    EMPTY,
    WARNING,
    Block,
    Chart,
    Fact,
    Facts,
    Hint,
    Note,
    Row,
    Table,
    TimelineChart,
)
from drynpu.views.runs import View
from drynpu.views.theme import time_text
from drynpu_pages.dashboard._address import path_of, query_of, window_address
from drynpu_pages.dashboard._tables import table_parts
from drynpu_pages.dashboard._timeline import timeline_card

_TOOLS: Any = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "sendDataToCloud"],
}


def components(blocks: Sequence[Block], view: View) -> list[Component]:
    """Return the components of the blocks of a page, top down."""
    return [_component(block, view) for block in blocks]


def _component(block: Block, view: View) -> Any:
    if isinstance(block, Facts):
        return _facts(block, view)
    if isinstance(block, TimelineChart):
        return timeline_card(block, view)
    if isinstance(block, Chart):
        return _chart(block)
    if isinstance(block, Table):
        return _table(block, view)
    if isinstance(block, Row):
        return html.Div([_component(each, view) for each in block.blocks], className="row")
    if isinstance(block, Hint):
        return _hint(block, view)
    return _note(block)


def _heading(title: str, detail: str) -> list[Component]:
    parts: list[Component] = [html.H2(title)] if title else []
    return [*parts, *([html.P(detail, className="detail")] if detail else [])]


def _facts(block: Facts, view: View) -> object:
    cells = [_fact(fact, view) for fact in block.facts]
    return html.Section([*_heading(block.title, ""), html.Dl(cells, className="facts")], className="card")


def _fact(fact: Fact, view: View) -> Component:
    value: Component = html.Span(fact.text, className="value")
    if fact.window is not None:
        href = window_address(view.run.name, view.rank.label, fact.window)
        value = dcc.Link(fact.text, href=href, className="value", title="Show in the timeline")
    said = [value, html.Span(fact.detail, className="detail")]
    return html.Div([html.Dt(fact.label), html.Dd(said)])


def _chart(block: Chart) -> Component:
    graph = dcc.Graph(
        id={"type": "chart", "name": block.name},
        figure=block.draw(),
        config=_TOOLS,
        style={"height": f"{block.height_px}px"},
        responsive=True,
    )
    described = html.Figcaption(block.alternative, className="unseen")
    return html.Section([*_heading(block.title, block.detail), html.Figure([graph, described])], className="card")


def _table(block: Table, view: View) -> object:
    parts = table_parts(block, view.run.name, view.rank.label)
    return html.Section([*_heading(block.title, block.detail), *parts], className="card wide")


def _note(block: Note) -> Component:
    kind = {EMPTY: "note empty", WARNING: "note warning", ANSWER: "note answer"}.get(block.kind, "note")
    return html.P(block.text, className=kind, role="status" if block.kind == WARNING else None)


def _hint(block: Hint, view: View) -> Component:
    cost = (
        [html.Span(f"{time_text(block.cost_us)} {block.per}", className="value")] if block.cost_us is not None else []
    )
    parts = [html.H3([block.title, *cost]), html.P(block.evidence, className="detail"), html.P(block.remedy)]
    return html.Article([*parts, html.P(_evidence(block, view), className="links")], className="hint")


def _evidence(block: Hint, view: View) -> list[Component]:
    """Return links to the page with the evidence, and to the longest of the times that a hint is about."""
    rank, name = view.rank.label, view.run.name
    links: list[Component] = (
        [dcc.Link("Show the numbers", href=path_of(name, block.page) + query_of(rank))] if block.page else []
    )
    if block.window is not None:
        links.append(dcc.Link("Show in the timeline", href=window_address(name, rank, block.window)))
    return links
