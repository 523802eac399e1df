"""The layer AI Core Freq, and AICORE_FREQ of the database (cann_msprof.md 4.5, 4.6)."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.deliverables._counter_layers import Block, counters, layer_head
from drynpu.deliverables.db_columns import Rows, place_and_time
from drynpu.deliverables.frequency.facts import FREQUENCY_LAYER
from drynpu.tables import Profile
from drynpu.writers.number_text import Writer, float_text
from drynpu.writers.trace_json import JsonStyle

READ_TABLES = ("frequencies",)

_NO_DIE = -1
"""Which die a frequency belongs to is not recorded."""


def layers(profile: Profile, style: JsonStyle, writer: Writer) -> Iterator[Block]:
    """Yield one event per change of the clock, MHz; the Python writer prints them as floating point numbers."""
    if not profile.platform.files.frequency_layer:
        return
    samples = profile.frame("frequencies")
    yield from layer_head(profile.pid, FREQUENCY_LAYER, samples, style)
    mhz = pl.col("mhz").cast(pl.String) if writer is Writer.NATIVE else float_text(pl.col("mhz").cast(pl.Float64))
    yield counters(profile.pid, FREQUENCY_LAYER, samples, FREQUENCY_LAYER.name, {"MHz": mhz})


def db_rows(profile: Profile) -> Rows:
    """
    Yield the clock at the begin of the recording, at each change, and at the end where that is known.

    Nothing on platforms whose timeline has no clock either.

    The one at the begin is what the last change before had set, else the first one (Ascend/msprof
    aicore_freq_processor.cpp).
    """
    if not profile.platform.files.frequency_layer:
        return
    changes = profile.frame("frequencies")
    if profile.begin_ns:
        changes = pl.concat([changes, *(_at_ends(rows, profile) for _, rows in changes.group_by("device_id"))])
        changes = changes.filter(pl.col("time_ns") >= profile.begin_ns).unique(maintain_order=True)
    changes = changes.sort("device_id", "time_ns", maintain_order=True)
    die = pl.lit(_NO_DIE, pl.Int64).alias("dieId")
    yield "AICORE_FREQ", changes.select(*place_and_time(changes), pl.col("mhz").alias("freq"), die)


def _at_ends(changes: pl.DataFrame, profile: Profile) -> pl.DataFrame:
    """Return the clock of one device at the begin and, if it is known, at the end of the recording."""
    before = changes.filter(pl.col("time_ns") <= profile.begin_ns).tail(1)
    first = (before if before.height else changes.head(1)).with_columns(time_ns=pl.lit(profile.begin_ns, pl.Int64))
    last = changes.tail(1).with_columns(time_ns=pl.lit(profile.end_ns, pl.Int64))
    return pl.concat([first, last] if profile.end_ns else [first])
