"""The timeline in the dashboard: what a reader does changes the address, and the address says what is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate

from drynpu.views.content import TimelineChart
from drynpu.views.theme import count_text
from drynpu_pages.dashboard._address import Address, query_of, read_address
from drynpu_pages.dashboard._files import trace_links
from drynpu_pages.dashboard._moves import TimelinePlace, find_place
from drynpu_pages.library import Library
from drynpu_pages.timeline import KIND_TITLES, LEVELS, Detail, describe, timeline_document
from drynpu_pages.tracks import Spot

_TOOLS: Any = {
    "displaylogo": False,
    "responsive": True,
    "doubleClick": "autosize",
    "modeBarButtons": [["zoom2d", "pan2d"], ["toImage"]],
}
_MOVES: Mapping[str, tuple[str, str, str]] = {
    "in": ("+", "Zoom in", "w"),
    "out": ("\u2212", "Zoom out", "s"),
    "left": ("←", "Earlier", "a"),
    "right": ("→", "Later", "d"),
    "all": ("Whole", "Show everything, or the selected step", "0"),
}
_HINT = (
    "Drag to zoom, drag with Shift to move, Ctrl and the wheel to zoom where the pointer is, double-click for "
    "everything. "
    "Keys: W and S zoom, A and D move, 0 shows everything, N and P go to the next and the previous hit."
)
_PRESSED = "aria-pressed"
_PANELS = 12
"""Events that a panel lists; more are counted."""


def timeline_card(block: TimelineChart, heading: Sequence[Any]) -> Any:
    """Return the card of the timeline; what it shows is drawn when its address is read."""
    graph = dcc.Graph(
        id="timeline-graph",
        figure={
            "data": [],
            "layout": {"height": block.height_px, "xaxis": {"visible": False}, "yaxis": {"visible": False}},
        },
        config=_TOOLS,
        responsive=True,
    )
    described = html.Figcaption(block.alternative, className="unseen")
    deeper = html.P(id="timeline-deeper", className="detail hint-line", role="status")
    parts = [*heading, _tools(), html.Figure([graph, described]), deeper, html.P(_HINT, className="detail hint-line")]
    return html.Section(
        [*parts, html.Div(id="timeline-event", role="status"), html.Div(id="timeline-files")], className="card timeline"
    )


def _button(name: str, text: str, title: str, key: str) -> Any:
    attributes: Any = {"data-key": key, "data-change": f"timeline:{name}"}
    return html.Button(text, id=f"timeline-{name}", title=f"{title} ({key.upper()})", **attributes)


def _tools() -> Any:
    moves = [_button(name, *texts) for name, texts in _MOVES.items()]
    steps = [_button("previous", "Previous", "Previous hit", "p"), _button("next", "Next", "Next hit", "n")]
    search = dcc.Input(
        id="timeline-find", type="text", debounce=True, placeholder="find a name", className="find", value=""
    )
    hits = html.Span(id="timeline-hits", className="detail", role="status")
    return html.Div(
        [
            html.Div(
                [
                    *moves,
                    html.Label(html.Span("Find", className="unseen"), htmlFor="timeline-find"),
                    search,
                    *steps,
                    hits,
                ],
                className="tools",
            ),
            _choices(),
            dcc.Store(id="timeline-found"),
        ]
    )


def _choices() -> Any:
    """
    Return the buttons that stay pressed. Which are, and which kinds there are, is said when an address is read.

    They stay the same buttons: one that is made anew while it is pressed says nothing.
    """
    kinds = [_toggle("kind", kind.value, title, hidden=True) for kind, title in KIND_TITLES.items()]
    levels = [_toggle("levels", str(each), str(each)) for each in LEVELS]
    return html.Div(
        [
            html.Div([html.Span("Show", className="detail"), *kinds], role="group", **_named("What is shown")),
            html.Div([html.Span("Levels", className="detail"), *levels], role="group", **_named("Levels of nesting")),
        ],
        className="tools choices",
    )


def _named(name: str) -> Any:
    return {"aria-label": name}


def _toggle(kind: str, value: str, text: str, *, hidden: bool = False) -> Any:
    attributes: Any = {"data-change": f"timeline:{kind}:{value}", _PRESSED: "false"}
    return html.Button(text, id=f"timeline-{kind}-{value}", hidden=hidden, className="toggle", **attributes)


def connect_timeline(app: Dash, library: Library) -> None:
    """Draw what the address says of the timeline; how it changes is said in ``_moves``."""

    @app.callback(
        output={
            "figure": Output("timeline-graph", "figure"),
            "style": Output("timeline-graph", "style"),
            "event": Output("timeline-event", "children"),
            "hits": Output("timeline-hits", "children"),
            "find": Output("timeline-find", "value"),
            "found": Output("timeline-found", "data"),
            "kinds_hidden": [Output(f"timeline-kind-{kind.value}", "hidden") for kind in KIND_TITLES],
            "kinds_pressed": [Output(f"timeline-kind-{kind.value}", _PRESSED) for kind in KIND_TITLES],
            "levels_pressed": [Output(f"timeline-levels-{each}", _PRESSED) for each in LEVELS],
            "files": Output("timeline-files", "children"),
            "deeper": Output("timeline-deeper", "children"),
        },
        inputs=[Input("url", "search"), State("url", "pathname"), State("timeline-found", "data")],
    )
    def draw(query: str | None, path: str | None, last_find: str | None) -> Any:
        address = read_address(path, query)
        place = find_place(library, address)
        if place is None or not place.index.events:
            raise PreventUpdate
        return _shown(place, address, last_find)


def _shown(place: TimelinePlace, address: Address, last_find: str | None) -> dict[str, Any]:
    index, look = place.index, place.look
    detail = describe(place.rank.profile, index, look.event) if look.event else None
    figure = timeline_document(index, look, place.step, detail.launches if detail else None)
    there = {track.kind for track in index.tracks}
    return {
        "figure": figure,
        "style": {"height": f"{figure['layout']['height']}px"},
        "event": _panel(place, detail, address) if detail else [],
        "hits": _hit_text(place),
        # What is being typed stays.
        "find": no_update if last_find == look.find else look.find,
        "found": look.find,
        "kinds_hidden": [kind not in there for kind in KIND_TITLES],
        "kinds_pressed": [_pressed(kind not in look.hidden) for kind in KIND_TITLES],
        "levels_pressed": [_pressed(each == look.levels) for each in LEVELS],
        "files": trace_links(address, place.rank),
        "deeper": _deeper_text(figure["layout"]["meta"]["deeper"], look.levels),
    }


def _pressed(state: object) -> str:
    return "true" if state else "false"


def _deeper_text(count: int, levels: int) -> str:
    if not count:
        return ""
    return f"{count_text(count)} events in this window lie deeper than {levels} levels and are not drawn."


def _hit_text(place: TimelinePlace) -> str:
    if not place.look.find:
        return ""
    hits, event = place.hits, place.look.event
    number = hits.number_of(event) if event else None
    return (
        f"{count_text(len(hits))} hits"
        if number is None
        else f"{count_text(number + 1)} of {count_text(len(hits))} hits"
    )


def _panel(place: TimelinePlace, detail: Detail, address: Address) -> Any:
    launches = detail.launches
    more = launches.count - len(launches.after)
    lists = [
        *_links("Launched by", launches.before, place, address),
        *_links("Launched", launches.after, place, address, more),
    ]
    pairs = [html.Div([html.Dt(name), html.Dd(text)]) for name, text in detail.fields]
    head = html.H3([html.Span(detail.name, className="name"), html.Span(detail.track, className="detail")])
    return html.Div([head, *lists, html.Dl(pairs, className="fields")], className="event")


def _links(title: str, spots: Sequence[Spot], place: TimelinePlace, address: Address, more: int = 0) -> list[Any]:
    if not spots:
        return []
    rows = [html.Li(_link(each, place, address)) for each in spots[:_PANELS]]
    left = more + max(0, len(spots) - _PANELS)
    rest = [html.Li(f"and {count_text(left)} more", className="detail")] if left else []
    return [html.Div([html.Span(title, className="detail"), html.Ul([*rows, *rest])], className="linked")]


def _link(spot: Spot, place: TimelinePlace, address: Address) -> Any:
    index = place.index
    look = place.look.at(spot, index, place.step)
    track = index.tracks[spot.track]
    text = f"{index.name(spot)} ({KIND_TITLES[track.kind].lower()}, {track.title})"
    return dcc.Link(text, href=query_of(address.rank, address.step, {**address.choices, **look.choices}))
