"""operator_memory.csv and memory_record.csv of MindSpore as text tables (mindspore_profiler.md 12.4)."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from drynpu.analysis import framework_lives
from drynpu.deliverables.units import KB, MB
from drynpu.tables import Profile
from drynpu.writers.number_text import UNKNOWN, floats_text, us_text
from drynpu.writers.text_table import TextTable

# operator_memory has powers of 1024; memory_record has MB of 1000 KB, each of 1024 bytes, as the vendor's.
_RECORD_MB = 1000


def mindspore_operator_memory(profile: Profile) -> pl.DataFrame:
    """
    Return operator_memory as text: allocations by time, each with the release that follows at its address.

    Sizes in KB and MB (powers of 1024), times Unix us. What was not released, and the two columns about memory in
    use, are ``N/A``; active memory is what is allocated.
    """
    rows = framework_lives(profile.frame("framework_memory"))
    return pl.DataFrame(
        {
            "Name": rows["name"],
            "Size(KB)": floats_text(rows["size_bytes"] / KB),
            "Allocation Time(us)": _float_us(rows["time_ns"]),
            "Release Time(us)": _float_us(rows["time_ns_released"]),
            "Active Release Time(us)": pl.Series([UNKNOWN] * rows.height, dtype=pl.String),
            "Duration(us)": _float_us(rows["time_ns_released"] - rows["time_ns"]),
            "Active Duration(us)": pl.Series([UNKNOWN] * rows.height, dtype=pl.String),
            **_totals(rows, "Allocation", ""),
            **_totals(rows, "Release", "_released"),
            "Stream Ptr": rows["stream_ptr"].cast(pl.String),
            "Device Type": rows.select(pl.format("NPU:{}", "device_id")).to_series(),
        }
    )


def _totals(rows: pl.DataFrame, side: str, suffix: str) -> dict[str, pl.Series]:
    used = _known(rows[f"used_bytes{suffix}"] / MB)
    return {
        f"{side} Total Allocated(MB)": used,
        f"{side} Total Reserved(MB)": _known(rows[f"reserved_bytes{suffix}"] / MB),
        f"{side} Total Active(MB)": used,
    }


def _float_us(ns: pl.Series) -> pl.Series:
    """Return us as the nearest float prints; whole us and the rest apart, since ns of our days fit no float."""
    whole, rest = ns // 1000, ns % 1000
    return _known(whole.cast(pl.Float64) + _quotient(rest.cast(pl.Float64), 1000))


def _quotient(values: pl.Series, divisor: int) -> pl.Series:
    """Divide exactly: polars divides by a constant through its reciprocal, which shows in the last digit."""
    quotient = pl.Series(values.name, values.fill_null(0.0).to_numpy() / divisor)
    known: pl.Series = pl.select(pl.when(values.is_not_null()).then(quotient)).to_series()
    return known


def _known(values: pl.Series) -> pl.Series:
    return floats_text(values).fill_null(UNKNOWN)


_RECORD = pl.Schema(
    {
        "component": pl.String,
        "time_ns": pl.Int64,
        "time": pl.String,
        "allocated_kb": pl.Float64,
        "reserved_kb": pl.Float64,
        "active_kb": pl.Float64,
        "device": pl.String,
    }
)


def mindspore_memory_record(profile: Profile, tables: Mapping[str, pl.DataFrame | TextTable]) -> pl.DataFrame:
    """
    Return memory_record as text: MindSpore and GE by time, each with both together, then samples of the process.

    MB are 1000 KB of 1024 bytes, as the vendor counts them here.

    Parameters
    ----------
    tables:
        The toolkit's csv tables; ``memory_record`` are the rows of GE, as text.
    """
    rank = f"NPU:{max(profile.rank_id, 0)}"
    records = pl.concat([_toolkit_records(tables), _framework_records(profile, rank)]).sort(
        "time_ns", maintain_order=True
    )
    both = _together(records, rank)
    merged = pl.concat(
        [
            records.with_row_index("row").with_columns(pl.lit(0).alias("after")),
            both.with_row_index("row").with_columns(pl.lit(1).alias("after")),
        ]
    ).sort("row", "after")
    rows = pl.concat([merged.select(_RECORD.names()), _process_records(profile, rank)])
    return pl.DataFrame(
        {
            "Component": rows["component"],
            "Timestamp(us)": rows["time"],
            "Total Allocated(MB)": floats_text(_quotient(rows["allocated_kb"], _RECORD_MB)),
            "Total Reserved(MB)": floats_text(_quotient(rows["reserved_kb"], _RECORD_MB)),
            "Total Active(MB)": floats_text(_quotient(rows["active_kb"], _RECORD_MB)),
            "Device Type": rows["device"],
        }
    )


def _typed(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(pl.col(name).cast(dtype) for name, dtype in _RECORD.items())


def _short_us(ns: pl.Expr) -> pl.Expr:
    """Return us without zeros at the end, as a decimal quotient has none."""
    return us_text(ns).str.strip_chars_end("0").str.strip_chars_end(".")


def _toolkit_records(tables: Mapping[str, pl.DataFrame | TextTable]) -> pl.DataFrame:
    table = tables.get("memory_record", pl.DataFrame())
    rows = table.frame() if isinstance(table, TextTable) else table
    if rows.is_empty():
        return pl.DataFrame(schema=_RECORD)
    thousandths = pl.col("Timestamp(us)").str.strip_chars("\t").str.replace(".", "", literal=True)
    return _typed(
        rows.select(
            pl.col("Component").alias("component"),
            thousandths.cast(pl.Int64).alias("time_ns"),
            pl.col("Timestamp(us)").alias("time"),
            pl.col("Total Allocated(KB)").cast(pl.Float64, strict=False).fill_null(0.0).alias("allocated_kb"),
            pl.col("Total Reserved(KB)").cast(pl.Float64, strict=False).fill_null(0.0).alias("reserved_kb"),
            pl.lit(0.0).alias("active_kb"),
            pl.col("Device").alias("device"),
        )
    )


def _framework_records(profile: Profile, device: str) -> pl.DataFrame:
    return _typed(
        profile.frame("memory_totals").select(
            pl.lit("MindSpore").alias("component"),
            "time_ns",
            _short_us(pl.col("time_ns")).alias("time"),
            *((pl.col(f"{name}_bytes") / KB).alias(f"{name}_kb") for name in ("allocated", "reserved", "active")),
            pl.lit(device).alias("device"),
        )
    )


def _together(records: pl.DataFrame, device: str) -> pl.DataFrame:
    """Return for each record itself plus the last one before it of the other component."""
    is_toolkit = pl.col("component") == "GE"

    def other(column: str) -> pl.Expr:
        last_toolkit = pl.when(is_toolkit).then(column).forward_fill().fill_null(0.0)
        last_framework = pl.when(~is_toolkit).then(column).forward_fill().fill_null(0.0)
        return pl.when(is_toolkit).then(last_framework).otherwise(last_toolkit)

    return _typed(
        records.with_columns(
            pl.lit("MindSpore+GE").alias("component"),
            pl.col("time").str.strip_chars("\t"),
            *((pl.col(name) + other(name)).alias(name) for name in ("allocated_kb", "reserved_kb", "active_kb")),
            pl.lit(device).alias("device"),
        )
    )


def _process_records(profile: Profile, device: str) -> pl.DataFrame:
    return _typed(
        profile.frame("npu_mem")
        .filter(pl.col("event") == 0)
        .select(
            pl.lit("APP").alias("component"),
            "time_ns",
            us_text(pl.col("time_ns")).alias("time"),
            pl.lit(0.0).alias("allocated_kb"),
            ((pl.col("ddr_bytes") + pl.col("hbm_bytes")) / KB).alias("reserved_kb"),
            pl.lit(0.0).alias("active_kb"),
            pl.lit(device).alias("device"),
        )
    )
