"""Lines of /proc by hand: threads, processors, cards, below the times at which they were read."""

from __future__ import annotations

import pytest

from drynpu.deliverables.host._proc_lines import read_cpu, read_numbers, read_stat, stat_line
from drynpu.deliverables.host._text_timed import _parse_host_cpu, _parse_host_network

STAT = "77 (a (b) c) S " + " ".join(str(field) for field in range(3, 39))
"""Every number is its place: the parent is field 3, the processor 38."""


def test_a_thread_has_its_name_whatever_that_holds_and_its_fields_by_place() -> None:
    assert read_stat(STAT, (3, 13, 14, 38)) == (77, "a (b) c", "S", 3, 13, 14, 38)
    assert read_stat(STAT, (39,)) is None, "the line ends before it"
    assert read_stat(STAT.rpartition(" ")[0], (3, 38)) is None
    assert read_stat(STAT.replace(" 13 ", " x "), (13,)) is None
    assert read_stat("", (3,)) is None
    written = stat_line(77, "my name", "R", {3: 5, 38: 2})
    assert read_stat(written, (3, 4, 38)) == (77, "my_name", "R", 5, 0, 2)


@pytest.mark.parametrize(("line", "row"), [
    ("cpu 1 2 3 4 5 6 7", ("cpu", 1, 2, 3, 4, 5, 6, 7, 0, 0, 0)),
    ("cpu12 1 2 3 4 5 6 7 8 9 10", ("cpu12", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)),
    ("cpu 1 2 3 4 5 6", None),
    ("cpu 1 2 3 4 5 6 7 8 9 10 11", None),
    ("cpus 1 2 3 4 5 6 7", None),
    ("cpu 1 2 3 4 5 6 x", None),
    ("", None),
])  # fmt: skip
def test_a_processor_has_seven_to_ten_times(line: str, row: object) -> None:
    assert read_cpu(line) == row


def test_numbers_are_as_many_as_they_have_to_be() -> None:
    assert read_numbers(" 4 5  6 ", 3) == (4, 5, 6)
    assert read_numbers("4 5 6", 2) is read_numbers("4 5", 3) is read_numbers("4 y 6", 3) is None


def test_threads_stand_below_a_time_and_how_long_the_host_is_up() -> None:
    """Without that line, or with another below the time, threads belong to no time and are counted."""
    lines = [
        STAT,
        "time 500",
        "10.50 3.25",
        STAT,
        STAT.replace("77", "78"),
        "odd",
        "time 900",
        "10.50",
        STAT,
        "time 950",
    ]
    found = _parse_host_cpu([*lines, "20.00 4.00", "", STAT])
    assert [row[:4] for row in found.rows] == [(500, 10.5, 3.25, 77), (500, 10.5, 3.25, 78), (950, 20.0, 4.0, 77)]
    assert found.left_out == 4


def test_cards_stand_below_a_time_alone() -> None:
    numbers = " ".join(str(number) for number in range(1, 17))
    lines = [
        "eth9: " + numbers,
        "time 500",
        "Inter-|   Receive",
        f" eth0:1: {numbers}",
        f"lo:{numbers} 17",
        f": {numbers}",
    ]
    found = _parse_host_network([*lines, "time 600", f"lo: {numbers}"])
    assert [row[:3] for row in found.rows] == [(500, "eth0:1", 1), (600, "lo", 1)]
    assert found.left_out == 3
