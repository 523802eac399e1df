"""MSTX_EVENTS of the database (cann_msprof.md 4.6)."""

from __future__ import annotations

import polars as pl

from drynpu.deliverables._db_columns import Rows, global_tid
from drynpu.deliverables._db_enums import enum_number
from drynpu.tables import Profile
from drynpu.writers._numbers import UNKNOWN

_NO_RANGE = 4_294_967_295
"""Range id of every mark: the toolkit's records have no ids of ranges."""
_HOST_ONLY = 4_000_000_000
"""Connection id of marks of the host alone (torch_npu_profiler.md 4.16, MSTX_EVENTS)."""


def db_rows(profile: Profile) -> Rows:
    """Yield marks; a range ends on the thread that began it."""
    thread = global_tid(pl.col("pid"))
    yield (
        "MSTX_EVENTS",
        profile.frame("marks").select(
            pl.col("start_ns").alias("startNs"),
            pl.col("end_ns").alias("endNs"),
            enum_number(pl.col("event_type"), "ENUM_MSTX_EVENT_TYPE").alias("eventType"),
            pl.lit(_NO_RANGE, pl.Int64).alias("rangeId"),
            "category",
            "message",
            thread.alias("globalTid"),
            thread.alias("endGlobalTid"),
            pl.col("domain").fill_null(UNKNOWN).alias("domainId"),
            mark_connection().alias("connectionId"),
        ),
    )


def mark_connection() -> pl.Expr:
    """Return the connection id of a mark: of those that reached no stream 4000000000, of the others above that."""
    on_stream = pl.col("device_id").is_not_null()
    return pl.when(on_stream).then(pl.col("mark_id") + _HOST_ONLY + 1).otherwise(_HOST_ONLY)
