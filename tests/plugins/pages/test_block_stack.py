"""Blocks on top of each other: at every moment they fill the height of their sum, none over another."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from drynpu_pages.block_stack import LEAST_SHARE, MOST_BLOCKS, Standing, chosen_blocks, live_bytes, stacked

END = 1000
lives = st.tuples(st.integers(-50, END), st.one_of(st.none(), st.integers(1, 400)), st.integers(100, 5000))


def table(rows: list[tuple[int, int | None, int]]) -> pl.DataFrame:
    """Blocks of start, length (none: never released) and size."""
    whole = [(start, None if length is None else start + length, size) for start, length, size in rows]
    schema = {"start_ns": pl.Int64, "end_ns": pl.Int64, "size_bytes": pl.Int64}
    return pl.DataFrame(whole, schema=schema, orient="row")


def bottom(standing: Standing, time: int) -> int:
    """How high a block stands at a time, looked up one by one."""
    return [low for at, low in zip(standing.times, standing.bottoms, strict=True) if at <= time][-1]


@given(rows=st.lists(lives, min_size=1, max_size=12))
def test_the_stack_has_no_holes_and_no_overlaps(rows: list[tuple[int, int | None, int]]) -> None:
    blocks = chosen_blocks(table(rows), 0, END)
    standing = list(stacked(blocks, 0, END))
    assert sorted(each.row for each in standing) == list(range(blocks.height))
    for time in range(0, END, 7):
        alive = [each for each in standing if each.times[0] <= time < each.end]
        sizes = blocks["size_bytes"].gather([each.row for each in alive]).to_list()
        spans = sorted((bottom(each, time), size) for each, size in zip(alive, sizes, strict=True))
        height = 0
        for low, size in spans:
            assert low == height
            height += size
        brute = [size for start, length, size in rows if start <= time and (length is None or start + length > time)]
        assert height == sum(brute) == live_bytes(blocks, np.array([time]))[0]


def test_a_new_block_comes_on_top_and_sinks_when_what_is_below_goes() -> None:
    blocks = chosen_blocks(table([(0, 30, 5000), (10, 80, 700), (20, None, 900)]), 0, END)
    found = {each.row: each for each in stacked(blocks, 0, END)}
    assert found[0] == Standing(0, (0,), (0,), 30)
    assert found[1] == Standing(1, (10, 30), (5000, 0), 90)
    assert found[2] == Standing(2, (20, 30, 90), (5700, 700, 0), END)


def test_only_blocks_that_are_seen_are_chosen_the_largest_first() -> None:
    low = int(1_000_000 * LEAST_SHARE)
    rows = [(5, None, 1_000_000), (6, None, low - 1), (7, None, low + 2_100), (2_000, None, 10**9)]
    assert chosen_blocks(table(rows), 0, END)["size_bytes"].to_list() == [1_000_000, low + 2_100]
    many = [(5, None, 1000 + number) for number in range(MOST_BLOCKS + 3)]
    assert chosen_blocks(table(many), 0, END)["size_bytes"].min() == 1003


def test_changes_in_one_place_are_drawn_once() -> None:
    """Of a thousand blocks that go within one pixel, those above move once."""
    span = 10**9
    rows = [(number, 2_000 + number, 1000) for number in range(300)] + [(400, None, 90_000)]
    above = next(each for each in stacked(chosen_blocks(table(rows), 0, span), 0, span) if each.end == span)
    assert above.bottoms[0] == 300_000
    assert above.bottoms[-1] == 0
    assert len(above.times) == 2
