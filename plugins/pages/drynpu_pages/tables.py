"""Searching, filtering and sorting a table, in the table engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from attrs import field, frozen

from drynpu.views.content import Table


@frozen
class Request:
    """
    Which rows of a table are wanted.

    Attributes
    ----------
    search:
        Text that any text column has to hold, in any case.
    sort:
        Columns by importance, each with whether the highest comes first. Unknown columns are passed over.
    filters:
        Column -> condition, as AG Grid states them: ``filterType``, ``type``, ``filter``, ``filterTo``.
    begin, end:
        Rows after sorting; ``None`` is to the last.
    """

    search: str = ""
    sort: Sequence[tuple[str, bool]] = ()
    filters: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    begin: int = 0
    end: int | None = None


@frozen(eq=False)
class Searched:
    """Rows that were found, those wanted of them, with the columns of the table and its window alone."""

    rows: pl.DataFrame
    count: int


def search_rows(table: Table, request: Request) -> Searched:
    """Return the rows of a table that a request asks for. Conditions that are not understood let every row pass."""
    names = [column.name for column in table.columns]
    rows = table.frame.lazy().select(list(dict.fromkeys((*names, *(table.window or ())))))
    schema = table.frame.select(names).schema
    texts = [name for name, dtype in schema.items() if dtype in (pl.String, pl.Categorical, pl.Enum)]
    if request.search and texts:
        rows = rows.filter(pl.any_horizontal(_found_in(table.frame[name], request.search) for name in texts))
    for name, condition in request.filters.items():
        expression = _condition(name, condition) if name in schema else None
        if expression is not None:
            rows = rows.filter(expression)
    order = [(name, down) for name, down in request.sort if name in schema]
    if order:
        by = [pl.col(name).cast(pl.String) if name in texts else pl.col(name) for name, _ in order]
        rows = rows.sort(by, descending=[down for _, down in order], nulls_last=True, maintain_order=True)
    matching = rows.collect()
    wanted = matching.slice(request.begin, None if request.end is None else max(request.end - request.begin, 0))
    return Searched(wanted.with_columns(pl.col(name).cast(pl.String) for name in texts), matching.height)


def _found_in(texts: pl.Series, wanted: str) -> pl.Expr:
    """Return the condition that a column holds a text. Of categories only the distinct ones are looked at."""
    if texts.dtype == pl.String:
        return _holds(texts.name, wanted)
    distinct = texts.unique().drop_nulls()
    hits = distinct.filter(distinct.cast(pl.String).str.to_lowercase().str.contains(wanted.lower(), literal=True))
    return pl.col(texts.name).is_in(hits.implode()).fill_null(False)


def _holds(name: str, text: str) -> pl.Expr:
    return pl.col(name).cast(pl.String).str.to_lowercase().str.contains(text.lower(), literal=True).fill_null(False)


def _condition(name: str, condition: Mapping[str, Any]) -> pl.Expr | None:
    kind, value, limit = condition.get("type"), condition.get("filter"), condition.get("filterTo")
    column = pl.col(name)
    if kind == "blank":
        return column.is_null()
    if kind == "notBlank":
        return column.is_not_null()
    if value is None:
        return None
    if condition.get("filterType") == "number":
        return _number(column, kind, float(value), limit)
    return _text(name, kind, str(value))


def _number(column: pl.Expr, kind: object, value: float, limit: object) -> pl.Expr | None:
    simple = {
        "equals": column == value,
        "notEqual": column != value,
        "greaterThan": column > value,
        "greaterThanOrEqual": column >= value,
        "lessThan": column < value,
        "lessThanOrEqual": column <= value,
    }
    if kind == "inRange" and isinstance(limit, (int, float)):
        return column.is_between(value, float(limit))
    return simple.get(str(kind))


def _text(name: str, kind: object, value: str) -> pl.Expr | None:
    text, wanted = pl.col(name).cast(pl.String).str.to_lowercase(), value.lower()
    simple = {
        "contains": _holds(name, value),
        "notContains": ~_holds(name, value),
        "equals": text == wanted,
        "notEqual": text != wanted,
        "startsWith": text.str.starts_with(wanted),
        "endsWith": text.str.ends_with(wanted),
    }
    return simple.get(str(kind))
