"""The csv files that MindSpore writes itself, as text tables (mindspore_profiler.md 12.2 to 12.4)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import polars as pl

from drynpu.analysis import mindspore_step_at
from drynpu.export._numbers import floats_text, us_text
from drynpu.export._op_summary import STARTS
from drynpu.export._text_table import TextTable
from drynpu.tables import Profile

__all__ = [
    "dataset_table",
    "mindspore_kernel_details",
    "mindspore_memory_record",
    "mindspore_operator_memory",
    "mindspore_step_trace_table",
    "operator_shapes_table",
]

_UNKNOWN = "N/A"
_KIB, _MIB, _RECORD_MB = 1024, 1024**2, 1000
_RENAMED = {
    "Op Name": "Name",
    "OP Type": "Type",
    "Task Type": "Accelerator Core",
    "Task Start Time(us)": "Start Time(us)",
    "Task Duration(us)": "Duration(us)",
    "Task Wait Time(us)": "Wait Time(us)",
    # The toolkits that MindSpore 2.7 came out with call blocks so.
    "Block Num": "Block Dim",
    "Mix Block Num": "Mix Block Dim",
}
_NOT_AT_LEVEL0 = frozenset(
    {
        "Mix Block Num",
        "HF32 Eligible",
        "Input Shapes",
        "Input Data Types",
        "Input Formats",
        "Output Shapes",
        "Output Data Types",
        "Output Formats",
        "Context ID",
    }
)
_STEP_COLUMNS = {
    "computing_ns": "Computing",
    "communication_not_overlapped_ns": "Communication(Not Overlapped)",
    "overlapped_ns": "Overlapped",
    "communication_ns": "Communication",
    "free_ns": "Free",
    "stage_ns": "Stage",
    "bubble_ns": "Bubble",
    "comm_exclude_receive_ns": "Communication(Not Overlapped and Exclude Receive)",
    "preparing_ns": "Preparing",
}
_NAMED_PAIRS = 2
_DATASET = "Dataset"
_NAME_PARTS = 3


def mindspore_kernel_details(
    summary: TextTable, launches: pl.DataFrame, steps: pl.DataFrame | None, *, level: str
) -> TextTable:
    """
    Return the rows of kernel_details.csv from those of ``op_summary``.

    A kernel is called ``<launch>/<kernel>`` where its launch is known. With *steps* (table of ``mindspore_steps``)
    there is a ``Step ID``: that of the launch, else of the kernel's own start.
    """
    known = launches.select("name", "start_ns", "launch", "launch_start_ns").unique(["name", "start_ns"], keep="last")
    columns = [name for name in summary.columns if name not in (STARTS, "Device_id")]
    if level == "level0":
        columns = [name for name in columns if name not in _NOT_AT_LEVEL0]
    name = pl.when(pl.col("launch").is_not_null()).then(pl.concat_str("launch", "Op Name", separator="/"))
    shown = [
        (name.otherwise("Op Name") if column == "Op Name" else pl.col(column)).alias(_RENAMED.get(column, column))
        for column in columns
    ]

    def change(part: pl.DataFrame) -> pl.DataFrame:
        told = part.join(
            known, left_on=["Op Name", STARTS], right_on=["name", "start_ns"], how="left", maintain_order="left"
        )
        details = told.select(shown)
        if steps is None:
            return details
        when = told.select(pl.coalesce("launch_start_ns", STARTS)).to_series()
        return details.insert_column(0, mindspore_step_at(when, steps).fill_null("").alias("Step ID"))

    return summary.map(change)


def _signed_us(ns: pl.Expr) -> pl.Expr:
    sign = pl.when(ns < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    return pl.concat_str([sign, us_text(ns.abs())])


def mindspore_step_trace_table(steps: pl.DataFrame) -> pl.DataFrame:
    """Return step_trace_time as text, table of ``mindspore_step_trace``; without communication two cells are ``0``."""
    bare = ("stage_ns", "bubble_ns")
    cells = []
    for name, title in _STEP_COLUMNS.items():
        nothing = pl.lit(name in bare) & (pl.col(name) == 0)
        cells.append(pl.when(nothing).then(pl.lit("0")).otherwise(_signed_us(pl.col(name))).alias(title))
    return steps.select(pl.col("step").alias("Step"), *cells)


def operator_shapes_table(profile: Profile) -> pl.DataFrame:
    """Return operator_details as text: a row per call, with the shapes as they were recorded."""
    return profile.frame("operator_shapes").select(
        pl.col("name").alias("Name"), pl.col("input_shapes").alias("Input Shapes")
    )


def dataset_table(profile: Profile) -> pl.DataFrame:
    """Return dataset as text: events of the data pipeline by what they did, with their average time in us."""
    events = profile.frame("framework_events")
    own = events.filter((pl.col("module") == _DATASET) & (pl.col("start_ns") < pl.col("end_ns")))
    part = pl.col("name").str.split("::")
    rows = (
        own.with_columns(part.alias("part"), pl.Series("custom", _custom(own["custom_info"]), dtype=pl.String))
        .filter(pl.col("part").list.len() == _NAME_PARTS)
        .with_columns(pl.col("part").list.get(1).alias("operation"), pl.col("part").list.get(2).alias("stage"))
        .group_by("operation", "stage", "custom", maintain_order=True)
        .agg(pl.len().alias("count"), (pl.col("end_ns") - pl.col("start_ns")).sum().alias("total_ns"))
    )
    averages = [_average_us(total_ns, count) for total_ns, count in rows.select("total_ns", "count").iter_rows()]
    return rows.select(
        pl.col("operation").alias("Operation"),
        pl.col("stage").alias("Stage"),
        pl.col("count").cast(pl.String).alias("Occurrences"),
        pl.Series("Avg. time (us)", averages, dtype=pl.String),
        pl.col("custom").alias("Custom Info"),
    )


def _average_us(total_ns: int, count: int) -> str:
    """Return the average as MindSpore's analysis rounds it: exact until it is a float, that to two places."""
    return str(round(float(Decimal(total_ns) / 1000 / count), 2))


