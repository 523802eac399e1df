"""What the dashboard does when someone clicks: every answer follows from the address alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dash import MATCH, Dash, Input, Output, State, ctx, no_update

from drynpu import DrynpuError
from drynpu.views.content import Table, find_block
from drynpu.views.page import Page
from drynpu.views.runs import Selection, View
from drynpu_pages.dashboard._address import Address, query_of, read_address
from drynpu_pages.dashboard._changes import connect_changes
from drynpu_pages.dashboard._runs import run_list
from drynpu_pages.dashboard._tables import linked_cells, rows_of, rows_text
from drynpu_pages.library import Library
from drynpu_pages.pages import find_page

Show = Callable[[Library, Address], tuple[Any, Any, Any, str]]

_OTHER = "other"
"""Key of the run to compare with, in the address."""
_NAME_WINDOW = "function(shown) { if (shown) { document.title = shown.title; } }"
"""What a tab of the browser, its history and a screen reader call the page."""
_SWITCH_THEME = """
function(clicks) {
  const root = document.documentElement;
  let theme = localStorage.getItem("drynpu-theme");
  if (clicks) {
    const dark = theme ? theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
    theme = dark ? "light" : "dark";
    localStorage.setItem("drynpu-theme", theme);
  }
  if (theme) { root.dataset.theme = theme; root.style.colorScheme = theme; }
  return window.dash_clientside.no_update;
}
"""


def connect(app: Dash, library: Library, show: Show) -> None:
    """Connect the parts of the page with the library."""

    @app.callback(
        Output("top", "children"),
        Output("menu", "children"),
        Output("content", "children"),
        Output("shown", "data"),
        Input("url", "pathname"),
        Input("url", "search"),
        State("shown", "data"),
    )
    def change_page(path: str | None, query: str | None, shown: Mapping[str, str] | None) -> tuple[Any, Any, Any, Any]:
        address = read_address(path, query)
        page = f"{path}{query_of(address.rank, address.step, address.choices)}"
        if shown is not None and page == shown["page"]:
            return no_update, no_update, no_update, no_update
        *parts, title = show(library, address)
        return *parts, {"page": page, "title": title}

    app.clientside_callback(_NAME_WINDOW, Input("shown", "data"))
    app.clientside_callback(_SWITCH_THEME, Output("theme", "title"), Input("theme", "n_clicks"))
    connect_changes(app)
    _connect_tables(app, library)
    _connect_list(app, library)


def _connect_tables(app: Dash, library: Library) -> None:
    @app.callback(
        Output({"type": "grid", "name": MATCH}, "getRowsResponse"),
        Output({"type": "rows", "name": MATCH}, "children"),
        Input({"type": "grid", "name": MATCH}, "getRowsRequest"),
        State({"type": "search", "name": MATCH}, "value"),
        State("url", "pathname"),
        State("url", "search"),
    )
    def give_rows(request: Mapping[str, Any] | None, search: str | None, path: str | None, query: str | None) -> Any:
        if request is None:
            return no_update, no_update
        address = read_address(path, query)
        table = find_table(library, address, ctx.outputs_grouping[0]["id"]["name"])
        if table is None:
            return {"rowData": [], "rowCount": 0}, no_update
        rows = rows_of(table, request, search or "")
        count = rows_text(rows.count, table.frame.height)
        shown = linked_cells(table, rows.rows, address.run, address.rank)
        return {"rowData": shown, "rowCount": rows.count}, count

    # The grid asks anew for its rows when its filters change; the text itself is taken from the search field.
    app.clientside_callback(
        """
        function(search, id) {
          const api = window.dash_ag_grid.getApi(id);
          if (api) { api.paginationGoToFirstPage(); api.purgeInfiniteCache(); }
          return window.dash_clientside.no_update;
        }
        """,
        Output({"type": "grid", "name": MATCH}, "className"),
        Input({"type": "search", "name": MATCH}, "value"),
        State({"type": "grid", "name": MATCH}, "id"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output({"type": "download", "name": MATCH}, "data"),
        Input({"type": "export", "name": MATCH}, "n_clicks"),
        State({"type": "search", "name": MATCH}, "value"),
        State({"type": "grid", "name": MATCH}, "filterModel"),
        State("url", "pathname"),
        State("url", "search"),
        prevent_initial_call=True,
    )
    def download(clicks: int, search: str | None, filters: Any, path: str | None, query: str | None) -> Any:
        name = ctx.triggered_id["name"]
        table = find_table(library, read_address(path, query), name)
        if table is None or not clicks:
            return no_update
        rows = rows_of(table, {"filterModel": filters, "startRow": 0, "endRow": table.frame.height}, search or "")
        headings = {column.name: column.heading for column in table.columns}
        return {"content": rows.rows.rename(headings).write_csv(), "filename": f"{name}.csv"}


def view_of(library: Library, address: Address) -> tuple[Page, View]:
    """
    Return page and view of an address.

    Raises
    ------
    DrynpuError
        Run, page or rank are not there, or the profile cannot be read.
    """
    run = library.open(address.run)
    page = find_page(address.page)
    choices = {**address.choices}
    name = choices.pop(_OTHER, "")
    other = library.open(name) if name and page.with_other else None
    return page, View(run, run.rank(address.rank), Selection(address.step, choices), other)


def find_table(library: Library, address: Address, name: str) -> Table | None:
    """Return a table of a page by its name; ``None`` if run, page or table are gone."""
    try:
        page, view = view_of(library, address)
        table: Table = find_block(page.blocks(view), name, Table)
        return table
    except (DrynpuError, KeyError):
        return None


def _connect_list(app: Dash, library: Library) -> None:
    @app.callback(
        Output("runs", "children"),
        Output("listed", "data"),
        Input("watch", "n_intervals"),
        State("listed", "data"),
        prevent_initial_call=True,
    )
    def look_again(_: int, listed: str | None) -> Any:
        try:
            folders = library.folders()
        except DrynpuError:
            return no_update, no_update
        lines = library.lines.lines_of(folders)
        now = str(hash((tuple(folders), *map(str, lines))))
        # What a reader has chosen or typed would be lost where nothing is new.
        return (no_update, no_update) if now == listed else (run_list(folders, lines), now)
