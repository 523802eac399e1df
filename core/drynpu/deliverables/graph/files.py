"""Iterations and graphs: step_trace, fusion_op, static_op_mem, and what op_summary adds (cann_msprof.md 4, 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl
from attrs import evolve

from drynpu.analysis import graph_names, infer_ids, iteration_trace, op_statistic
from drynpu.deliverables.graph._step_trace import step_trace_blocks
from drynpu.deliverables.tasks.op_summary import STARTS
from drynpu.deliverables.tasks.statistics import host_device, op_statistic_table
from drynpu.deliverables.units import KB
from drynpu.tables import NO_MODEL, Profile
from drynpu.writers.files import REPEATED
from drynpu.writers.number_text import UNKNOWN, Writer, duration_text, float_text, statistic_text, us_text
from drynpu.writers.text_table import TextTable
from drynpu.writers.trace_json import Events, JsonStyle

Block = Events | Sequence[str]


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return step_trace, fusion_op and static_op_mem; a table without rows has no data."""
    return {
        "step_trace": _step_trace(profile, writer),
        "fusion_op": _fusion_op(profile, writer),
        "static_op_mem": _static_memory(profile),
    }


def _or_unknown(text: pl.Expr) -> pl.Expr:
    return text.fill_null(UNKNOWN)


def _step_trace(profile: Profile, writer: Writer) -> pl.DataFrame:
    trace = iteration_trace(profile)
    if writer is Writer.PYTHON:  # to it a length of 0 is none
        trace = trace.with_columns(pl.col("forward_backward_ns", "refresh_ns", "augmentation_ns").replace(0, None))
    waited = duration_text(pl.col("augmentation_ns"), writer)
    if writer is Writer.NATIVE:
        # Without an earlier iteration the native writer prints the zero it started from (cann_msprof.md 7.6).
        waited = pl.when(pl.col("forward_ns").is_not_null()).then(waited.fill_null("0.000"))
    table = trace.select(
        pl.col("device_id").cast(pl.String).alias("Device_id"),
        pl.col("iteration").cast(pl.String).alias("Iteration ID"),
        _or_unknown(us_text(pl.col("forward_ns"), "\t")).alias("FP Start(us)"),
        _or_unknown(us_text(pl.col("backward_ns"), "\t")).alias("BP End(us)"),
        us_text(pl.col("end_ns"), "\t").alias("Iteration End(us)"),
        duration_text(pl.col("iteration_ns"), writer).alias("Iteration Time(us)"),
        _or_unknown(duration_text(pl.col("forward_backward_ns"), writer)).alias("FP to BP Time(us)"),
        _or_unknown(duration_text(pl.col("refresh_ns"), writer)).alias("Iteration Refresh(us)"),
        _or_unknown(waited).alias("Data Aug Bound(us)"),
        pl.col("model_id").cast(pl.String).alias("Model ID"),
    )
    return pl.concat([table, _reduce_cells(profile, trace, writer)], how="horizontal")


def _reduce_cells(profile: Profile, trace: pl.DataFrame, writer: Writer) -> pl.DataFrame:
    """Return a start and a duration column for every all-reduce of the iteration that has most of them."""
    key = ["device_id", "model_id", "iteration"]
    reduces = profile.frame("reduces").select(
        *key,
        pl.int_range(pl.len()).over(key).alias("place"),
        us_text(pl.col("start_ns"), "\t").alias("start"),
        duration_text(pl.col("end_ns") - pl.col("start_ns"), writer).alias("duration"),
    )
    columns = []
    for place in range(reduces["place"].unique().len()):
        reduce = reduces.filter(pl.col("place") == place)
        cells = trace.select(key).join(reduce, on=key, how="left", maintain_order="left")
        columns += [
            cells[name].fill_null(UNKNOWN).alias(f"{title}{REPEATED}{place}")
            for name, title in (("start", "Reduce Start(us)"), ("duration", "Reduce Duration(us)"))
        ]
    return pl.DataFrame(columns)


