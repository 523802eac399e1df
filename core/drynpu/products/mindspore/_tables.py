"""The csv files that MindSpore writes itself, as text tables (mindspore_profiler.md 12.2 to 12.4)."""

from __future__ import annotations

from decimal import Decimal

import polars as pl

from drynpu.analysis import mindspore_step_at
from drynpu.deliverables.tasks.op_summary import STARTS
from drynpu.tables import Profile
from drynpu.writers.number_text import us_text
from drynpu.writers.text_table import TextTable

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
# The vendor's reader looks at two key:value pairs of an event and drops the rest.
_NAMED_PAIRS = 2
_DATASET = "Dataset"
# <module>::<operation>::<stage>
_NAME_PARTS = 3


def mindspore_kernel_details(
    summary: TextTable, launches: pl.DataFrame, steps: pl.DataFrame | None, *, level: str
) -> TextTable:
    """
    Return the rows of kernel_details.csv from the rows of ``op_summary``.

    A kernel is called ``<launch>/<kernel>`` where its launch is known. With *steps* (table of ``mindspore_steps``)
    there is a ``Step ID``: the step of the launch, else of the kernel's own start.
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
        launched = part.with_columns(pl.col("Op Name").cast(pl.String)).join(
            known, left_on=["Op Name", STARTS], right_on=["name", "start_ns"], how="left", maintain_order="left"
        )
        details = launched.select(shown)
        if steps is None:
            return details
        when = launched.select(pl.coalesce("launch_start_ns", STARTS)).to_series()
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
    steps = events.filter((pl.col("module") == _DATASET) & (pl.col("start_ns") < pl.col("end_ns")))
    steps = steps.sort("position", maintain_order=True)  # rows stand as MindSpore's analysis meets them in the file
    part = pl.col("name").str.split("::")
    rows = (
        steps.with_columns(part.alias("part"), pl.Series("custom", _custom(steps["custom_info"]), dtype=pl.String))
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
