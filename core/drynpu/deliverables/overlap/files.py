"""The layer Overlap Analysis, and OVERLAP_ANALYSIS of the database (cann_msprof.md 4.5, 4.6)."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.analysis import OVERLAP_KINDS, overlap
from drynpu.deliverables._counter_layers import Block, layer_head
from drynpu.deliverables._db_columns import Rows
from drynpu.deliverables.overlap.facts import OVERLAP_LAYER
from drynpu.tables import Profile
from drynpu.writers._events import duration_event
from drynpu.writers._json import Events, JsonStyle, Value
from drynpu.writers._layers import Thread, layer_pids
from drynpu.writers._numbers import Writer

_NUMBER = pl.col("kind").replace_strict(list(OVERLAP_KINDS), list(range(len(OVERLAP_KINDS))), return_dtype=pl.Int64)
"""Of a kind: its thread in the timeline, its type in the database."""


def layers(profile: Profile, style: JsonStyle, writer: Writer) -> Iterator[Block]:
    """Yield one event per piece of time, on the thread of its kind."""
    pieces = overlap(profile)
    if pieces.is_empty():
        return
    threads = [Thread(tid, kind, tid) for tid, kind in enumerate(OVERLAP_KINDS)]
    yield from layer_head(profile.pid, OVERLAP_LAYER, pieces, style, threads)
    rows = pieces.with_columns(_NUMBER.alias("tid"), (pl.col("end_ns") - pl.col("start_ns")).alias("duration_ns"))
    args: dict[str, Value] | None = {} if writer is Writer.NATIVE else None
    members = duration_event(pl.col("kind"), layer_pids(profile.pid, OVERLAP_LAYER), pl.col("tid"), args)
    yield Events(rows, members, ("kind",))


def db_rows(profile: Profile) -> Rows:
    """Yield one row per piece of time."""
    pieces = overlap(profile).with_row_index("id")
    yield (
        "OVERLAP_ANALYSIS",
        pieces.select(
            pl.col("id").cast(pl.Int64),
            pl.col("device_id").alias("deviceId"),
            pl.col("start_ns").alias("startNs"),
            pl.col("end_ns").alias("endNs"),
            _NUMBER.alias("type"),
        ),
    )
