"""Blocks of pages in a terminal: facts and tables as text, figures as the sentence that stands for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from drynpu._printable import printable
from drynpu.views.content import WARNING, Block, Chart, Column, Facts, Hint, Note, Table, flat
from drynpu.views.theme import count_text, time_text

MOST_ROWS = 15
"""Rows of a table that fit a screen beside the rest."""
_COLUMNS = 6
"""Columns that fit 100 characters; the first are the most important."""


def render_blocks(blocks: Sequence[Block]) -> Group:
    """Return blocks as something rich can print."""
    return Group(*(part for block in flat(blocks) for part in _parts(block)))


def _parts(block: Block) -> Iterator[RenderableType]:
    if isinstance(block, Facts):
        yield from _facts(block)
    elif isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Hint):
        yield from _hint(block)
    elif isinstance(block, Chart):
        yield _text(block.alternative)
    elif isinstance(block, Note):
        yield _text(block.text, "yellow" if block.kind == WARNING else "")


def _facts(block: Facts) -> Iterator[RenderableType]:
    if block.title:
        yield _text(block.title, "bold")
    grid = Grid(box=None, show_header=False, padding=(0, 2, 0, 0))
    for _ in range(3):
        grid.add_column(overflow="fold")
    for fact in block.facts:
        grid.add_row(_text(fact.label), _text(fact.text, "bold"), _text(fact.detail, "dim"))
    yield grid


def _table(block: Table) -> Iterator[RenderableType]:
    yield _text(f"{block.title} ({block.detail})" if block.detail else block.title, "bold")
    columns = block.columns[:_COLUMNS]
    rows = block.frame.head(MOST_ROWS)
    grid = Grid()
    for column in columns:
        number = rows.schema[column.name].is_numeric()
        grid.add_column(printable(column.heading), justify="right" if number else "left", overflow="fold")
    for cells in zip(*(_cells(rows[column.name], column) for column in columns), strict=True):
        grid.add_row(*cells)
    yield grid
    if block.frame.height > MOST_ROWS:
        yield _text(f"the first {MOST_ROWS} of {count_text(block.frame.height)}", "dim")


def _cells(values: pl.Series, column: Column) -> list[Text]:
    if values.dtype.is_float() and column.decimals is not None:
        return [_text("" if value is None else f"{value:.{column.decimals}f}") for value in values]
    return [_text("" if value is None else str(value)) for value in values]


def _hint(block: Hint) -> Iterator[RenderableType]:
    cost = f"  ({time_text(block.cost_us)} {block.per})" if block.cost_us is not None else ""
    yield Text.assemble(_text(block.title, "bold"), _text(cost, "yellow"))
    yield Padding(_text(block.evidence), (0, 0, 0, 2))
    yield Padding(_text(block.remedy, "dim"), (0, 0, 0, 2))


def _text(text: str, style: str = "") -> Text:
    return Text(printable(text), style=style)
