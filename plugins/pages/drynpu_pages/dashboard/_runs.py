"""The list of runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dash import dcc, html

from drynpu.views.runs import RunFolder
from drynpu_pages.dashboard._address import path_of
from drynpu_pages.pages import PAGES


def run_list(folders: Sequence[RunFolder]) -> Any:
    """Return the table of runs, or why there are none."""
    if not folders:
        return html.P("No profile here yet. This page shows runs as soon as they are written.", className="note empty")
    head = html.Thead(html.Tr([html.Th(text, scope="col") for text in ("Run", "Time", "Ranks", "Kind")]))
    rows = [
        html.Tr(
            [
                html.Td(dcc.Link(folder.name, href=path_of(folder.name, PAGES[0].name))),
                html.Td(_time(folder.stamp)),
                html.Td(len(folder.folders)),
                html.Td(_kind(folder)),
            ]
        )
        for folder in folders
    ]
    return html.Table([head, html.Tbody(rows)], className="list")


def _time(stamp: str) -> str:
    try:
        return datetime.strptime(stamp[:14], "%Y%m%d%H%M%S").strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return ""


def _kind(folder: RunFolder) -> str:
    path = folder.folders[0].path
    if path.is_file():
        return "result file"
    for ending, kind in (("_ascend_pt", "PyTorch"), ("_ascend_ms", "MindSpore")):
        if path.name.endswith(ending):
            return kind
    return "toolkit" if path.name.startswith("PROF_") else "results"
