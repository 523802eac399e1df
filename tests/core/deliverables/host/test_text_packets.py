"""Packets of the host's samples: what they say, and how many lines are left out where one says too little."""

from __future__ import annotations

import pytest

from drynpu.deliverables.host._text_packets import _parse_process_cpu, _parse_process_mem, _parse_sys_mem

STAT = "77 (two words) S " + " ".join(str(number) for number in range(4, 53)) + "\n"
CPU = "cpu  30 10 20 100 5 1 2 0 0 0\n"


def packet(index: int, *lines: str) -> list[str]:
    body = "".join(lines)
    return [f"TimeStamp:{1000 + index}", f"Index:{index}", f"DataLen:{len(body)}", *body.splitlines()]


GOOD_MEMORY = ("MemTotal: 900 kB\n", "MemFree: 70 kB\n", "HugePages_Total: 3\n", "MemFree: 99 kB\n")


@pytest.mark.parametrize(("parse", "good", "bad"), [
    (_parse_sys_mem, GOOD_MEMORY, ("MemTotal: 900 kB\n", "Buffers: 4 kB\n", "x\n")),
    (_parse_process_cpu, (STAT, "ProcessName:seven\n", CPU), (STAT, CPU)),
    (_parse_process_mem, ("40 30 20 0 0 0 0\n", "ProcessName:seven\n"), ("ProcessName:seven\n",)),
])  # fmt: skip
def test_a_packet_that_says_too_little_is_left_out_with_its_three_lines_of_head(parse, good, bad) -> None:
    found = parse([*packet(1, *good), *packet(2, *bad), *packet(3, *good)])
    assert [row[:2] for row in found.rows] == [(1001, 1), (1003, 3)]
    assert found.left_out == len(bad) + 3


def test_memory_is_the_first_value_of_each_key() -> None:
    (row,) = _parse_sys_mem(packet(1, *GOOD_MEMORY)).rows
    assert row[2:4] == (900, 70)
    assert sorted(row[4:]) == [0, 0, 0, 0, 0, 0, 3]


def test_a_process_has_its_times_and_those_of_the_whole_machine() -> None:
    (row,) = _parse_process_cpu(packet(1, STAT, "ProcessName: seven \n", CPU)).rows
    # Fields 14 to 17 of the line of a process, counted from 1.
    assert row[2:8] == (77, "seven", 14, 15, 16, 17)
    assert row[8:12] == (30, 10, 20, 100)
