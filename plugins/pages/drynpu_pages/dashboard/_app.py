"""The application: its frame, and what happens when the address changes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dash import Dash, dcc, html, set_props
from dash.development.base_component import Component

from drynpu import DrynpuError, __version__
from drynpu.views.content import PLACE, Control
from drynpu.views.page import Page
from drynpu.views.runs import View
from drynpu_pages.dashboard._address import Address, path_of, query_of
from drynpu_pages.dashboard._attributes import attributes
from drynpu_pages.dashboard._blocks import components
from drynpu_pages.dashboard._callbacks import connect, view_of
from drynpu_pages.dashboard._changes import change_stores
from drynpu_pages.dashboard._files import serve_traces
from drynpu_pages.dashboard._readings import serve_readings
from drynpu_pages.dashboard._runs import run_list
from drynpu_pages.dashboard._safety import protect
from drynpu_pages.dashboard._timeline import serve_timelines
from drynpu_pages.library import Library
from drynpu_pages.pages import MODELLED, all_pages, has_content, is_modelled

_log = logging.getLogger(__name__)
_ASSETS = Path(__file__).parents[1] / "assets"
_PAGE_CHANGE: Any = {"content": "children"}
_LABELLED_PAGES = attributes(aria_label="Pages")
_WAIT = "Reading the run …"
_REFRESH_MS = 3000
"""How often the list of runs looks for new ones, as MindInsight's does (mindinsight_dashboard.md 1)."""


def build_app(library: Library, *, hosts: Sequence[str] = ("127.0.0.1", "localhost"), token: str = "") -> Dash:
    """
    Return the dashboard of a library, ready to be served.

    Parameters
    ----------
    hosts:
        Names under which a browser may ask for it; others are refused.
    token:
        What a browser has to show where others than this machine can reach it; ``""`` asks for nothing.
    """
    app = Dash(
        __name__,
        assets_folder=str(_ASSETS),
        title="drynpu",
        update_title="",
        suppress_callback_exceptions=True,
        serve_locally=True,
        on_error=_report_error,
    )
    app.layout = _frame()
    app.index_string = _DOCUMENT
    protect(app.server, hosts, token)
    serve_traces(app.server, library)
    serve_timelines(app.server, library)
    serve_readings(app.server, library)
    connect(app, library, show)
    return app


def _report_error(error: Exception) -> None:
    """Say on the page and in the log that a page could not be made; the server goes on."""
    _log.error("a page could not be made", exc_info=error)
    text = f"This could not be shown: {type(error).__name__}: {error}. The terminal of the dashboard says where."
    set_props(
        "content", {"children": [html.H1("Nothing to show"), html.P(text, className="note warning", role="alert")]}
    )


_DOCUMENT = """<!DOCTYPE html>
<html lang="en">
<head>{%metas%}<meta name="color-scheme" content="light dark"><title>{%title%}</title>{%favicon%}
<script>
(function () {
  const theme = localStorage.getItem("drynpu-theme");
  if (theme) { document.documentElement.dataset.theme = theme; document.documentElement.style.colorScheme = theme; }
})();
</script>
{%css%}</head>
<body>{%app_entry%}<footer>{%config%}{%scripts%}{%renderer%}</footer></body>
</html>"""


def _waiting() -> Component:
    """Return what stands in place of a page that is not there yet; `reading.js` says how far it is."""
    button = html.Button("Cancel", id="cancel-reading", title="End this; the run can be read again")
    return html.Div([html.Span(_WAIT, id="reading"), button], className="note reading", role="status")


def _frame() -> Component:
    return html.Div(
        [
            dcc.Location(id="url", refresh=False),
            *change_stores(),
            dcc.Store(id="shown"),
            dcc.Store(id="listed"),
            html.A("Skip to the content", href="#content", className="skip"),
            html.Header(id="top"),
            html.Div(
                [
                    html.Nav(id="menu", **_LABELLED_PAGES),
                    dcc.Loading(
                        html.Main(id="content", tabIndex="-1"),
                        # Another page is worth waiting for; rows of a table or a window of the timeline are not: the
                        # page would vanish under the reader, and the field that is typed in with it.
                        target_components=_PAGE_CHANGE,
                        delay_show=300,
                        custom_spinner=_waiting(),
                        parent_className="middle",
                    ),
                ],
                className="columns",
            ),
        ],
        id="frame",
    )


