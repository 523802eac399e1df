"""Blocks of memory on top of each other over time: a new one comes on top; what stands above one that goes sinks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from attrs import define, field, frozen

from drynpu.arrays import I64

MOST_BLOCKS = 500
"""Blocks that are drawn by themselves: more than can be told apart in a picture."""
LEAST_SHARE = 0.0005
"""Share of the highest sum below which a block is too low to be seen."""
_PLACES = 1200
"""Changes of a block's place that are nearer than the width divided by this are drawn as one."""


@frozen
class Standing:
    """
    One block in the stack.

    Attributes
    ----------
    row:
        Of the table of chosen blocks.
    times, bottoms:
        From when on it stands how high, ns and bytes.
    end:
        When it goes, ns.
    """

    row: int
    times: tuple[int, ...]
    bottoms: tuple[int, ...]
    end: int


def chosen_blocks(blocks: pl.DataFrame, begin: int, end: int) -> pl.DataFrame:
    """
    Return the largest blocks that live between two times, cut at these, by their start.

    Parameters
    ----------
    blocks:
        Table `drynpu.analysis.MEMORY_BLOCKS`.
    begin, end:
        In ns.
    """
    alive = blocks.with_columns(
        pl.col("start_ns").clip(lower_bound=begin).alias("from_ns"),
        pl.col("end_ns").fill_null(end).clip(upper_bound=end).alias("until_ns"),
    ).filter(pl.col("from_ns") < pl.col("until_ns"))
    highest = int(live_bytes(alive, alive["from_ns"].to_numpy()).max(initial=0))
    seen = alive.filter(pl.col("size_bytes") >= LEAST_SHARE * highest)
    return seen.top_k(MOST_BLOCKS, by="size_bytes").sort("start_ns", "size_bytes", descending=[False, True])


def live_bytes(blocks: pl.DataFrame, times: I64) -> I64:
    """Return how many bytes of blocks with ``from_ns`` and ``until_ns`` live at each time; a block lives to its end."""
    sums = []
    for name in ("from_ns", "until_ns"):
        ordered = blocks.select(name, "size_bytes").sort(name)
        reached = np.append(0, np.cumsum(ordered["size_bytes"].to_numpy()))
        sums.append(reached[np.searchsorted(ordered[name].to_numpy(), times, side="right")])
    return np.asarray(sums[0] - sums[1], np.int64)


@define
class _Placed:
    row: int
    size: int
    times: list[int] = field(factory=list)
    bottoms: list[int] = field(factory=list)


def stacked(blocks: pl.DataFrame, begin: int, end: int) -> Iterator[Standing]:
    """
    Yield where each of some blocks stands, in the order in which they go.

    Parameters
    ----------
    blocks:
        Table of `chosen_blocks`.
    """
    width = max((end - begin) // _PLACES, 1)
    rows = list(enumerate(blocks.select("from_ns", "until_ns", "size_bytes").rows()))
    # What goes makes room for what comes at the same time.
    events = [(until, 0, row, size) for row, (_, until, size) in rows] + [
        (at, 1, row, size) for row, (at, _, size) in rows
    ]
    stack: list[_Placed] = []
    top = 0
    for time, comes, row, size in sorted(events):
        if comes:
            stack.append(_Placed(row, size, [time], [top]))
            top += size
            continue
        place = next(number for number, each in enumerate(stack) if each.row == row)
        gone = stack.pop(place)
        top -= size
        for above in stack[place:]:
            _sink(above, time, size, width)
        yield Standing(row, tuple(gone.times), tuple(gone.bottoms), time)


def _sink(block: _Placed, time: int, size: int, width: int) -> None:
    if len(block.times) > 1 and block.times[-1] // width == time // width:
        block.bottoms[-1] -= size
        return
    block.times.append(time)
    block.bottoms.append(block.bottoms[-1] - size)
