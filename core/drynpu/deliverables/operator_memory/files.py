"""memory_record and operator_memory of the toolkit, and NPU_OP_MEM of the database (cann_msprof.md 4.4, 4.6)."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from drynpu.analysis import toolkit_memory
from drynpu.deliverables.db_columns import Rows, global_tid
from drynpu.deliverables.units import KB
from drynpu.layouts.operator_memory import ALLOCATE, COMPONENT, RELEASE
from drynpu.tables import Profile
from drynpu.writers.number_text import Writer, rounded_text, us_text

READ_TABLES = ("cann_allocations",)


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return memory_record and operator_memory; the Python writer makes both on every chip."""
    del writer
    return {"memory_record": _memory_record(profile), "operator_memory": _operator_memory(profile)}


def _host_device(profile: Profile) -> pl.Expr:
    """
    Return the cell ``Device_id`` of files that the Python writer makes of the host's records.

    It exports them with the device (Ascend/msprof analysis/msinterface/msprof_output_summary.py); without any device
    they are the host's.
    """
    return pl.lit(str(profile.device_ids[0]) if profile.device_ids else "host").alias("Device_id")


def _device() -> pl.Expr:
    return pl.concat_str([pl.lit("NPU:"), pl.col("device_id").cast(pl.String)]).alias("Device")


def _kilobytes(name: str) -> pl.Expr:
    """Return bytes as KB; an empty cell where nothing is known."""
    return rounded_text(pl.col(name) / KB).fill_null("")


def _memory_record(profile: Profile) -> pl.DataFrame:
    return profile.frame("cann_allocations").select(
        _host_device(profile),
        pl.lit(COMPONENT).alias("Component"),
        us_text(pl.col("time_ns"), "\t").alias("Timestamp(us)"),
        _kilobytes("total_allocated_bytes").alias("Total Allocated(KB)"),
        _kilobytes("total_reserved_bytes").alias("Total Reserved(KB)"),
        _device(),
    )


def _operator_memory(profile: Profile) -> pl.DataFrame:
    duration = pl.col("release_ns") - pl.col("allocation_ns")
    return toolkit_memory(profile).select(
        _host_device(profile),
        pl.col("name").alias("Name"),
        _kilobytes("size_bytes").alias("Size(KB)"),
        us_text(pl.col("allocation_ns"), "\t").fill_null("").alias("Allocation Time(us)"),
        rounded_text(duration / 1000).fill_null("").alias("Duration(us)"),
        _kilobytes("allocation_allocated_bytes").alias("Allocation Total Allocated(KB)"),
        _kilobytes("allocation_reserved_bytes").alias("Allocation Total Reserved(KB)"),
        _kilobytes("release_allocated_bytes").alias("Release Total Allocated(KB)"),
        _kilobytes("release_reserved_bytes").alias("Release Total Reserved(KB)"),
        _device(),
    )


def db_rows(profile: Profile) -> Rows:
    """Yield allocations and releases of operators, sizes in bytes."""
    size = pl.col("size_bytes")
    events = profile.frame("cann_allocations").select(
        pl.col("name").replace("", "N/A").alias("operatorName"),
        pl.col("address").alias("addr"),
        pl.when(size < 0).then(pl.lit(RELEASE)).otherwise(pl.lit(ALLOCATE)).alias("type"),
        size.abs().alias("size"),
        pl.col("time_ns").alias("timestampNs"),
        global_tid(profile.pid).alias("globalTid"),
        pl.col("total_allocated_bytes").alias("totalAllocate"),
        pl.col("total_reserved_bytes").alias("totalReserve"),
        pl.lit(COMPONENT).alias("component"),
        pl.col("device_id").alias("deviceId"),
    )
    yield "NPU_OP_MEM", events
