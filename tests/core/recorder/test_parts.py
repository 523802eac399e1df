"""The parts that a recording can do without."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu import OutputError
from drynpu.recorder import OptionalParts


def fail() -> int:
    raise OutputError("no room")


@given(st.integers(), st.text(min_size=1))
def test_what_can_be_gathered_is(value: int, part: str) -> None:
    said: list[str] = []
    parts = OptionalParts(said.append)
    assert parts.gather(part, lambda: value, 0) == value
    assert said == parts.lost == []


def test_a_lost_part_is_named_once() -> None:
    said: list[str] = []
    parts = OptionalParts(said.append)
    assert [parts.gather("stacks", fail, 7) for _ in range(3)] == [7, 7, 7]
    assert said == parts.lost == ["stacks cannot be recorded, everything else is: no room"]
    parts.gather("frames", lambda: [][0], None)
    assert parts.lost[1].startswith("frames cannot be recorded, everything else is: IndexError(")


def test_what_ends_the_process_passes() -> None:
    def interrupt() -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        OptionalParts().gather("stacks", interrupt, 0)


@contextlib.contextmanager
def failing(where: str, seen: list[str]) -> Iterator[int]:
    if where == "start":
        raise ValueError("start")
    try:
        yield 5
    except LookupError:
        seen.append("error")
        raise
    if where == "end":
        raise ValueError("end")


@pytest.mark.parametrize(("where", "value", "lost"), [("start", 0, 1), ("end", 5, 1), ("", 5, 0)])
def test_neither_start_nor_end_of_a_context_raises(where: str, value: int, lost: int) -> None:
    parts = OptionalParts(lambda _: None)
    with parts.during("marks", lambda: failing(where, []), 0) as entered:
        assert entered == value
    assert len(parts.lost) == lost


def test_a_context_is_told_of_the_error_inside_it() -> None:
    seen: list[str] = []
    parts = OptionalParts(lambda _: None)
    with pytest.raises(LookupError), parts.during("marks", lambda: failing("", seen), 0):
        raise LookupError
    assert seen == ["error"]
