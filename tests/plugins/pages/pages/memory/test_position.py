"""Where a position lies: in a choice of the address, in the steps of a recording, among components."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from drynpu_pages.pages.memory._curve import _hidden, _moments, _place
from drynpu_pages.pages.memory._selected import _options, _position, title_of

SCHEMA = {"step": pl.String} | dict.fromkeys(("start_ns", "forward_ns", "backward_ns", "end_ns"), pl.Int64)


def selected(*steps: tuple[str, int, int | None, int | None, int | None]) -> Any:
    return SimpleNamespace(phases=pl.DataFrame(steps, schema=SCHEMA, orient="row"))


@pytest.mark.parametrize(
    ("time_ns", "place"),
    [
        (99, "before the first step"),
        (100, "step 7, before forward"),
        (110, "step 7, forward and backward"),
        (150, "step 7, forward and backward"),
        (151, "step 7, after backward"),
        (180, "step 7, after backward"),
        (181, "after step 7"),
        (200, "step 8"),
        (10**9, "step 8"),
    ],
)
def test_a_time_lies_in_a_phase_of_the_last_step_that_began(time_ns: int, place: str) -> None:
    """Of the second step only the begin is known."""
    assert _place(selected(("7", 100, 110, 150, 180), ("8", 200, None, None, None)), time_ns) == place
    assert _place(selected(), time_ns) == "no steps are known"


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", (70, False)),
        ("begin", (50, False)),
        ("end", (90, False)),
        ("50", (50, False)),
        ("90", (90, False)),
        ("49", (70, True)),
        ("91", (70, True)),
        ("middle", (70, True)),
        ("9" * 20, (70, True)),
    ],
)
def test_a_choice_is_a_position_inside_or_else_the_peak(text: str, position: tuple[int, bool]) -> None:
    assert _position(text, first=50, last=90, peak=70) == position


def test_components_stand_in_their_order_and_name_the_device_where_there_are_several() -> None:
    rows = [("Z", 0), ("GE", 0), ("PTA+GE", 0), ("PTA", 0), ("A", 0), ("PTA", 0)]
    records = pl.DataFrame(rows, schema=["component", "device_id"], orient="row")
    names = ["PTA", "GE", "PTA+GE", "A", "Z"]
    assert _options(records) == tuple((name, title_of(name)) for name in names)
    assert title_of("PTA+GE") == "PyTorch + CANN (GE)"
    two = pl.DataFrame([("PTA", 4), ("PTA", 1)], schema=["component", "device_id"], orient="row")
    assert _options(two) == (("PTA@1", "PyTorch, device 1"), ("PTA@4", "PyTorch, device 4"))


@pytest.mark.parametrize(("reserved", "hidden"), [(2_001, ("reserved",)), (2_000, ())])
def test_a_total_more_than_twenty_times_as_high_is_hidden(reserved: int, hidden: tuple[str, ...]) -> None:
    records = pl.DataFrame({"reserved_bytes": [reserved, 5], "allocated_bytes": [1, 100]})
    shown: Any = SimpleNamespace(records=records)
    assert _hidden(shown, ["reserved", "allocated"]) == hidden
    assert _hidden(shown, ["allocated"]) == ()


def test_moments_of_the_stretch_are_marked() -> None:
    assert _moments(pl.Series([9, 10, None, 20, 21]), 10, 20).to_list() == [10, 20]
