"""SAMPLE_PMU_TIMELINE and SAMPLE_PMU_SUMMARY of the database (cann_msprof.md 4.6)."""

from __future__ import annotations

import polars as pl

from drynpu.deliverables._db_columns import Rows, place_and_time
from drynpu.deliverables._units import GB
from drynpu.tables import Profile

_CORE = (pl.col("core_id").alias("coreId"), pl.col("core_type").alias("coreType"))


def db_rows(profile: Profile) -> Rows:
    """Yield how busy cores were and what they counted; the first sample of a core has no interval and is 0 percent."""
    samples = profile.frame("core_samples").filter(pl.col("mhz") > 0)
    busy = (pl.col("cycles") * 1000 / (pl.col("mhz") * pl.col("interval_ns")) * 100).fill_null(0.0)
    shown = samples.filter(pl.col("interval_ns").fill_null(1) > 0)
    numbers = [pl.col("cycles").alias("totalCycle"), busy.alias("usage"), pl.col("mhz").alias("freq")]
    yield "SAMPLE_PMU_TIMELINE", shown.select(*place_and_time(shown), *numbers, *_CORE)
    device = pl.col("device_id").alias("deviceId")
    metrics = profile.frame("core_metrics")
    first = pl.col("metric") == pl.col("metric").first().over("device_id", "core_type", "core_id")
    spent_ns = (pl.col("cycles") * 1000 / pl.col("mhz")).alias("value")
    total = pl.lit("total_time").alias("metric")
    yield "SAMPLE_PMU_SUMMARY", metrics.filter(first).select(device, total, spent_ns, *_CORE)
    scale = pl.when(pl.col("metric").str.ends_with("(GB/s)")).then(GB).otherwise(1.0)
    title = pl.col("metric").str.strip_suffix("(GB/s)")
    yield "SAMPLE_PMU_SUMMARY", metrics.select(device, title, (pl.col("value").fill_null(0.0) * scale), *_CORE)
