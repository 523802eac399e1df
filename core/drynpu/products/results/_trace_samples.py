"""Counters of a timeline: bandwidth of memory and caches, load of accelerators, buses and partitions."""

from __future__ import annotations

import polars as pl

from drynpu.deliverables.bandwidth.tables import ALL_UNITS, LLC_SAMPLES, MEMORY_BANDWIDTH
from drynpu.deliverables.monitors.tables import ACC_PMU_SAMPLES, QOS_SAMPLES, SOC_LEVELS
from drynpu.products.results._events import Trace
from drynpu.products.results._spellings import typed

_UNIT = r"^(?:HBM|LLC) (\d+)"
_WAY = r"/(Read|Write)$"
_MODE = r"^LLC \d+ (Read|Write)/"
_LOADS = {
    "read_bandwidth": "read_bandwidth",
    "read_ost": "read_outstanding",
    "write_bandwidth": "write_bandwidth",
    "write_band_width": "write_bandwidth",  # CANN 8.0
    "write_ost": "write_outstanding",
}
"""What a counter of the accelerators is called, and the column that it is."""
_PARTITION = r"^QoS (.+)$"
_DIES = (0, 1)


def counter_tables(trace: Trace) -> dict[str, pl.DataFrame]:
    """Return the tables that the timeline has counters of; a timeline has rates and no numbers of bytes."""
    tables = {
        "memory_bandwidth": pl.concat([_memory(trace, "hbm"), _memory(trace, "ddr")]),
        "llc_samples": _caches(_counters(trace, "llc")),
        "acc_pmu_samples": _accelerators(_counters(trace, "accelerators")),
        "soc_levels": _buses(_counters(trace, "buses")),
        "qos_samples": _partitions(_counters(trace, "partitions")),
    }
    return {name: table for name, table in tables.items() if table.height}


def _counters(trace: Trace, layer: str) -> pl.DataFrame:
    rows = trace.layer(layer).filter(pl.col("ph") == "C").rename({"start_ns": "time_ns"})
    return rows.sort("device_id", "time_ns", maintain_order=True)


def _memory(trace: Trace, kind: str) -> pl.DataFrame:
    """Return the rates of HBM, by unit, or of DDR, which is one."""
    rows = _counters(trace, kind)
    unit = pl.col("name").str.extract(_UNIT).cast(pl.Int64).fill_null(ALL_UNITS)
    table = typed(
        rows,
        MEMORY_BANDWIDTH,
        kind=pl.lit(kind),
        unit_id=unit,
        event=pl.col("name").str.extract(_WAY).str.to_lowercase(),
        mb_s=pl.coalesce("read_mb_s", "write_mb_s"),
    )
    return table.sort("device_id", "time_ns", "unit_id", "event", maintain_order=True)


def _caches(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the samples of each cache, of which hits and throughput are counters of their own."""
    named = rows.with_columns(
        pl.col("name").str.extract(_UNIT).cast(pl.Int64).alias("llc_id"),
        pl.col("name").str.extract(_MODE).str.to_lowercase().alias("mode"),
    )
    both = named.group_by("device_id", "llc_id", "mode", "time_ns", maintain_order=True).agg(
        pl.col("hit_rate").max(), pl.col("throughput_mb_s").max().alias("mb_s")
    )
    return typed(both.sort("device_id", "llc_id", "time_ns", maintain_order=True), LLC_SAMPLES)


def _accelerators(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the load of each accelerator, or, where newer timelines do not say of which, the largest at a time."""
    named = rows.with_columns(pl.col("name").replace(_LOADS))
    shown = named.group_by("device_id", "time_ns", "acc_id", maintain_order=True).agg(
        pl.col("value").filter(pl.col("name") == column).max().cast(pl.Int64).alias(column)
        for column in dict.fromkeys(_LOADS.values())
    )
    return typed(shown, ACC_PMU_SAMPLES)


def _buses(rows: pl.DataFrame) -> pl.DataFrame:
    levels = pl.col("l2_buffer_level", "mata_level").max()
    return typed(rows.group_by("device_id", "time_ns", maintain_order=True).agg(levels), SOC_LEVELS)


def _partitions(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per partition and die; a chip of one die shows a value without its number."""
    named = rows.with_columns(pl.col("name").str.extract(_PARTITION).alias("event")).with_row_index("row")
    parts = [
        named.with_columns(pl.lit(die, pl.Int64).alias("die"), pl.col(column).cast(pl.Int64).alias("bandwidth"))
        for die, column in ((None, "value"), *((die, f"die_{die}") for die in _DIES))
    ]
    samples = pl.concat(parts).filter(pl.col("bandwidth").is_not_null() & pl.col("event").is_not_null())
    return typed(samples.sort("device_id", "event", "time_ns", "die", maintain_order=True), QOS_SAMPLES)
