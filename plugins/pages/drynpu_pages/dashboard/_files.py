"""Files of a run that a browser may fetch: timelines for viewers such as Perfetto."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dash import html
from flask import Flask, Response, abort, send_file

from drynpu import DrynpuError
from drynpu.products.results import find_results
from drynpu.views.runs import Rank
from drynpu.views.theme import size_text
from drynpu_pages.library import Library

_ROUTE = "/trace"


def trace_files(rank: Rank) -> Sequence[Path]:
    """Return the timelines that a rank left: trace_view.json, msprof_*.json and its slices; empty if there is none."""
    results = find_results(rank.path)
    return results.traces if results is not None else ()


def serve_traces(server: Flask, library: Library) -> None:
    """Let a browser fetch the timelines of runs in the library, and nothing else."""

    @server.get(f"{_ROUTE}/<rank>/<int:number>/<path:run>")
    def trace(rank: str, number: int, run: str) -> Response:
        try:
            files = trace_files(library.open(run).rank(rank))
        except DrynpuError as error:
            abort(404, str(error))
        if number >= len(files):
            abort(404, "no such timeline")
        return send_file(
            files[number], as_attachment=True, download_name=f"{run.rpartition('/')[2]}_{files[number].name}"
        )


def trace_links(run: str, rank: Rank) -> list[Any]:
    """Return what the page says of the timelines of a rank: a link to each, and how to open it."""
    files = trace_files(rank)
    if not files:
        text = "There is no timeline file to hand over: drynpu analyze writes trace_view.json or msprof_*.json."
        return [html.P(text, className="detail")]
    links = [
        html.A(
            f"Download {file.name} ({size_text(file.stat().st_size)})",
            href=f"{_ROUTE}/{quote(rank.label)}/{number}/{quote(run)}",
            className="button",
            download="",
        )
        for number, file in enumerate(files)
    ]
    how = "Open it in Perfetto (ui.perfetto.dev, Open trace file), in chrome://tracing or in MindStudio Insight."
    return [html.Div([*links, html.Span(how, className="detail")], className="tools")]
