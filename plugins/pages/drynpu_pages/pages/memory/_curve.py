"""The curve of the memory over time, and what stands above it."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from drynpu.views.content import PLACE, Chart, Fact, Facts
from drynpu.views.runs import View
from drynpu.views.theme import count_text, size_text, time_text
from drynpu_pages.figures import curves, thin
from drynpu_pages.pages.memory._selected import Selected, title_of

MIB = 1024**2
_TOTALS = {"reserved": "Reserved", "active": "Active", "allocated": "Allocated"}
"""Totals in the order in which they are drawn: the most important lies on top."""
_MARKS = {
    "step": ("Step begins", "start_ns"),
    "forward": ("Forward begins", "forward_ns"),
    "backward": ("Backward ends", "backward_ns"),
}
_MOST_MIB = 16 * 1024
_AROUND_NS = 500_000
"""Time before and after a moment in which the timeline shows what happened."""
_FLAT = 20
"""How many times as high as the others a total is left out of the picture at first."""
DETAIL = "click the curve to see what is alive there"


def facts(selected: Selected, view: View) -> Facts:
    """Return the numbers of the selected component."""
    peak = selected.peak_ns
    since_us = (peak - selected.origin_ns) / 1000
    live = selected.live
    kept = int(live["end_ns"].null_count())
    kept_bytes = int(live.filter(pl.col("end_ns").is_null())["size_bytes"].sum())
    reserved = selected.total("reserved_bytes", peak)
    available = None if view.rank.chip is None else view.rank.chip.memory_bytes
    what = "reserved" if selected.measure == "reserved_bytes" else "allocated"
    return Facts(
        (
            Fact(
                "Peak memory",
                size_text(selected.total(selected.measure, peak)),
                f"{what}, {title_of(selected.component)}, {_place(selected, peak)}",
                view.modelled,
            ),
            Fact("Reserved at the peak", size_text(reserved), "by the pool", view.modelled),
            Fact("Available", size_text(available), "on the chip, in all"),
            Fact("Peak at", time_text(since_us), "after the first record", view.modelled, _around(peak)),
            Fact(
                "Position",
                _position(selected),
                _place(selected, selected.at_ns),
                view.modelled,
                _around(selected.at_ns),
            ),
            Fact("Blocks alive", count_text(live.height), "at the position, allocated in the recording"),
            Fact("Never released", count_text(kept), f"of them, {size_text(kept_bytes)}: alive to the end"),
        )
    )


def _around(time_ns: int) -> tuple[int, int]:
    return time_ns - _AROUND_NS, time_ns + _AROUND_NS


def _position(selected: Selected) -> str:
    return "peak" if selected.at_peak else time_text((selected.at_ns - selected.origin_ns) / 1000)


def _place(selected: Selected, time_ns: int) -> str:
    """Return in which step and phase a time lies."""
    steps = selected.phases.filter(pl.col("start_ns") <= time_ns)
    if steps.is_empty():
        return "before the first step" if selected.phases.height else "no steps are known"
    row = steps.row(-1, named=True)
    if row["end_ns"] is not None and time_ns > row["end_ns"]:
        return f"after step {row['step']}"
    if row["forward_ns"] is not None and time_ns < row["forward_ns"]:
        return f"step {row['step']}, before forward"
    if row["backward_ns"] is None:
        return f"step {row['step']}"
    return f"step {row['step']}, " + ("forward and backward" if time_ns <= row["backward_ns"] else "after backward")


def curve(selected: Selected, view: View) -> Chart:
    """Return the chart of the totals over time with the steps."""
    known = [name for name in _TOTALS if selected.records[f"{name}_bytes"].null_count() < selected.records.height]
    if "active" in known and selected.records["active_bytes"].equals(selected.records["allocated_bytes"]):
        known.remove("active")  # its line would hide the other
    columns = [f"{name}_bytes" for name in known]
    records = thin(selected.records.select("time_ns", *columns), columns)
    x = selected.milliseconds(records["time_ns"])
    unit, size = unit_of(selected.total(selected.measure, selected.peak_ns) or 0)
    series = {name: (_TOTALS[name], (records[f"{name}_bytes"] / size).to_list()) for name in known}
    hidden = [*_hidden(selected, known)]
    if view.rank.chip is not None:
        series["available"] = ("Available on the chip", [view.rank.chip.memory_bytes / size] * records.height)
        hidden.append("available")
    first, last = int(records["time_ns"][0]), int(records["time_ns"][-1])
    marks = {
        key: (name, selected.milliseconds(moments))
        for key, (name, column) in _MARKS.items()
        if len(moments := _moments(selected.phases[column], first, last))
    }
    position = ((selected.at_ns - selected.origin_ns) / 1e6, "peak" if selected.at_peak else "position")
    keys = [f"{PLACE}={time_ns}" for time_ns in records["time_ns"]]
    highest = size_text(selected.total(selected.measure, selected.peak_ns))
    return Chart(
        "memory-curve",
        f"Memory over time: {title_of(selected.component)}",
        lambda: curves(
            x,
            series,
            x_title="time (ms)",
            y_title=f"memory ({unit})",
            marks=marks,
            position=position,
            keys=keys,
            hidden=hidden,
        ),
        f"Memory over {time_text((last - first) / 1000)}; the peak is {highest}, {_place(selected, selected.peak_ns)}.",
        detail=f"{DETAIL}; {', '.join(hidden)}: choose it in the legend" if hidden else DETAIL,
        modelled=view.modelled,
        height_px=340,
    )


def unit_of(size_bytes: int) -> tuple[str, int]:
    """Return the unit in which sizes up to *size_bytes* are drawn, and its bytes."""
    if size_bytes < MIB:
        return "KiB", 1024
    return ("MiB", MIB) if size_bytes < _MOST_MIB * MIB else ("GiB", 1024 * MIB)


def _hidden(selected: Selected, known: Sequence[str]) -> Sequence[str]:
    """Return the totals next to which the others would be a flat line."""
    if not {"reserved", "allocated"} <= set(known):
        return ()
    peaks = selected.records.select(pl.col("reserved_bytes", "allocated_bytes").max()).row(0)
    return ("reserved",) if peaks[0] > _FLAT * peaks[1] else ()


def _moments(times: pl.Series, first: int, last: int) -> pl.Series:
    known = times.drop_nulls()
    inside: pl.Series = known.filter(known.is_between(first, last))
    return inside
