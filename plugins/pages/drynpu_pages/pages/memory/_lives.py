"""The lives of the largest blocks as a picture, the rest as bands above them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from drynpu.views.content import Chart
from drynpu.views.runs import View
from drynpu.views.theme import size_text, time_text
from drynpu_pages.block_stack import Standing, chosen_blocks, live_bytes, stacked
from drynpu_pages.figures import thin
from drynpu_pages.figures.lives import Band, Life, draw_lives
from drynpu_pages.pages.memory._curve import unit_of
from drynpu_pages.pages.memory._selected import Selected, title_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

_HEIGHT_PX = 460
_NEAR = 3.0
"""How many times as high as the peak the chip's memory may be to be drawn at first."""
_UNKNOWN = "block"


def lives(selected: Selected, view: View) -> Iterator[Chart]:
    """Yield the picture, where single blocks are known."""
    begin, end = int(selected.records["time_ns"][0]), int(selected.records["time_ns"][-1])
    chosen = chosen_blocks(selected.blocks, begin, end)
    if chosen.is_empty():
        return
    alive = selected.blocks.filter(
        (pl.col("start_ns") < end) & (pl.col("end_ns").is_null() | (pl.col("end_ns") > begin))
    )
    largest = chosen.sort("size_bytes", descending=True).row(0, named=True)
    rest = alive.height - chosen.height
    yield Chart(
        "memory-lives",
        f"Lives of blocks: {title_of(selected.component)}",
        lambda: _drawn(selected, view, chosen, begin, end),
        f"{chosen.height} blocks over time; the largest, {size_text(largest['size_bytes'])}, is of "
        f"{largest['name'] or 'an operator without a name'}.",
        "each block as wide as its life and as high as its size, a new one on top; point at one to see what it is"
        + (f"; {rest} smaller ones are one band" if rest else ""),
        view.modelled,
        _HEIGHT_PX,
    )


def _drawn(selected: Selected, view: View, chosen: pl.DataFrame, begin: int, end: int) -> go.Figure:
    peak = selected.total(selected.measure, selected.peak_ns) or 0
    unit, one = unit_of(peak)
    known = chosen.with_columns(pl.col("category").replace("", _UNKNOWN))
    shown = [
        _life(standing, known.row(standing.row, named=True), selected, one) for standing in stacked(known, begin, end)
    ]
    times, bands = _bands(selected, chosen, begin, end, one)
    chip = view.rank.chip
    line = None
    if chip is not None:
        line = ("Available on the chip", chip.memory_bytes / one, chip.memory_bytes <= _NEAR * peak)
    place = ((selected.at_ns - selected.origin_ns) / 1e6, "peak" if selected.at_peak else "position")
    return draw_lives(shown, times, bands, line, unit=unit, position=place, height_px=_HEIGHT_PX)


def _life(standing: Standing, block: dict[str, object], selected: Selected, one: int) -> Life:
    start, size, end = block["start_ns"], block["size_bytes"], block["end_ns"]
    assert isinstance(start, int)
    assert isinstance(size, int)
    module = f"<br>in {block['module']}" if block["module"] else ""
    life = f"lives {time_text((end - start) / 1000)}" if isinstance(end, int) else "never released"
    since = f"allocated at {(start - selected.origin_ns) / 1e6:.3f} ms, {life}"
    return Life(
        [(time - selected.origin_ns) / 1e6 for time in standing.times],
        [bottom / one for bottom in standing.bottoms],
        (standing.end - selected.origin_ns) / 1e6,
        size / one,
        str(block["category"]),
        f"{block['name'] or 'N/A'}: {size_text(size)}{module}<br>{block['category']}<br>{since}",
    )


def _bands(selected: Selected, chosen: pl.DataFrame, begin: int, end: int, one: int) -> tuple[list[float], list[Band]]:
    """Return what lies above the chosen blocks: smaller ones, then what was there before the recording."""
    totals = thin(selected.records.select("time_ns", selected.measure), [selected.measure])
    moments = np.unique(np.concatenate([totals["time_ns"], chosen["from_ns"], chosen["until_ns"], [begin, end]]))
    every = selected.blocks.select(
        "size_bytes", pl.col("start_ns").alias("from_ns"), pl.col("end_ns").fill_null(end + 1).alias("until_ns")
    )
    upto = chosen.with_columns(pl.when(pl.col("until_ns") >= end).then(end + 1).otherwise("until_ns").alias("until_ns"))
    large, known = live_bytes(upto, moments), live_bytes(every, moments)
    place = np.searchsorted(selected.records["time_ns"].to_numpy(), moments, side="right") - 1
    total = selected.records[selected.measure].fill_null(strategy="forward").fill_null(0).to_numpy()[place]
    bands = [Band("", "", (large / one).tolist())]
    small, below = np.maximum(known, large), large
    for kind, title, tops in (
        ("smaller blocks", "smaller blocks", small),
        ("before the recording", "before the recording", np.maximum(total, small)),
    ):
        if (tops > below).any():
            bands.append(Band(kind, title, (tops / one).tolist()))
        below = tops
    return selected.milliseconds(pl.Series(moments)), bands
