"""ACC_PMU, SOC_BANDWIDTH_LEVEL and QOS of the database (cann_msprof.md 4.6)."""

from __future__ import annotations

import polars as pl

from drynpu.deliverables._db_columns import Rows, place_and_time
from drynpu.tables import Profile


def db_rows(profile: Profile) -> Rows:
    """Yield the tables: levels have no unit; partitions are in MB/s, as their records are."""
    loads = profile.frame("acc_pmu_samples")
    levels = [
        pl.col(f"{way}_{column}").alias(f"{way}{title}Level")
        for title, column in {"Bw": "bandwidth", "Ost": "outstanding"}.items()
        for way in ("read", "write")
    ]
    yield "ACC_PMU", loads.select(*place_and_time(loads), pl.col("acc_id").alias("accId"), *levels)
    buses = profile.frame("soc_levels")
    bus = [pl.col("l2_buffer_level").alias("l2BufferBwLevel"), pl.col("mata_level").alias("mataBwLevel")]
    yield "SOC_BANDWIDTH_LEVEL", buses.select(*place_and_time(buses), *bus)
    partitions = profile.frame("qos_samples")
    name, die = pl.col("event").alias("eventName"), pl.col("die").fill_null(-1).alias("dieId")
    yield "QOS", partitions.select(*place_and_time(partitions), name, "bandwidth", die)
