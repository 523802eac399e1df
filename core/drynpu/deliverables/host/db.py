"""Usage of the host in the database (cann_msprof.md 4.6): percent, and bytes per second."""

from __future__ import annotations

import polars as pl

from drynpu.deliverables._db_columns import TIME, Rows
from drynpu.deliverables._units import KB
from drynpu.tables import Profile


def db_rows(profile: Profile) -> Rows:
    """Yield the tables of what was measured; what is no core, such as the average, is left out."""
    core = pl.col("cpu").str.to_integer(strict=False).alias("cpuId")
    yield "CPU_USAGE", profile.frame("host_cpu_usage").select(TIME, core, "usage").drop_nulls("cpuId")
    yield "HOST_MEM_USAGE", profile.frame("host_memory_usage").select(TIME, "usage")
    rates = [(pl.col(f"{way}_kb_s") * KB).alias(f"{way}Rate") for way in ("read", "write")]
    yield "HOST_DISK_USAGE", profile.frame("host_disk_usage").select(TIME, *rates, "usage")
    speed = (pl.col("kb_s") * KB).alias("speed")
    yield "HOST_NETWORK_USAGE", profile.frame("host_network_usage").select(TIME, "usage", speed)
