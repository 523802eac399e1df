"""Arrows from the host to the devices: for each event the numbers of the arrows that it lies on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from drynpu.analysis.launches import mindspore_launches
from drynpu.analysis.links import KERNEL_OP, link_operators
from drynpu.arrays import I64
from drynpu.tables import Profile

PAIRS = pl.Schema({"row": pl.Int64, "arrow": pl.Int64})
"""An event, as the row of its table, and an arrow; an event may lie on several."""
_WORK = ("tasks", "communication_ops")
_PLACE = [name for name in KERNEL_OP if name in ("device_id", "stream_id", "start_ns")]


def arrows_of(profile: Profile, window: tuple[int, int]) -> Mapping[str, pl.DataFrame]:
    """
    Return table `PAIRS`, sorted, by the name of the table whose events lie on arrows.

    Each work on a device has an arrow, which leads through operator, task queue and call to it
    (torch_npu_profiler.md 5.3): the viewer connects what lies on one arrow in order of time.
    """
    work = _work(profile, window)
    pairs = [*_hosts(profile, work), *_same(work)]
    by_source: dict[str, list[pl.DataFrame]] = {}
    for source, rows in pairs:
        by_source.setdefault(source, []).append(rows.select(pl.col(name).cast(dtype) for name, dtype in PAIRS.items()))
    return {source: pl.concat(parts).unique().sort("row", "arrow") for source, parts in by_source.items()}


def _work(profile: Profile, window: tuple[int, int]) -> pl.DataFrame:
    """Return what runs on the devices in a window, numbered; ``stream_id`` of collectives is -1."""
    here = pl.col("start_ns").is_between(*window)
    tasks = profile.compact("tasks", *_PLACE, "connection_id").with_row_index("row").filter(here)
    operations = profile.communication_ops.with_row_index("row").filter(here)
    columns = (*_PLACE, "connection_id")
    parts = [
        tasks.select("row", *columns, source=pl.lit("tasks")),
        operations.with_columns(stream_id=pl.lit(-1, pl.Int64)).select(
            "row", *columns, source=pl.lit("communication_ops")
        ),
    ]
    return pl.concat(parts).with_row_index("arrow", offset=1)


def _same(work: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    for source in _WORK:
        yield source, work.filter(pl.col("source") == source).select("row", "arrow")


def _hosts(profile: Profile, work: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    connected = work.filter(pl.col("connection_id") > 0).select("arrow", "connection_id")
    calls = profile.compact("api", "connection_id").with_row_index("row")
    yield "api", calls.join(connected, on="connection_id").select("row", "arrow")
    if not profile.frame("framework_events").is_empty():
        yield "framework_events", _launches(profile, work)
        return
    links = link_operators(profile).table
    kept = links.slice(0, links.height, *_PLACE, "connection_id", "correlation_id", "op_id")
    linked = work.join(kept, on=[*_PLACE, "connection_id"]).unique("arrow")
    yield "host_ops", linked.select(pl.col("op_id").alias("row"), "arrow")
    if profile.table("queue").height:
        queue = profile.compact("queue", "correlation_id").with_row_index("row")
        yield "queue", queue.join(linked.select("correlation_id", "arrow"), on="correlation_id").select("row", "arrow")


def _launches(profile: Profile, work: pl.DataFrame) -> pl.DataFrame:
    launched = mindspore_launches(profile).select(*_PLACE, "launch", "launch_tid", "launch_start_ns")
    events = profile.frame("framework_events").with_row_index("row")
    keys = {"launch": "name", "launch_tid": "tid", "launch_start_ns": "start_ns"}
    at = work.select("arrow", *_PLACE).join(launched, on=_PLACE).select("arrow", *keys)
    return events.join(at.rename(keys), on=list(keys.values())).select("row", "arrow")


def by_rows(pairs: pl.DataFrame | None, rows: I64) -> tuple[I64, I64, I64]:
    """Return where the arrows of each row begin in the last array, how many it has, and all arrows."""
    if pairs is None:
        return np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64), np.empty(0, np.int64)
    known = pairs["row"].to_numpy()
    first = np.searchsorted(known, rows, side="left")
    return first, np.searchsorted(known, rows, side="right") - first, pairs["arrow"].to_numpy()


def across_ranks(profiles: Sequence[Profile]) -> list[pl.DataFrame]:
    """Return table `PAIRS` of the collectives of each rank: what has one name and number is one operation."""
    keyed = [
        profile.communication_ops.with_row_index("row").select(
            "row", key=pl.struct("name", nth=pl.int_range(pl.len()).over("name")).hash(seed=1) // 2
        )
        for profile in profiles
    ]
    return [rows.select(pl.col("row").cast(pl.Int64), pl.col("key").cast(pl.Int64).alias("arrow")) for rows in keyed]
