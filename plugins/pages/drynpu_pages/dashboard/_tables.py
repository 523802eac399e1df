"""Tables in the browser: rows come from the server page by page, sorted, searched and filtered there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash_ag_grid
import polars as pl
from dash import dcc, html
from dash.development.base_component import Component

from drynpu.views.content import Column, Table
from drynpu.views.theme import count_text
from drynpu_pages.dashboard._address import window_address
from drynpu_pages.dashboard._attributes import attributes
from drynpu_pages.pages import RANK
from drynpu_pages.tables import Request, Searched, search_rows

PAGE_SIZES = (10, 20, 50, 100)
_DEFAULT_SIZE = 10
_MOST_PLAIN = 24
"""Rows of a table that is shown whole."""
_ROW_PX, _HEAD_PX, _FOOT_PX = 32, 40, 46
_LETTER_PX, _PADDING_PX = 9, 34
_SHORT = 14
"""Letters of a text that is shown whole, such as AI_VECTOR_CORE."""
_LOOKED_AT = 1000
"""Rows in which the longest text is looked for."""
_LINK = "timeline"
_LINKS: object = {
    "field": _LINK, "headerName": "timeline", "cellRenderer": "markdown", "sortable": False, "width": 92,
    "pinned": "right",
}  # fmt: skip
"""The last column where rows have a window; it stays in sight where a table is wider than the page."""


def table_parts(block: Table, run: str, rank: str) -> list[Component]:
    """
    Return the parts of a table; one that is seen whole needs neither search nor filters nor pages.

    Parameters
    ----------
    run, rank:
        Of the timeline to which its rows lead.
    """
    return [_small(block, run, rank)] if block.frame.height <= _MOST_PLAIN else _grid(block)


def window_addresses(block: Table, rows: pl.DataFrame, run: str, rank: str) -> list[str]:
    """Return for each row of a table the address of its window in the timeline, ``""`` where it has none."""
    if block.window is None:
        return [""] * rows.height
    ranks = rows[RANK].to_list() if RANK in rows.columns else [rank] * rows.height
    windows = rows.select(block.window).iter_rows()
    return [
        "" if None in (*window, owner) else window_address(run, owner, window)
        for window, owner in zip(windows, ranks, strict=True)
    ]


def _small(block: Table, run: str, rank: str) -> Component:
    kinds = [
        "number" if block.frame.schema[column.name].is_numeric() else "wide" if column.wide else ""
        for column in block.columns
    ]
    headings = [column.heading for column in block.columns]
    head = [html.Th(text, scope="col", className=kind) for text, kind in zip(headings, kinds, strict=True)]
    texts = zip(*(_texts(block.frame[column.name], column) for column in block.columns), strict=True)
    named = [attributes(data_column=column.name) for column in block.columns]
    rows = [
        [html.Td(text, className=kind, **name) for text, kind, name in zip(row, kinds, named, strict=True)]
        for row in texts
    ]
    if block.window is not None:
        head.append(html.Th("timeline", scope="col"))
        for row, href in zip(rows, window_addresses(block, block.frame, run, rank), strict=True):
            row.append(html.Td(dcc.Link("show", href=href) if href else ""))
    table = html.Table([html.Thead(html.Tr(head)), html.Tbody([html.Tr(row) for row in rows])], className="list")
    label = attributes(aria_label=block.title)
    return html.Div(table, className="scroll", tabIndex="0", role="region", **label)


def _texts(values: pl.Series, column: Column) -> list[str]:
    decimals = column.decimals if values.dtype.is_float() else None
    return ["" if value is None else str(value) if decimals is None else f"{value:.{decimals}f}" for value in values]


def _grid(block: Table) -> list[Component]:
    """Return the search field, the button of the download and the grid of a table."""
    name = block.name
    size = min(max(block.frame.height, 1), _DEFAULT_SIZE)
    height = _HEAD_PX + size * _ROW_PX + _FOOT_PX + 4
    options = {
        "pagination": True,
        "paginationPageSize": _DEFAULT_SIZE,
        "paginationPageSizeSelector": list(PAGE_SIZES),
        "cacheBlockSize": max(PAGE_SIZES),
        "maxBlocksInCache": 4,
        # Dash drops the request of a callback when the next one begins; rows that were dropped would never come.
        "maxConcurrentDatasourceRequests": 1,
        "rowHeight": _ROW_PX,
        "headerHeight": _HEAD_PX,
        "enableCellTextSelection": True,
        "suppressColumnVirtualisation": True,
        # Else the cells of a grid that is out of sight may stay hidden until it is scrolled to, from screen readers and
        # the browser's own search, too.
        "suppressContentVisibilityAuto": True,
        "infiniteInitialRowCount": size,
    }
    table = dash_ag_grid.AgGrid(
        id={"type": "grid", "name": name},
        columnDefs=[
            *(_definition(column, block.frame) for column in block.columns),
            *([_LINKS] if block.window else ()),
        ],
        defaultColDef={"sortable": True, "resizable": True, "filter": False, "minWidth": 80},
        rowModelType="infinite",
        dashGridOptions=options,
        style={"height": f"{height}px", "width": "100%"},
        className="grid",
    )
    tools = html.Div(
        [
            html.Label(
                [
                    html.Span(f"Search in {block.title}", className="unseen"),
                    dcc.Input(
                        id={"type": "search", "name": name}, type="search", placeholder="search", debounce=0.3, value=""
                    ),
                ]
            ),
            html.Span(
                rows_text(block.frame.height, block.frame.height),
                id={"type": "rows", "name": name},
                className="detail",
                role="status",
            ),
            html.Button("CSV", id={"type": "export", "name": name}, title=f"Download {block.title} as CSV", n_clicks=0),
            dcc.Download(id={"type": "download", "name": name}),
        ],
        className="tools",
    )
    return [tools, html.Div(table, className="rows")]


def rows_text(count: int, whole: int) -> str:
    """Return what is said of the number of rows that were found in a table."""
    noun = "row" if whole == 1 else "rows"
    return f"{count_text(whole)} {noun}" if count == whole else f"{count_text(count)} of {count_text(whole)} {noun}"


def _definition(column: Column, frame: pl.DataFrame) -> dict[str, Any]:
    number = frame.schema[column.name].is_numeric()
    return {
        "field": column.name,
        "headerName": column.heading,
        "type": "rightAligned" if number else None,
        "valueFormatter": _fixed(column.decimals) if number and column.decimals is not None else None,
        "filter": "agNumberColumnFilter" if number else "agTextColumnFilter",
        "filterParams": {"buttons": ["reset"], "maxNumConditions": 1},
        "flex": 3 if column.wide else 1,
        # Room for the heading and its two signs; a table that is wider than the page scrolls.
        "minWidth": 200
        if column.wide
        else max(70 + 8 * len(column.heading), 0 if number else _text_px(frame[column.name])),
    }


def _text_px(texts: pl.Series) -> int:
    """Return the room that short texts need; long ones end in dots."""
    longest = texts.head(_LOOKED_AT).cast(pl.String).str.len_chars().max()
    return _PADDING_PX + _LETTER_PX * min(longest if isinstance(longest, int) else 0, _SHORT)


def _fixed(decimals: int) -> dict[str, str]:
    """Return what shows a number with so many decimals, and an unknown one as nothing."""
    return {"function": f"params.value == null ? '' : d3.format('.{decimals}f')(params.value)"}


def rows_of(block: Table, request: Mapping[str, Any] | None, search: str) -> Searched:
    """
    Return the rows that a grid asks for.

    Parameters
    ----------
    request:
        The grid's own: ``startRow``, ``endRow``, ``sortModel``, ``filterModel``; ``None`` for all rows.
    """
    wanted = request or {}
    return search_rows(
        block,
        Request(
            search=search,
            sort=[(each["colId"], each["sort"] == "desc") for each in wanted.get("sortModel") or ()],
            filters=wanted.get("filterModel") or {},
            begin=int(wanted.get("startRow") or 0),
            end=None if request is None else int(wanted.get("endRow") or max(PAGE_SIZES)),
        ),
    )


def linked_cells(block: Table, rows: pl.DataFrame, run: str, rank: str) -> list[dict[str, object]]:
    """Return rows as the grid wants them, with a link to the window of each in the timeline."""
    # A browser's numbers are too short for times of the clock; they stand in the link.
    shown = cells(rows.select(column.name for column in block.columns), block.columns)
    if block.window is not None:
        for cell, href in zip(shown, window_addresses(block, rows, run, rank), strict=True):
            cell[_LINK] = f"[show]({href})" if href else ""
    return shown


def cells(rows: pl.DataFrame, columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return rows as the grid wants them, numbers with their decimals."""
    shown = rows.with_columns(
        pl.col(column.name).round(column.decimals)
        for column in columns
        if column.decimals is not None and rows.schema[column.name].is_float()
    )
    return shown.to_dicts()
