"""Numbers, sizes and times as people read them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.views.theme import count_text, share_text, size_text, time_text

US = {"us": 1.0, "ms": 1e3, "s": 1e6, "min": 6e7}
BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


@pytest.mark.parametrize(
    ("time_us", "text"),
    [
        (0, "0.000 us"),
        (0.25, "0.250 us"),
        (1, "1.00 us"),
        (99.5, "99.50 us"),
        (100, "100.0 us"),
        (999, "999.0 us"),
        (1_000, "1.00 ms"),
        (-1_500, "-1.50 ms"),
        (1_000_000, "1.00 s"),
        (59_900_000, "59.90 s"),
        (60_000_000, "1.0 min"),
        (None, "N/A"),
    ],
)
def test_a_time_has_the_unit_that_fits(time_us: float | None, text: str) -> None:
    assert time_text(time_us) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (-3 * 2**19, "-1.50 MiB"),
        (100 * 2**20, "100.0 MiB"),
        (2**30, "1.00 GiB"),
        (2**40, "1.00 TiB"),
        (5000 * 2**40, "5000.0 TiB"),
        (None, "N/A"),
    ],
)
def test_a_size_has_the_binary_unit_that_fits(size_bytes: float | None, text: str) -> None:
    assert size_text(size_bytes) == text


@given(st.floats(-1e12, 1e12))
def test_a_time_read_back_is_the_time_to_its_last_digit(time_us: float) -> None:
    number, unit = time_text(time_us).split()
    half_a_digit = 0.5 * 10.0 ** -len(number.partition(".")[2])
    assert math.isclose(float(number) * US[unit], time_us, rel_tol=1e-9, abs_tol=half_a_digit * US[unit] * 1.001)


@given(st.integers(-(2**52), 2**52))
def test_a_size_read_back_is_the_size_to_its_last_digit(size_bytes: int) -> None:
    number, unit = size_text(size_bytes).split()
    digits = len(number.partition(".")[2])
    assert abs(float(number) * BYTES[unit] - size_bytes) <= 0.5001 * 10.0**-digits * BYTES[unit] * (unit != "B")


def test_shares_and_counts() -> None:
    assert share_text(0.1234) == "12.3 %"
    assert count_text(1_234_567) == "1\u202f234\u202f567"
    assert (share_text(None), count_text(None)) == ("N/A", "N/A")
