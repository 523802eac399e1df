"""NPU_OP_MEM of the database (cann_msprof.md 4.6)."""

from __future__ import annotations

import polars as pl

from drynpu.deliverables._db_columns import GLOBAL_TID_BITS, Rows
from drynpu.deliverables.operator_memory.facts import COMPONENT
from drynpu.tables import Profile


def db_rows(profile: Profile) -> Rows:
    """Yield allocations and releases of operators, sizes in bytes."""
    size = pl.col("size_bytes")
    events = profile.cann_allocations.select(
        pl.col("name").replace("", "N/A").alias("operatorName"),
        pl.col("address").alias("addr"),
        pl.when(size < 0).then(pl.lit("release")).otherwise(pl.lit("allocate")).alias("type"),
        size.abs().alias("size"),
        pl.col("time_ns").alias("timestampNs"),
        (profile.pid * GLOBAL_TID_BITS + pl.col("tid")).alias("globalTid"),
        pl.col("total_allocated_bytes").alias("totalAllocate"),
        pl.col("total_reserved_bytes").alias("totalReserve"),
        pl.lit(COMPONENT).alias("component"),
        pl.col("device_id").alias("deviceId"),
    )
    yield "NPU_OP_MEM", events
