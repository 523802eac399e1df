"""Fields of protocol buffers, byte by byte; the format's description has the same examples."""

from __future__ import annotations

import numpy as np
import pytest

from drynpu_pages.perfetto._wire import fixed, joined, message, number, text, varint, varints


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "00"),
        (1, "01"),
        (127, "7f"),
        (128, "8001"),
        (150, "9601"),
        (-1, "ffffffffffffffffff01"),
        (-2, "fe" + "ff" * 8 + "01"),
    ],
)
def test_numbers_are_as_short_as_they_can_be(value: int, expected: str) -> None:
    assert varint(value).hex() == expected


def test_numbers_of_a_column_take_the_same_room() -> None:
    assert varints(np.array([150, 0, 16_383]), 2).tobytes().hex() == "9601" + "8000" + "ff7f"
    assert varints(np.array([1]), 3).tobytes().hex() == "818000"
    assert varints(np.array([-1]), 10).tobytes().hex() == "ffffffffffffffffff01"


def test_messages_of_one_form_follow_each_other() -> None:
    """Field 1 is 150, field 2 a text, field 3 a message with field 1."""
    assert joined(1, number(1, 150)).hex() == "089601"
    assert text(2, "testing").hex() == "120774657374696e67"
    assert joined(1, message(3, *number(1, 150))).hex() == "1a03089601"
    rows = joined(2, message(3, *number(1, varints(np.array([150, 1]), 2)), b"\x10\x07"))
    assert rows.hex() == "1a05" + "089601" + "1007" + "1a05" + "088100" + "1007"


def test_eight_bytes_lie_as_in_memory() -> None:
    assert joined(1, fixed(47, np.array([1], np.uint64))).hex() == "f902" + "0100000000000000"
    assert joined(1, fixed(44, np.array([1.0]))).hex() == "e102" + "000000000000f03f"
