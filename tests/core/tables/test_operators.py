"""Descriptions of operators: equal records are told from different ones."""

from __future__ import annotations

import numpy as np

from drynpu.tables._operators import distinct_rows

LAYOUT = np.dtype([("one", "<u8"), ("two", "<u8"), ("three", "<u4")])


def test_records_whose_mix_is_the_same_are_told_apart() -> None:
    """The words are mixed by odd multipliers: the product of two of them comes of either."""
    odd = np.random.default_rng(0).integers(0, 2**63, 3, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    records = np.zeros(4, LAYOUT)
    records["one"] = [odd[1], 0, odd[1], 5]
    records["two"] = [0, odd[0], 0, 0]
    mixed = records["one"] * odd[0] + records["two"] * odd[1]
    assert mixed[0] == mixed[1]
    first, inverse = distinct_rows(records)
    assert (records[first][inverse] == records).all()
    assert len(first) == 3


def test_only_the_fields_asked_for_count() -> None:
    records = np.zeros(5, LAYOUT)
    records["one"], records["two"], records["three"] = [7, 3, 7, 3, 9], range(5), [1, 1, 1, 2, 1]
    first, inverse = distinct_rows(records, ("one", "three"))
    assert len(first) == 4
    assert inverse[0] == inverse[2] != inverse[1]
    assert inverse[1] != inverse[3]
