"""Blocks of pages as HTML that needs no server."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import polars as pl

from drynpu import printable
from drynpu.views.content import ANSWER, EMPTY, WARNING, Block, Chart, Column, Fact, Facts, Hint, Note, Row, Table
from drynpu.views.theme import count_text, time_text

MOST_ROWS = 200
"""Rows of a table that stand in a document; how many there are in all is said above them."""


_SHORT = 16
"""Length of a text that is kept on one line in a picture, where long ones are broken."""


def blocks_html(blocks: Sequence[Block], *, charts: bool = True, most_rows: int = MOST_ROWS) -> str:
    """
    Return blocks as HTML; all texts are escaped.

    Parameters
    ----------
    charts:
        Whether figures are put in, as data for a script of the document to draw. Without, their sentence stands there.
    most_rows:
        Rows of each table that are put in.
    """
    return "\n".join(_html(block, charts=charts, most_rows=most_rows) for block in blocks)


def text_html(text: str) -> str:
    """Return a text escaped, with its control characters spelled out."""
    return escape(printable(text))


def _html(block: Block, *, charts: bool, most_rows: int) -> str:
    if isinstance(block, Facts):
        return _facts(block)
    if isinstance(block, Chart):
        return _chart(block, charts=charts)
    if isinstance(block, Table):
        return _table(block, most_rows)
    if isinstance(block, Row):
        return f'<div class="row">{blocks_html(block.blocks, charts=charts, most_rows=most_rows)}</div>'
    if isinstance(block, Hint):
        return _hint(block)
    return _note(block)


def _heading(title: str, detail: str) -> str:
    head = f"<h3>{text_html(title)}</h3>" if title else ""
    return head + (f'<p class="detail">{text_html(detail)}</p>' if detail else "")


def _facts(block: Facts) -> str:
    cells = "".join(map(_fact, block.facts))
    return f'<section class="card">{_heading(block.title, "")}<dl class="facts">{cells}</dl></section>'


def _fact(fact: Fact) -> str:
    value = f'<span class="value">{text_html(fact.text)}</span><span class="detail">{text_html(fact.detail)}</span>'
    return f"<div><dt>{text_html(fact.label)}</dt><dd>{value}</dd></div>"


def _chart(block: Chart, *, charts: bool) -> str:
    head = _heading(block.title, block.detail)
    said = text_html(block.alternative)
    if not charts:
        return f'<section class="card">{head}<p>{said}</p></section>'
    # In a script element nothing is markup but its end and the begin of a comment.
    figure = str(block.draw().to_json()).replace("<", "\\u003c")
    data = f'<script type="application/json">{figure}</script>'
    plot = f'<div class="plot" style="height:{block.height_px}px"></div>'
    return (
        f'<section class="card">{head}<figure>{plot}{data}<figcaption class="unseen">{said}</figcaption>'
        "</figure></section>"
    )


def _table(block: Table, most_rows: int) -> str:
    head = _heading(block.title, block.detail)
    names = [column.name for column in block.columns]
    rows = block.frame.select(names).head(most_rows)
    count = block.frame.height
    said = f"{count_text(count)} rows" if count <= most_rows else f"the first {most_rows} of {count_text(count)} rows"
    kinds = [_kind(rows[name]) for name in names]
    heads = "".join(
        f'<th scope="col" tabindex="0"{kind}>{text_html(column.heading)}</th>'
        for column, kind in zip(block.columns, kinds, strict=True)
    )
    texts = zip(*(_cells(rows[column.name], column) for column in block.columns), strict=True)
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in texts
    )
    search = (
        f'<div class="tools"><label><span class="unseen">Search in {text_html(block.title)}</span>'
        f'<input type="search" placeholder="search"></label><span class="detail">{said}</span></div>'
    )
    table = (
        f'<div class="scroll"><table class="data"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
    )
    return f'<section class="card">{head}{search}{table}</section>'


def _kind(values: pl.Series) -> str:
    """Return the class of a column: of numbers, of texts that fit on one line, or none."""
    if values.dtype.is_numeric():
        return ' class="number"'
    longest = values.cast(pl.String).str.len_chars().max()
    return ' class="short"' if isinstance(longest, int) and longest <= _SHORT else ""


def _cells(values: pl.Series, column: Column) -> list[str]:
    if values.dtype.is_float() and column.decimals is not None:
        return ["" if value is None else f"{value:.{column.decimals}f}" for value in values]
    return ["" if value is None else text_html(str(value)) for value in values]


def _hint(block: Hint) -> str:
    cost = (
        f'<span class="value">{time_text(block.cost_us)} {text_html(block.per)}</span>'
        if block.cost_us is not None
        else ""
    )
    return (
        f'<article class="hint"><h3>{text_html(block.title)}{cost}</h3>'
        f'<p class="detail">{text_html(block.evidence)}</p><p>{text_html(block.remedy)}</p></article>'
    )


def _note(block: Note) -> str:
    kind = {EMPTY: "note empty", WARNING: "note warning", ANSWER: "note answer"}.get(block.kind, "note")
    return f'<p class="{kind}">{text_html(block.text)}</p>'
