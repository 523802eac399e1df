"""Text of numbers: digits must not depend on how polars divides."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.platforms import find_platform
from drynpu.writers.number_text import (
    Writer,
    decimal_text,
    duration_text,
    floats_text,
    shortest_text,
    statistic_text,
    thousandths_text,
    toolkit_writer,
    us_text,
    wait_text,
)


def shown(values: list[float] | list[int], expression: pl.Expr) -> list[str]:
    return pl.DataFrame({"v": values}).select(expression).to_series().to_list()


def test_points_in_time_have_three_decimals_and_a_tab() -> None:
    assert shown([1736408883704643212, 125, 7_000], us_text(pl.col("v"), "\t")) == [
        "1736408883704643.212\t",
        "0.125\t",
        "7.000\t",
    ]


def test_missing_times_stay_missing() -> None:
    times = pl.DataFrame({"v": [None, 1000]}, schema={"v": pl.Int64})
    assert times.select(us_text(pl.col("v"), "\t")).to_series().to_list() == [None, "1.000\t"]


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=50))
def test_durations_print_as_python_prints_the_quotient(ns: list[int]) -> None:
    assert shown(ns, decimal_text(pl.col("v"))) == [repr(value / 1000) for value in ns]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_floats_print_as_python_prints_them(values: list[float]) -> None:
    assert floats_text(pl.Series(values, dtype=pl.Float64)).to_list() == [repr(value) for value in values]


def test_the_two_writers() -> None:
    assert shown([60_000, 53_741], duration_text(pl.col("v"), Writer.NATIVE)) == ["60.000", "53.741"]
    assert shown([60_000, 53_741], duration_text(pl.col("v"), Writer.PYTHON)) == ["60.0", "53.741"]
    assert shown([940_000], wait_text(pl.col("v"), Writer.NATIVE)) == ["940.000000"]
    assert shown([940_000], wait_text(pl.col("v"), Writer.PYTHON)) == ["940.0"]
    assert shown([633600.0, 0.3414, 150.0], statistic_text(pl.col("v"), Writer.NATIVE)) == ["633600", "0.341", "150"]
    assert shown([633600.0, 0.3414], statistic_text(pl.col("v"), Writer.PYTHON)) == ["633600.0", "0.341"]


def test_statistics_too_large_for_whole_thousandths() -> None:
    assert shown([1e17], shortest_text(pl.col("v"))) == ["1e+17"]
    assert math.isclose(float(shown([4.5e15], shortest_text(pl.col("v")))[0]), 4.5e15)


def test_utilisation_has_three_decimals() -> None:
    assert shown([0.0, 3.8582, 17.94], thousandths_text(pl.col("v"))) == ["0.000", "3.858", "17.940"]


@pytest.mark.parametrize(
    ("platform", "writer"), [("5", Writer.NATIVE), ("15", Writer.NATIVE), ("1", Writer.PYTHON), ("", Writer.PYTHON)]
)
def test_the_chip_decides_on_the_writer(platform: str, writer: Writer) -> None:
    assert toolkit_writer(find_platform(platform)) is writer
