"""Orders and ordinals of rows, and tables from columns and single values."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from drynpu.tables.columns import frame, gather_text, in_parts, order_by, ordinals


def test_ordinals_count_earlier_rows_of_the_key() -> None:
    assert ordinals(np.array([7, 3, 7, 7, 3])).tolist() == [0, 0, 1, 2, 1]
    assert ordinals(np.array([5])).tolist() == [0]
    assert ordinals(np.zeros(0, np.int64)).tolist() == []


def test_rows_of_one_time_are_ordered_by_what_comes_next_and_else_keep_their_order() -> None:
    first, second = np.array([4, 1, 4, 1, 9, 4]), np.array([7, 5, 3, 5, 0, 7])
    looked_up: list[list[int]] = []

    def other(rows: np.ndarray) -> np.ndarray:
        looked_up.append(sorted(rows.tolist()))
        return second[rows]

    found = order_by(first, other)
    assert found is not None
    assert found.tolist() == [1, 3, 2, 0, 5, 4]
    assert looked_up == [[0, 1, 2, 3, 5]], "the row of a time of its own is not looked up"
    assert order_by(np.array([1, 2, 5]), other) is None
    assert order_by(np.array([1, 1, 5]), lambda rows: np.array([0, 1, 2])[rows]) is None
    swapped = order_by(np.array([1, 1, 5]), lambda rows: np.array([1, 0, 2])[rows])
    assert swapped is not None
    assert swapped.tolist() == [1, 0, 2]
    later = order_by(np.array([1, 1]), lambda rows: np.zeros(len(rows)), lambda rows: np.array([8, 3])[rows])
    assert later is not None
    assert later.tolist() == [1, 0]


def test_a_column_is_made_in_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drynpu.tables.columns.PART_ROWS", 3)
    stretches: list[slice] = []

    def make(rows: slice) -> np.ndarray:
        stretches.append(rows)
        return np.arange(100)[rows] * 2

    assert in_parts(make, 7).tolist() == [0, 2, 4, 6, 8, 10, 12]
    assert stretches == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert in_parts(make, 0).tolist() == []


def test_one_value_is_that_of_all_rows_and_of_one_row_alone() -> None:
    schema = pl.Schema({"pid": pl.Int64, "name": pl.String, "at": pl.Int64, "known": pl.Boolean})
    table = frame(schema, {"at": np.arange(2), "name": pl.Series(["b", "a"]), "pid": 7, "known": None})
    assert table.rows() == [(7, "b", 0, None), (7, "a", 1, None)]
    assert table.schema == schema
    assert frame(schema, {"at": 3, "name": "x", "pid": 7, "known": True}).rows() == [(7, "x", 3, True)]


def test_text_ids_without_a_word_are_empty() -> None:
    assert gather_text({5: "five"}, np.array([5, 6, 5])).to_list() == ["five", "", "five"]
