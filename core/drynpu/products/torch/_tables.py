"""The csv files that torch writes itself, as text tables (torch_npu_profiler.md 4.3, 4.7-4.9)."""

from __future__ import annotations

import polars as pl

from drynpu.deliverables.units import KB, MB
from drynpu.products.torch._host_trace import LINE_SEPARATOR
from drynpu.writers.number_text import floats_text, rounded_text, us_text
from drynpu.writers.text_table import Rows, TextTable

_STEP_COLUMNS = {
    "computing_us": "Computing",
    "communication_not_overlapped_us": "Communication(Not Overlapped)",
    "overlapped_us": "Overlapped",
    "communication_us": "Communication",
    "free_us": "Free",
    "stage_us": "Stage",
    "bubble_us": "Bubble",
    "comm_exclude_receive_us": "Communication(Not Overlapped and Exclude Receive)",
    "preparing_us": "Preparing",
}
_DEVICE_TIMES = {
    "device_self_us": "Device Self Duration(us)",
    "device_total_us": "Device Total Duration(us)",
    "device_self_aicore_us": "Device Self Duration With AICore(us)",
    "device_total_aicore_us": "Device Total Duration With AICore(us)",
}
_TIMES = {
    "allocation_ns": "Allocation Time(us)",
    "release_ns": "Release Time(us)",
    "active_release_ns": "Active Release Time(us)",
    "duration_ns": "Duration(us)",
    "active_duration_ns": "Active Duration(us)",
}
# The titles say KB and MB; the vendor divides by powers of 1024.


def operator_details_table(details: pl.DataFrame | Rows) -> TextTable:
    """Return operator_details as text; a device time without any kernel is ``0``."""
    cells = [
        pl.col("name").alias("Name"),
        pl.col("input_shapes").str.replace_all(";", LINE_SEPARATOR, literal=True).alias("Input Shapes"),
        pl.col("call_stack").str.replace_all(";", LINE_SEPARATOR, literal=True).alias("Call Stack"),
        rounded_text(pl.col("host_self_us")).alias("Host Self Duration(us)"),
        rounded_text(pl.col("host_total_us")).alias("Host Total Duration(us)"),
        *(_sum_text(pl.col(name)).alias(title) for name, title in _DEVICE_TIMES.items()),
    ]
    times = ("Host Self Duration(us)", "Host Total Duration(us)", *_DEVICE_TIMES.values())
    return TextTable.from_rows(details, cells, times)


def _sum_text(us: pl.Expr, nothing: pl.Expr | None = None) -> pl.Expr:
    """Python's sum of nothing is the integer 0, which prints without decimals; *nothing*: default ``us == 0``."""
    return pl.when(us == 0 if nothing is None else nothing).then(pl.lit("0")).otherwise(rounded_text(us))


def step_trace_table(steps: pl.DataFrame) -> pl.DataFrame:
    """Return step_trace_time as text; times of kinds that did not occur are ``0``."""
    # Overlapped is a difference: a float wherever there was communication, so 0.0 and not 0.
    nothing = {"overlapped_us": pl.col("communication_us") == 0}
    return steps.select(
        pl.col("device_id").cast(pl.String).alias("Device_id"),
        pl.col("step").alias("Step"),
        *(_sum_text(pl.col(name), nothing.get(name)).alias(title) for name, title in _STEP_COLUMNS.items()),
    )


def operator_memory_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return operator_memory as text: sizes in KB and MB (powers of 1024); empty cells where no release was seen."""
    totals = [
        _megabytes(rows, f"{side}_total_{kind}_bytes", f"{side.capitalize()} Total {kind.capitalize()}(MB)")
        for side in ("allocation", "release")
        for kind in ("allocated", "reserved", "active")
    ]
    return rows.select(
        pl.col("name").alias("Name"),
        floats_text(rows["size_bytes"] / KB).alias("Size(KB)"),
        *(us_text(pl.col(name), "\t").alias(title) for name, title in _TIMES.items()),
        *totals,
        pl.col("stream").cast(pl.String).alias("Stream Ptr"),
        _device(),
    )


def memory_record_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return memory_record as text; totals that a component does not know are empty cells."""
    return rows.select(
        pl.col("component").alias("Component"),
        us_text(pl.col("time_ns"), "\t").alias("Timestamp(us)"),
        _megabytes(rows, "allocated_bytes", "Total Allocated(MB)"),
        _megabytes(rows, "reserved_bytes", "Total Reserved(MB)"),
        _megabytes(rows, "active_bytes", "Total Active(MB)"),
        pl.col("stream").cast(pl.String).alias("Stream Ptr"),
        _device(),
    )


def _megabytes(rows: pl.DataFrame, name: str, title: str) -> pl.Series:
    return floats_text(rows[name] / MB).alias(title)


def _device() -> pl.Expr:
    return pl.concat_str([pl.lit("NPU:"), pl.col("device_id").cast(pl.String)]).alias("Device Type")