def show(library: Library, address: Address) -> tuple[Any, Any, Any, str]:
    """Return header, menu, content and title of what an address asks for; errors are told on the page."""
    try:
        if not address.run:
            return _header(library), [], _list(library), "Runs - drynpu"
        with library.readings.of_run(address.run):
            page, view = view_of(library, address)
            body, run = _body(page, view), view.run
            menu = _menu(view, page, address, others=len(library.folders()) > 1)
            return _header(library, view, page), menu, body, f"{page.title} - {run.name} - drynpu"
    except DrynpuError as error:
        note = html.P(str(error), className="note warning", role="alert")
        return _header(library), [], [html.H1("Nothing to show"), note], "drynpu"


def _body(page: Page, view: View) -> list[Component]:
    blocks = page.blocks(view)
    tag = [html.Span("modelled", className="tag", title=MODELLED)] if is_modelled(blocks) else []
    return [html.H1([page.title, *tag]), html.P(page.about, className="about"), *components(blocks, view)]


def _header(library: Library, view: View | None = None, page: Page | None = None) -> list[Component]:
    brand = dcc.Link([html.Strong("drynpu"), html.Span(__version__, className="detail")], href="/", className="brand")
    back = dcc.Link("All runs", href="/", className="button")
    theme = html.Button("Light or dark", id="theme", title="Switch between light and dark", n_clicks=0)
    if view is None or page is None:
        return [brand, html.Span(className="gap"), theme]
    run = view.run
    controls = []
    if len(run.ranks) > 1:
        labels = tuple((label, label) for label in run.labels)
        controls.append(_control(Control("rank", "Rank", labels), view.rank.label))
    if page.with_step and view.rank.step_names:
        names = (("", "all"), *((name, name) for name in view.rank.step_names))
        controls.append(_control(Control("step", "Step", names), view.step))
    if page.with_other:
        others = [each.name for each in library.folders() if each.name != run.name]
        names = (("", "choose a run" if others else "no other run"), *((name, name) for name in others))
        controls.append(_control(Control("other", "Baseline", names), "" if view.other is None else view.other.name))
    controls += [
        _control(control, view.choice(control.name, control.options[0][0])) for control in page.controls(view.rank)
    ]
    return [
        brand,
        back,
        html.Span(run.name, className="run", title=run.name),
        *controls,
        html.Span(className="gap"),
        theme,
    ]


def _control(control: Control, value: str) -> Component:
    """Return a native field, which every keyboard and screen reader knows; ``changes.js`` tells what is chosen."""
    options = [*control.options]
    if control.name == PLACE and value not in dict(options):
        options.append((value, "Clicked"))
    identity = f"choice-{control.name}"
    items = [html.Option(text, value=key, selected=key == value) for key, text in options]
    named = attributes(data_choice=control.name)
    field = html.Select(items, id=identity, **named)
    return html.Div([html.Label(control.label, htmlFor=identity), field], className="control")


def _menu(view: View, page: Page, address: Address, *, others: bool) -> list[Component]:
    return [
        dcc.Link(
            each.title,
            href=path_of(view.run.name, each.name) + query_of(address.rank, address.step if each.with_step else ""),
            className="here" if each is page else "",
        )
        for each in all_pages()
        if each is page or has_content(each, view, others=others)
    ]


def _list(library: Library) -> list[Component]:
    """Return the list of runs, and the clock that looks for new ones."""
    folders = library.folders()
    clock = dcc.Interval(id="watch", interval=_REFRESH_MS)
    title = [html.H1("Runs"), html.P(f"below {library.base.resolve()}", className="about")]
    field = dcc.Input(id="find-run", type="search", placeholder="search", value="")
    label = html.Label([html.Span("Search in the runs", className="unseen"), field])
    tools = html.Div(
        [label, html.Span("Choose two to compare them, the baseline first.", className="detail")], className="tools"
    )
    listed = html.Div(run_list(folders, library.lines.lines_of(folders)), id="runs")
    return [*title, *([tools] if folders else []), listed, clock]
