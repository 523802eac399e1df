"""Which allocations live on the device, where the very first operator and the very first event count as all others."""

from __future__ import annotations

from typing import Any


def sizes(tools: Any, rows: list[Any], events: list[tuple[int, int, int]]) -> list[int]:
    """Return the blocks of a recording; requests of 1000 and 3000 bytes take blocks of 512 bytes, 32 added."""
    memory = tools.simulate(tools.operators(rows), tools.allocations(events)).memory
    return [int(size) for size in memory.size_bytes]


def test_what_the_first_operator_takes_and_gives_back_itself_is_scratch(tools: Any) -> None:
    rows = [tools.Row("add", 0, 100), tools.Row("view", 120, 140)]
    assert sizes(tools, rows, [(10, 1, 1000), (20, 1, -1000)]) == []
    assert sizes(tools, rows, [(10, 1, 1000), (130, 1, -1000)]) == [1536, -1536]
    assert sizes(tools, rows, [(10, 2, 3000), (20, 1, 1000), (30, 1, -1000)]) == [3072]


def test_an_operator_that_launches_nothing_has_no_scratch(tools: Any) -> None:
    """A view that makes a tensor and lets it go: the device has had it."""
    rows = [tools.Row("view", 0, 100), tools.Row("add", 120, 140)]
    assert sizes(tools, rows, [(10, 1, 1000), (20, 1, -1000)]) == [1536, -1536]


def test_what_no_operator_takes_and_what_takes_nothing_are_left_out(tools: Any) -> None:
    rows = [tools.Row("add", 10, 100)]
    assert sizes(tools, rows, [(5, 1, 1000), (50, 2, 0), (60, 3, 3000), (200, 1, -1000), (210, 3, -3000)]) == [
        3072,
        -3072,
    ]


def test_a_release_of_memory_from_before_the_recording_does_not_count(tools: Any) -> None:
    rows = [tools.Row("add", 10, 100)]
    assert sizes(tools, rows, [(20, 9, -1000), (30, 1, 1000)]) == [1536]