def _fusion_op(profile: Profile, writer: Writer) -> pl.DataFrame:
    names = graph_names(profile)
    model = pl.col("model_id").replace_strict(list(names), list(names.values()), default="", return_dtype=pl.String)
    return profile.frame("fusion_ops").select(
        pl.lit(host_device(writer, profile.device_ids)).alias("Device_id"),
        model.replace("", UNKNOWN).alias("Model Name"),
        pl.col("model_id").cast(pl.String).alias("Model ID"),
        pl.col("name").alias("Fusion Op"),
        pl.col("original_ops").alias("Original Ops"),
        *(
            statistic_text(pl.col(f"{part}_bytes") / KB, writer).alias(f"Memory {part.title()}(KB)")
            for part in ("input", "output", "weight", "workspace", "total")
        ),
    )


def _static_memory(profile: Profile) -> pl.DataFrame:
    # Without a dynamic graph around it the vendor shows the id 0 instead of a name.
    return profile.frame("static_memory").select(
        pl.lit("host").alias("Device_id"),
        pl.col("name").replace("", "TOTAL").alias("Op Name"),
        pl.col("dynamic_op").replace("", "0").alias("Model Name"),
        pl.col("graph_id").cast(pl.String).alias("Graph ID"),
        pl.col("first_node").cast(pl.String).alias("Node Index Start"),
        pl.col("last_node").cast(pl.String).alias("Node Index End"),
        float_text(pl.col("size_bytes") / KB).alias("Size(KB)"),
    )


def layers(profile: Profile, style: JsonStyle, writer: Writer) -> Iterator[Block]:
    """Yield the Step Trace rows inside Ascend Hardware."""
    yield from step_trace_blocks(profile, style, writer)


def trace_files(profile: Profile, style: JsonStyle, writer: Writer) -> Mapping[str, Iterator[Block]]:
    """Return the events of step_trace_*.json: the same as in the timeline."""
    return {"step_trace": step_trace_blocks(profile, style, writer)}


def is_graph_export(profile: Profile, writer: Writer) -> bool:
    """
    Return whether op_summary and op_statistic name graphs.

    So does the Python writer where task ids are not unique, that is on the older chips, for anything but single
    operators (cann_msprof.md 1.9, 4.2; Ascend/msprof ProfilingScene.is_graph_export).
    """
    by_graph = writer is Writer.PYTHON and not profile.platform.tasks.unique_ids
    return by_graph and bool((profile.frame("iterations")["model_id"] != NO_MODEL).any())


def with_graph_columns(profile: Profile, table: TextTable, writer: Writer) -> TextTable:
    """Return op_summary with ``Model Name`` and ``Infer ID`` where graphs are named; unchanged elsewhere."""
    if not is_graph_export(profile, writer):
        return table
    summary = table.frame()
    names = graph_names(profile)
    starts = summary.select(
        pl.col("Device_id").cast(pl.Int64).alias("device_id"),
        pl.col("Model ID").cast(pl.Int64, strict=False).alias("model_id"),
        pl.col(STARTS),
    )
    shown = starts["model_id"].replace_strict(
        list(names), list(names.values()), default=UNKNOWN, return_dtype=pl.String
    )
    infer = infer_ids(profile, starts).cast(pl.String).fill_null(UNKNOWN)
    before, after = summary.columns.index("Model ID"), summary.columns.index("Stream ID")
    columns = summary.get_columns()
    columns.insert(after + 1, infer.alias("Infer ID"))
    columns.insert(before, shown.alias("Model Name"))
    return TextTable.from_rows(pl.DataFrame(columns), [pl.all()])


def per_graph_op_statistic(profile: Profile, writer: Writer) -> pl.DataFrame | None:
    """Return op_statistic graph by graph with ``Model Name``, ``None`` where graphs are not named."""
    if not is_graph_export(profile, writer):
        return None
    names = graph_names(profile)
    parts = []
    for model in profile.compact("kernels", "model_id")["model_id"].unique().sort().to_list():
        part = evolve(profile, kernels=profile.kernels.filter(pl.col("model_id") == model))
        table = op_statistic_table(op_statistic(part), writer)
        parts.append(table.insert_column(1, pl.lit(names.get(model, UNKNOWN)).alias("Model Name")))
    return pl.concat(parts) if parts else None
