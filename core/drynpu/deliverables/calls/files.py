"""CANN_API of the database (cann_msprof.md 4.6)."""

from __future__ import annotations

import polars as pl

from drynpu.deliverables.db_columns import Rows, global_tid
from drynpu.deliverables.db_enums import enum_number
from drynpu.tables import Profile, call_name
from drynpu.writers.number_text import UNKNOWN
from drynpu.writers.text_table import TextTable


def db_rows(profile: Profile) -> Rows:
    """Yield the calls."""
    columns = [
        pl.col("start_ns").alias("startNs"),
        pl.col("end_ns").alias("endNs"),
        enum_number(pl.col("level"), "ENUM_API_TYPE").alias("type"),
        global_tid(pl.col("pid")).alias("globalTid"),
        pl.col("connection_id").alias("connectionId"),
        call_name().replace("", UNKNOWN),
    ]
    yield "CANN_API", TextTable.from_rows(profile.table("api"), columns)
