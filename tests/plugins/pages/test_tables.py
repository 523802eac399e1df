"""Searching, filtering and sorting tables, against the same done in plain Python."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from drynpu.views.content import Column, Table
from drynpu_pages.tables import Request, search_rows

COLUMNS = (Column("name", "name"), Column("time", "time (us)", 3))
ROWS = st.lists(st.tuples(st.sampled_from(["MatMul", "matmulV2", "Add", "a.b", ""]), st.integers(-5, 5)), max_size=12)


def table(rows: list[tuple[str, int]]) -> Table:
    frame = pl.DataFrame(rows, schema={"name": pl.Categorical, "time": pl.Float64}, orient="row")
    return Table("t", "T", frame.with_columns(pl.lit(1).alias("hidden")), COLUMNS)


@given(ROWS, st.sampled_from(["", "MAT", "a.", "zz"]), st.booleans(), st.integers(0, 4), st.integers(0, 6))
def test_rows_are_those_of_plain_python(
    rows: list[tuple[str, int]], search: str, down: bool, begin: int, size: int
) -> None:
    found = search_rows(table(rows), Request(search=search, sort=[("time", down)], begin=begin, end=begin + size))
    expected = [row for row in rows if search.lower() in row[0].lower()]
    assert found.count == len(expected)
    ordered = sorted(expected, key=lambda row: -row[1] if down else row[1])
    assert found.rows.rows() == [(name, float(time)) for name, time in ordered[begin : begin + size]]


def kept(kind: str, filter_type: str, value: object, limit: object = None) -> list[str]:
    condition = {"filterType": filter_type, "type": kind, "filter": value, "filterTo": limit}
    column = "time" if filter_type == "number" else "name"
    rows = [("MatMul", 1), ("Add", 2), ("Mul", 3)]
    return list(search_rows(table(rows), Request(filters={column: condition})).rows["name"])


def test_conditions_of_the_grid() -> None:
    assert kept("greaterThan", "number", 1) == ["Add", "Mul"]
    assert kept("inRange", "number", 2, 3) == ["Add", "Mul"]
    assert kept("notEqual", "number", 2) == ["MatMul", "Mul"]
    assert kept("contains", "text", "mul") == ["MatMul", "Mul"]
    assert kept("startsWith", "text", "m") == ["MatMul", "Mul"]
    assert kept("endsWith", "text", "d") == ["Add"]
    assert kept("equals", "text", "ADD") == ["Add"]
    assert kept("notContains", "text", "a") == ["Mul"]


def test_what_is_not_understood_lets_every_row_pass() -> None:
    assert kept("soundsLike", "text", "mul") == ["MatMul", "Add", "Mul"]
    assert kept("inRange", "number", 2) == ["MatMul", "Add", "Mul"]
    assert search_rows(table([("Add", 1)]), Request(sort=[("no such", True)], filters={"no": {}})).count == 1


def test_names_sort_as_texts_and_not_in_the_order_of_their_categories() -> None:
    found = search_rows(table([("b", 1), ("a", 2), ("c", 3)]), Request(sort=[("name", False)]))
    assert list(found.rows["name"]) == ["a", "b", "c"]
