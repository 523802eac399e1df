"""The layer Overlap Analysis, and OVERLAP_ANALYSIS of the database (cann_msprof.md 4.5, 4.6)."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.analysis import OVERLAP_KINDS
from drynpu.analysis.overlaps import overlap_table
from drynpu.deliverables._counter_layers import Block, layer_head
from drynpu.deliverables.db_columns import Rows
from drynpu.deliverables.overlap.facts import OVERLAP_LAYER
from drynpu.tables import Profile
from drynpu.tables.stored import Stored
from drynpu.writers.events import duration_event
from drynpu.writers.layers import Thread, layer_pids
from drynpu.writers.number_text import Writer
from drynpu.writers.text_table import TextTable
from drynpu.writers.trace_json import Events, JsonStyle, Value

_NUMBER = pl.col("kind").replace_strict(list(OVERLAP_KINDS), list(range(len(OVERLAP_KINDS))), return_dtype=pl.Int64)
"""Of a kind: its thread in the timeline, its type in the database."""


def layers(profile: Profile, style: JsonStyle, writer: Writer) -> Iterator[Block]:
    """Yield one event per piece of time, on the thread of its kind."""
    pieces = overlap_table(profile)
    if not pieces.height:
        return
    threads = [Thread(tid, kind, tid) for tid, kind in enumerate(OVERLAP_KINDS)]
    devices = pl.DataFrame({"device_id": sorted(_devices(pieces))})
    yield from layer_head(profile.pid, OVERLAP_LAYER, devices, style, threads)
    args: dict[str, Value] | None = {} if writer is Writer.NATIVE else None
    members = duration_event(pl.col("kind"), layer_pids(profile.pid, OVERLAP_LAYER), pl.col("tid"), args)
    yield Events(pieces, members, ("kind",), prepare=_with_thread)


def _with_thread(pieces: pl.DataFrame) -> pl.DataFrame:
    return pieces.with_columns(_NUMBER.alias("tid"), (pl.col("end_ns") - pl.col("start_ns")).alias("duration_ns"))


def _devices(pieces: Stored) -> set[int]:
    return {number for part in pieces.slices("device_id") for number in part["device_id"].unique().to_list()}


def db_rows(profile: Profile) -> Rows:
    """Yield one row per piece of time."""
    pieces = overlap_table(profile)

    def make(offset: int, count: int) -> pl.DataFrame:
        return pieces.slice(offset, count).select(
            pl.int_range(offset, offset + pl.len(), dtype=pl.Int64).alias("id"),
            pl.col("device_id").alias("deviceId"),
            pl.col("start_ns").alias("startNs"),
            pl.col("end_ns").alias("endNs"),
            _NUMBER.alias("type"),
        )

    yield "OVERLAP_ANALYSIS", TextTable(tuple(make(0, 0).columns), pieces.height, make)
