"""The timeline in the dashboard: every movement changes the address, and the address says what is drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from drynpu._errors import DrynpuError
from drynpu.analysis.timeline import Spot, timeline_index
from drynpu.views.content import TimelineChart
from drynpu.views.dashboard._address import Address, query_of, read_address
from drynpu.views.dashboard._files import trace_links
from drynpu.views.dashboard._moves import TimelinePlace, next_look
from drynpu.views.runs import Library
from drynpu.views.theme import count_text
from drynpu.views.timeline import KIND_TITLES, LEVELS, Detail, Look, describe, timeline_document

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
    pressed_by: Any = {"data-key": key}
    return html.Button(text, id=f"timeline-{name}", title=f"{title} ({key.upper()})", **pressed_by)


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
            html.Div(id="timeline-choices", className="tools choices"),
            dcc.Store(id="timeline-chosen"),
        ]
    )


def _choices(place: TimelinePlace) -> list[Any]:
    """Return what is shown as buttons that stay pressed."""
    look = place.look
    kinds = dict.fromkeys(track.kind for track in place.index.tracks)
    shown = [_toggle("kind", kind.value, KIND_TITLES[kind], pressed=kind not in look.hidden) for kind in kinds]
    levels = [_toggle("levels", str(each), str(each), pressed=each == look.levels) for each in LEVELS]
    return [
        html.Div([html.Span("Show", className="detail"), *shown], role="group", **_named("What is shown")),
        html.Div([html.Span("Levels", className="detail"), *levels], role="group", **_named("Levels of nesting")),
    ]


def _named(name: str) -> Any:
    return {"aria-label": name}


def _toggle(kind: str, value: str, text: str, *, pressed: bool) -> Any:
    state: Any = {"aria-pressed": "true" if pressed else "false"}
    return html.Button(text, id={"type": f"timeline-{kind}", "name": value}, className="toggle", **state)


def _place(library: Library, address: Address) -> TimelinePlace | None:
    try:
        rank = library.open(address.run).rank(address.rank)
        index = timeline_index(rank.profile)
    except DrynpuError:
        return None
    return TimelinePlace(rank, index, Look.from_choices(address.look), address.step)


def connect_timeline(app: Dash, library: Library) -> None:
    """Connect the timeline with the library."""

    @app.callback(
        Output("timeline-graph", "figure"),
        Output("timeline-graph", "style"),
        Output("timeline-event", "children"),
        Output("timeline-hits", "children"),
        Output("timeline-find", "value"),
        Output("timeline-choices", "children"),
        Output("timeline-chosen", "data"),
        Output("timeline-files", "children"),
        Output("timeline-deeper", "children"),
        Input("url", "search"),
        State("url", "pathname"),
        State("timeline-chosen", "data"),
    )
    def draw(query: str | None, path: str | None, chosen: Mapping[str, str] | None) -> Any:
        address = read_address(path, query)
        place = _place(library, address)
        if place is None or not place.index.events:
            return [no_update] * 9
        return _shown(place, address, chosen)

    @app.callback(
        Output("url", "search", allow_duplicate=True),
        Input("timeline-graph", "relayoutData"),
        Input("timeline-graph", "clickData"),
        *(Input(f"timeline-{name}", "n_clicks") for name in (*_MOVES, "previous", "next")),
        Input("timeline-find", "value"),
        Input({"type": "timeline-kind", "name": ALL}, "n_clicks"),
        Input({"type": "timeline-levels", "name": ALL}, "n_clicks"),
        State("timeline-choices", "children"),
        State("url", "pathname"),
        State("url", "search"),
        prevent_initial_call=True,
    )
    def move(*values: Any) -> Any:
        drawn, path, query = values[-3:]
        address = read_address(path, query)
        place = _place(library, address)
        if place is None or not drawn:
            return no_update
        look = place.look
        for each in ctx.triggered:
            look = next_look(evolve(place, look=look), _cause(each["prop_id"]), each["value"])
        wanted = query_of(address.rank, address.step, {**address.choices, **look.choices})
        return no_update if look == place.look else wanted


def _cause(changed: str) -> str:
    """Return what a reader used: the name of a field or button, those of toggles with their value behind a colon."""
    name = changed.rpartition(".")[0]
    if not name.startswith("{"):
        return name.removeprefix("timeline-")
    identity = json.loads(name)
    return f"{identity['type'].removeprefix('timeline-')}:{identity['name']}"


def _shown(place: TimelinePlace, address: Address, chosen: Mapping[str, str] | None) -> list[Any]:
    index, look = place.index, place.look
    detail = describe(place.rank.profile, index, look.event) if look.event else None
    figure = timeline_document(index, look, place.step, detail.launches if detail else None)
    height = figure["layout"]["height"]
    kinds = sorted({track.kind.value for track in index.tracks if track.kind not in look.hidden})
    before = chosen or {}
    drawn = {"buttons": f"{place.rank.path} {' '.join(kinds)} {look.levels}", "find": look.find}
    return [
        figure,
        {"height": f"{height}px"},
        _panel(place, detail, address) if detail else [],
        _hit_text(place),
        # What is being typed stays.
        no_update if before.get("find") == look.find else look.find,
        # A button that is made anew while it is pressed says nothing.
        no_update if before.get("buttons") == drawn["buttons"] else _choices(place),
        drawn,
        trace_links(address, place.rank),
        _deeper_text(figure["layout"]["meta"]["deeper"], look.levels),
    ]


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