def _custom(texts: pl.Series) -> list[str]:
    """Return ``k:v;k:v`` as the dictionary of its first two pairs; one pair alone counts for none."""
    shown = {text: _custom_text(text) for text in texts.unique().to_list()}
    return [shown[text] for text in texts.to_list()]


def _custom_text(text: str) -> str:
    if not text:
        return ""
    pairs = [pair.split(":") for pair in text.split(";") if pair]
    whole = len(pairs) >= _NAMED_PAIRS and all(len(pair) == _NAMED_PAIRS for pair in pairs[:_NAMED_PAIRS])
    return str({pair[0]: pair[1] for pair in pairs[:_NAMED_PAIRS]} if whole else {})


def mindspore_operator_memory(profile: Profile) -> pl.DataFrame:
    """
    Return operator_memory as text: allocations by time, each with the release that follows at its address.

    Sizes in KB and MB (powers of 1024), times Unix us. What was not released, and the two columns about memory in
    use, are ``N/A``; active memory is what is allocated.
    """
    key = ["address"]
    is_allocation = pl.col("size_bytes").is_not_null()
    numbered = (
        profile.frame("framework_memory")
        .with_columns(is_allocation.cum_sum().over(key).alias("group"))
        .filter(pl.col("group") > 0)
    )

    def of(chosen: pl.Expr, column: str) -> pl.Expr:
        return pl.col(column).filter(chosen).first()

    names = ("time_ns", "used_bytes", "reserved_bytes")
    rows = (
        numbered.group_by(*key, "group", maintain_order=True)
        .agg(
            *(of(is_allocation, name) for name in ("name", "size_bytes", "stream_ptr", "device_id", *names)),
            *(of(~is_allocation, name).alias(f"{name}_released") for name in names),
        )
        .sort("time_ns", maintain_order=True)
    )
    return pl.DataFrame(
        {
            "Name": rows["name"],
            "Size(KB)": floats_text(rows["size_bytes"] / _KIB),
            "Allocation Time(us)": _float_us(rows["time_ns"]),
            "Release Time(us)": _float_us(rows["time_ns_released"]),
            "Active Release Time(us)": pl.Series([_UNKNOWN] * rows.height, dtype=pl.String),
            "Duration(us)": _float_us(rows["time_ns_released"] - rows["time_ns"]),
            "Active Duration(us)": pl.Series([_UNKNOWN] * rows.height, dtype=pl.String),
            **_totals(rows, "Allocation", ""),
            **_totals(rows, "Release", "_released"),
            "Stream Ptr": rows["stream_ptr"].cast(pl.String),
            "Device Type": rows.select(pl.format("NPU:{}", "device_id")).to_series(),
        }
    )


def _totals(rows: pl.DataFrame, side: str, suffix: str) -> dict[str, pl.Series]:
    used = _known(rows[f"used_bytes{suffix}"] / _MIB)
    return {
        f"{side} Total Allocated(MB)": used,
        f"{side} Total Reserved(MB)": _known(rows[f"reserved_bytes{suffix}"] / _MIB),
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
    return floats_text(values).fill_null(_UNKNOWN)


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
            *((pl.col(f"{name}_bytes") / _KIB).alias(f"{name}_kb") for name in ("allocated", "reserved", "active")),
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
        profile.npu_mem.filter(pl.col("event") == 0).select(
            pl.lit("APP").alias("component"),
            "time_ns",
            us_text(pl.col("time_ns")).alias("time"),
            pl.lit(0.0).alias("allocated_kb"),
            ((pl.col("ddr_bytes") + pl.col("hbm_bytes")) / _KIB).alias("reserved_kb"),
            pl.lit(0.0).alias("active_kb"),
            pl.lit(device).alias("device"),
        )
    )
