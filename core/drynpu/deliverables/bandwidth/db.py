"""HBM, DDR and LLC of the database (cann_msprof.md 4.6)."""

from __future__ import annotations

import polars as pl

from drynpu.deliverables._db_columns import Rows, bytes_per_s, place_and_time
from drynpu.tables import Profile


def db_rows(profile: Profile) -> Rows:
    """Yield the tables; those that were not sampled have no rows."""
    memory, rate = profile.frame("memory_bandwidth"), bytes_per_s(pl.col("mb_s"))
    hbm = memory.filter(pl.col("kind") == "hbm")
    columns = [rate.alias("bandwidth"), pl.col("unit_id").alias("hbmId")]
    yield "HBM", hbm.select(*place_and_time(hbm), *columns, type=pl.col("event"))
    ways = [rate.filter(pl.col("event") == way).first().fill_null(0).alias(way) for way in ("read", "write")]
    ddr = memory.filter(pl.col("kind") == "ddr").group_by("device_id", "time_ns", maintain_order=True).agg(ways)
    yield "DDR", ddr.select(*place_and_time(ddr), "read", "write")
    caches = profile.frame("llc_samples")
    yield (
        "LLC",
        caches.select(
            *place_and_time(caches),
            "mode",
            pl.col("llc_id").alias("llcId"),
            (pl.col("hit_rate") * 100).alias("hitRate"),
            rate.alias("throughput"),
        ),
    )
