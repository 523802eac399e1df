"""MSTX_EVENTS of the database (cann_msprof.md 4.6)."""

from __future__ import annotations

import polars as pl

from drynpu.deliverables.db_columns import Rows, global_tid
from drynpu.deliverables.db_enums import enum_number
from drynpu.tables import Profile

_NOT_RECORDED = 4_294_967_295
"""Range id of every mark, and category of extended ones: their records have neither (msproftx_host_processor.cpp)."""
_HOST_ONLY = 4_000_000_000
"""Connection id of plain marks, which never reach a stream (torch_npu_profiler.md 4.16, MSTX_EVENTS)."""
_IS_EXTENDED = pl.col("mark_id").is_not_null()


def db_rows(profile: Profile) -> Rows:
    """Yield marks; a range ends on the thread that began it."""
    thread = global_tid(pl.col("pid"))
    yield (
        "MSTX_EVENTS",
        profile.frame("marks").select(
            pl.col("start_ns").alias("startNs"),
            pl.col("end_ns").alias("endNs"),
            enum_number(pl.col("event_type"), "ENUM_MSTX_EVENT_TYPE").alias("eventType"),
            pl.lit(_NOT_RECORDED, pl.Int64).alias("rangeId"),
            pl.when(_IS_EXTENDED).then(_NOT_RECORDED).otherwise("category").alias("category"),
            "message",
            thread.alias("globalTid"),
            thread.alias("endGlobalTid"),
            pl.col("domain").fill_null("").alias("domainId"),
            mark_connection().alias("connectionId"),
        ),
    )


def mark_connection() -> pl.Expr:
    """Return the connection id of a mark: 4000000000 for plain marks, more for extended marks."""
    return pl.when(_IS_EXTENDED).then(pl.col("mark_id") + _HOST_ONLY + 1).otherwise(_HOST_ONLY)
