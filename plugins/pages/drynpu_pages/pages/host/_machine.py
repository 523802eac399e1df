"""The machine as a whole: all its processes, its processor and its memory."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.layouts.host import PAGE_KB
from drynpu.views.content import Block, Chart, Column, Table
from drynpu.views.runs import View
from drynpu_pages.figures import curves
from drynpu_pages.pages._recording import how_to_record
from drynpu_pages.pages.host._samples import MIB_PER_KB, chart, mean

_TIMES = {"user": "user", "system": "system", "iowait": "waiting for disks", "idle": "idle"}
_PROCESS_COLUMNS = (
    Column("name", "process", wide=True),
    Column("pid", "id"),
    Column("cpu_pct", "processor, mean (%)", 4),
    Column("resident_mib", "resident, mean (MiB)", 2),
    Column("size_mib", "size, mean (MiB)", 2),
    Column("shared_mib", "shared, mean (MiB)", 2),
)


def machine(view: View) -> Iterator[Block]:
    """Yield the processor and memory of the machine and of its processes."""
    profile = view.rank.profile
    times, memory = profile.frame("host_cpu_times"), profile.frame("host_memory")
    shares, sizes = profile.frame("host_cpu_shares"), profile.frame("host_process_memory")
    if times.is_empty() and memory.is_empty() and shares.is_empty() and sizes.is_empty():
        yield how_to_record(profile, "The machine as a whole was not sampled.", "sampling.host_usage")
        return
    between = _between(times)
    if between.height:
        yield _processor(between)
    if memory.height:
        names = {"used": "in use", "cached_kb": "cached", "free_kb": "free"}
        mib = memory.sort("time_ns").select(
            "time_ns",
            ((pl.col("total_kb") - pl.col("free_kb") - pl.col("cached_kb") - pl.col("buffers_kb")) * MIB_PER_KB).alias(
                "used"
            ),
            pl.col("cached_kb", "free_kb") * MIB_PER_KB,
        )
        yield chart("machine-memory", "Memory of the machine", mib, names, "MiB")
    if shares.height or sizes.height:
        yield _processes(shares, sizes)


def _between(times: pl.DataFrame) -> pl.DataFrame:
    """Return the shares of each kind of time between two samples (%), added up over the cores."""
    if times.is_empty():
        return times
    kinds = [*_TIMES, "total"]
    spent = (
        times.sort("time_ns")
        .with_columns((pl.col(name) - pl.col(name).shift(1).over("cpu")).alias(name) for name in kinds)
        .drop_nulls("total")
        .group_by("time_ns", maintain_order=True)
        .agg(pl.col(name).sum() for name in kinds)
        .filter(pl.col("total") > 0)
    )
    return spent.select("time_ns", *(pl.col(name) * 100 / pl.col("total") for name in _TIMES))


def _processor(shares: pl.DataFrame) -> Chart:
    x = ((shares["time_ns"] - shares["time_ns"][0]) / 1e6).to_list()
    series = {f"cpu {name}": (title, shares[name].to_list()) for name, title in _TIMES.items()}
    means = ", ".join(f"{title} {mean(shares[name]) or 0.0:.1f} %" for name, title in _TIMES.items())
    return Chart(
        "machine-cpu",
        "Processor of the machine",
        lambda: curves(x, series, x_title="time (ms)", y_title="share of the time (%)", height_px=280),
        f"Means: {means}.",
        "between two samples, of all cores",
        height_px=280,
    )


def _processes(shares: pl.DataFrame, sizes: pl.DataFrame) -> Table:
    key = ["pid", "name"]
    used = shares.group_by(key).agg((pl.col("share").mean() * 100).alias("cpu_pct"))
    pages = ("resident", "size", "shared")
    held = sizes.group_by(key).agg(
        (pl.col(f"{name}_pages").mean() * PAGE_KB * MIB_PER_KB).alias(f"{name}_mib") for name in pages
    )
    rows = used.join(held, on=key, how="full", coalesce=True)
    rows = rows.sort("cpu_pct", "resident_mib", "pid", descending=[True, True, False], nulls_last=True)
    return Table("processes", "Processes", rows, _PROCESS_COLUMNS, "of the machine")
