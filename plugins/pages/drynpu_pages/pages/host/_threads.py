"""Threads of the process, collections of Python's garbage, and calls of the toolkit."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.analysis import api_statistic
from drynpu.views.content import EMPTY, Block, Chart, Column, Fact, Facts, Note, Table
from drynpu.views.runs import View
from drynpu.views.theme import count_text, share_text, time_text
from drynpu_pages.figures import bars, stacked_bars
from drynpu_pages.pages._parts import WINDOW
from drynpu_pages.pages._recording import how_to_record
from drynpu_pages.pages._windows import longest, of_calls, of_threads
from drynpu_pages.thread_load import thread_load

_MOST_THREADS, _MOST_CALLS = 12, 20
_THREAD_COLUMNS = (
    Column("thread", "thread"),
    Column("operator_pct", "in operators (%)", 2),
    Column("call_pct", "in calls of the toolkit (%)", 2),
    Column("operators", "operators"),
    Column("calls", "calls"),
)
_COLLECTION_COLUMNS = (
    Column("start_ms", "start (ms)", 3),
    Column("duration_us", "duration (us)", 3),
    Column("pid", "process"),
)
_CALLS = "the columns of api_statistic.csv; the timeline shows the longest call"
_CALL_COLUMNS = (
    Column("name", "call", wide=True),
    Column("level", "level"),
    Column("count", "count"),
    Column("time_us", "total (us)", 3),
    Column("avg_us", "average (us)", 3),
    Column("min_us", "shortest (us)", 3),
    Column("max_us", "longest (us)", 3),
    Column("variance", "variance (us²)", 3),
)


def threads(view: View) -> Iterator[Block]:
    """Yield how busy each thread was."""
    load = thread_load(view.rank.profile)
    if load.is_empty():
        yield Note(
            "The profile holds no operators and no calls of the host, so the load of threads is not known.", EMPTY
        )
        return
    span = float(load["span_ns"][0]) or 1.0
    rows = load.with_columns(
        pl.col("tid").cast(pl.String).alias("thread"),
        (pl.col("operator_ns") / span * 100).alias("operator_pct"),
        (pl.col("call_ns") / span * 100).alias("call_pct"),
    )
    rows = rows.join(of_threads(view.rank.profile), on="tid", how="left", maintain_order="left")
    shown = rows.head(_MOST_THREADS)
    labels = [f"thread {name}" for name in shown["thread"]]
    alone = (shown["operator_pct"] - shown["call_pct"]).clip(lower_bound=0.0).to_list()
    parts = {
        "acl": ("Calls of the toolkit", shown["call_pct"].to_list()),
        "operator": ("Operators beyond them", alone),
    }
    height = 100 + 26 * len(labels)
    first = rows.row(0, named=True)
    busiest = max(first["operator_pct"], first["call_pct"])
    yield Chart(
        "threads-chart",
        "Load of threads",
        lambda: stacked_bars(
            labels, parts, axis_title="share of the recording (%)", unit="%", horizontal=True, height_px=height
        ),
        f"Thread {first['thread']} is busiest: {share_text(busiest / 100)} of {time_text(span / 1000)}.",
        "the time in which a thread ran operators or called the toolkit; Python in between does not count",
        view.modelled,
        height,
    )
    detail = "the timeline shows the longest operator or call of a thread"
    yield Table("threads", "Threads", rows, _THREAD_COLUMNS, detail, view.modelled, WINDOW)


def collections(view: View) -> Iterator[Block]:
    """Yield the collections of Python's garbage."""
    profile = view.rank.profile
    gc = profile.gc.sort("start_ns")
    if gc.is_empty():
        if profile.product == "torch" and (profile.framework_path is not None or profile.source == "results"):
            yield how_to_record(profile, "No collection of Python's garbage was recorded.", "switches.gc_threshold_ms")
        return
    origin = int(gc["start_ns"][0])
    if profile.host_ops.height:
        origin = min(origin, int(profile.host_ops["start_ns"].min()))  # type: ignore[arg-type]
    duration_us = (pl.col("end_ns") - pl.col("start_ns")) / 1000
    rows = gc.select(
        ((pl.col("start_ns") - origin) / 1e6).alias("start_ms"), duration_us.alias("duration_us"), "pid", *WINDOW
    )
    whole, longest = float(rows["duration_us"].sum()), float(rows["duration_us"].max())  # type: ignore[arg-type]
    load = thread_load(profile)
    share = whole * 1000 / float(load["span_ns"][0]) if load.height else None
    yield Facts(
        (
            Fact("Collections", count_text(rows.height), "of Python's garbage"),
            Fact("Total time", time_text(whole), f"{share_text(share)} of the recording"),
            Fact("Longest", time_text(longest), window=rows.sort("duration_us").select(WINDOW).row(-1)),
        ),
        "Python's garbage collector",
    )
    yield Table("collections", "Collections", rows, _COLLECTION_COLUMNS, window=WINDOW)


def calls(view: View) -> Iterator[Block]:
    """Yield the calls of the toolkit by time."""
    statistic = api_statistic(view.rank.profile)
    if statistic.is_empty():
        yield Note("The profile holds no calls of the toolkit (level_none records none).", EMPTY)
        return
    rows = statistic.join(of_calls(view.rank.profile), on=["level", "name"], how="left").sort(
        "time_us", "name", descending=[True, False]
    )
    top = longest(rows, ["name"], pl.col("time_us").sum())
    top = top.sort("time_us", descending=True).head(_MOST_CALLS)
    labels, values = top["name"].to_list(), (top["time_us"] / 1000).to_list()
    windows = [None if None in each else each for each in top.select(WINDOW).rows()]
    height = 70 + 24 * len(labels)
    whole = float(rows["time_us"].sum()) or 1.0
    yield Chart(
        "calls-chart",
        "Calls of the toolkit by time",
        lambda: bars(labels, values, axis_title="total time (ms)", unit="ms", height_px=height, windows=windows),
        ", ".join(f"{name} {share_text(value * 1000 / whole)}" for name, value in zip(labels[:5], values, strict=False))
        + ".",
        "calls lie inside each other: calls of a higher level contain the calls below",
        view.modelled,
        height,
    )
    yield Table("calls", "Calls", rows, _CALL_COLUMNS, _CALLS, view.modelled, WINDOW)
