"""``mstx``: marks and ranges, only while a profiler collects them (mindspore_profiler.md 9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from drynpu_mindspore.profiler import ExperimentalConfig


@pytest.fixture
def collecting(bench: Any) -> Iterator[Any]:
    profiler = bench.surface.profile(experimental_config=ExperimentalConfig(mstx=True))
    bench.take()
    yield bench
    profiler.stop()


def test_nothing_happens_unless_a_profiler_collects_marks(bench: Any) -> None:
    mstx = bench.surface.mstx
    profiler = bench.surface.profile()
    bench.take()
    mstx.mark("")
    assert mstx.range_start("a") == 0
    mstx.range_end("b")
    assert bench.take() == []
    profiler.stop()


def test_marks_and_ranges_reach_the_recording(collecting: Any) -> None:
    mstx, stream = collecting.surface.mstx, collecting.host.stream_class()
    mstx.mark("here")
    mstx.mark("there", stream, "mine")
    number = mstx.range_start("loop", None, "mine")
    assert number > 0
    mstx.range_end(number, "mine")
    mstx.range_end(0)
    assert collecting.take() == [
        ("mark", "here", "default", None),
        ("mark", "there", "mine", stream),
        ("range_start", "loop", "mine", None),
        ("range_end", number, "mine"),
    ]


@pytest.mark.parametrize(
    ("function", "arguments", "text"),
    [
        ("mark", (3,), "Invalid message for mstx.mark func. Please input valid message string."),
        ("mark", ("",), "Invalid message for mstx.mark func. Please input valid message string."),
        (
            "mark",
            ("a", 3),
            "Invalid stream for mstx.mark func. Expected mindspore.runtime.Stream but got <class 'int'>.",
        ),
        ("mark", ("a", None, ""), "Invalid domain name for mstx.mark func. Please input str and can not be empty."),
        ("range_start", ("",), "Invalid message for mstx.range_start func. Please input valid message string."),
        (
            "range_start",
            ("a", None, 3),
            "Invalid domain name for mstx.range_start func. Please input str and can not be empty.",
        ),
        (
            "range_end",
            ("a",),
            "Invalid range_id for mstx.range_end func. Please input return value from mstx.range_start.",
        ),
        (
            "range_end",
            (-1,),
            "Invalid range_id for mstx.range_end func. Please input return value from mstx.range_start.",
        ),
        (
            "range_end",
            (1, ""),
            "Invalid domain name for mstx.range_end func. Please input str and can not be empty.",
        ),
    ],
)
def test_bad_arguments_are_said(collecting: Any, function: str, arguments: tuple[Any, ...], text: str) -> None:
    assert not getattr(collecting.surface.mstx, function)(*arguments)
    assert collecting.take() == [("warning", text)]


def test_there_are_no_marks_on_other_devices(collecting: Any) -> None:
    collecting.host.target = "CPU"
    collecting.surface.mstx.mark("a")
    assert collecting.take() == []
