"""csv results to tables: kernels, tasks, statistics, steps, memory (cann_msprof.md 4.2, torch_npu_profiler.md 4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import polars as pl

from drynpu.analysis import (
    API_STATISTIC,
    MEMORY_RECORD,
    OP_STATISTIC,
    OPERATOR_DETAILS,
    OPERATOR_MEMORY,
    STEP_RANGES,
    STEP_TRACE,
)
from drynpu.deliverables.npu_memory.tables import NPU_MEM, NPU_MODULE_MEM
from drynpu.layouts.npu_memory import MODULE_NAMES
from drynpu.products.results._csv import numbers, read_csv
from drynpu.products.results._spellings import csv_columns, spellings, typed
from drynpu.products.results._tables import ResultTables
from drynpu.products.torch._db_run import TOOLKIT_NAME
from drynpu.tables import COMMUNICATION_OPS, KERNELS, NO_CONTEXT, NO_MODEL, TASKS

LINE_ENDS = r";\r?\n"
"""Between the entries of a list: also a line end, which copying a file may have shortened."""

_STATED = {
    "step_trace": STEP_TRACE,
    "op_statistic": OP_STATISTIC,
    "api_statistic": API_STATISTIC,
    "operator_details": OPERATOR_DETAILS,
    "memory_record": MEMORY_RECORD,
}


def read_text(files: Mapping[str, Sequence[Path]], devices: Collection[int] = ()) -> ResultTables:
    """
    Return the tables of the csv files of each kind.

    A file of one device may not name it: it is the only one of *devices*, or the only one that other files name.
    """
    notes: list[str] = []
    frames = {kind: read_csv(kind, paths, notes) for kind, paths in files.items()}
    device = _only_device(frames, devices)
    frames = {kind: frame.with_columns(_device(frame, device)) for kind, frame in frames.items() if frame.height}
    tables: dict[str, pl.DataFrame] = {}
    derived: dict[str, pl.DataFrame] = {}
    rows = frames.get("kernels", pl.DataFrame())
    if rows.height:
        tables |= _ran(rows)
        derived["step_ranges"] = _steps(rows)
    if frames.get("task_times", pl.DataFrame()).height:
        tables["tasks"] = _tasks(frames["task_times"])
    for kind, schema in _STATED.items():
        if frames.get(kind, pl.DataFrame()).height:
            derived[kind] = typed(frames[kind], schema, **_lists(frames[kind]))
    if frames.get("operator_memory", pl.DataFrame()).height:
        derived["operator_memory"] = operator_memory(frames["operator_memory"])
    tables |= _samples(frames, notes)
    return ResultTables(tables=tables, derived=derived, facts=_facts(frames), notes=tuple(notes))


def _lists(rows: pl.DataFrame) -> dict[str, pl.Expr]:
    """Return lists of arguments and frames without the line ends that files put between them."""
    names = [name for name in ("input_shapes", "call_stack") if name in rows.columns]
    return {name: pl.col(name).str.replace_all(LINE_ENDS, ";") for name in names}


def _only_device(frames: Mapping[str, pl.DataFrame], devices: Collection[int]) -> int:
    named = [frame["device_id"] for frame in frames.values() if "device_id" in frame.columns]
    known = set(devices) or {device for column in named for device in column.drop_nulls().unique().to_list()}
    return known.pop() if len(known) == 1 else 0


def _device(rows: pl.DataFrame, only: int) -> pl.Expr:
    known = pl.col("device_id") if "device_id" in rows.columns else pl.lit(None, pl.Int64)
    return known.fill_null(only).alias("device_id")


def _ran(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return kernels and collectives of op_summary or kernel_details, in order of device and start."""
    rows = rows.filter(pl.col("start_ns").is_not_null())
    rows = rows.sort("device_id", "start_ns", maintain_order=True)
    columns = rows.columns
    kind = pl.col("task_type") if "task_type" in columns else pl.lit("")
    is_collective = kind.is_in(spellings()["task_types"]["collective"]) & ~pl.col("name").str.ends_with("AivKernel")
    named = {column.name for column in csv_columns("kernels")}
    counters = [name for name in columns if name not in named]
    kernels = rows.filter(~is_collective)
    detailed = "hf32" in columns
    table = typed(
        kernels,
        KERNELS,
        batch_id=pl.lit(0),
        hf32=pl.col("hf32") == "YES" if detailed else pl.lit(False),
        context_id=_filled("context_id", columns, NO_CONTEXT),
        model_id=_filled("model_id", columns, NO_MODEL),
        stream_id=_filled("stream_id", columns, -1),
        task_id=_filled("task_id", columns, -1),
        mix_block_num=_filled("mix_block_num", columns, 0),
        block_num=_filled("block_num", columns, 0),
        duration_ns=pl.col("duration_ns").fill_null(0),  # as records have it where the time is not known
        connection_id=pl.lit(-1),
        node_start_ns=pl.lit(-1),
        node_tid=pl.lit(-1),
        **{f"{side}_shapes": _unquoted(f"{side}_shapes", columns) for side in ("input", "output")},
    )
    measured = {name: numbers(kernels[name]).alias(name) for name in counters}
    table = table.with_columns(column for column in measured.values() if column.null_count() < column.len())
    return {"kernels": table, "communication_ops": _collectives(rows.filter(is_collective))}


def _filled(name: str, columns: Sequence[str], otherwise: int) -> pl.Expr:
    return pl.col(name).fill_null(otherwise) if name in columns else pl.lit(otherwise, pl.Int64)


def _unquoted(name: str, columns: Sequence[str]) -> pl.Expr:
    """Return shapes without the quotes that the cell carries, so that spreadsheets take them as text."""
    return pl.col(name).str.strip_chars('"') if name in columns else pl.lit("")


def _collectives(rows: pl.DataFrame) -> pl.DataFrame:
    return typed(
        rows,
        COMMUNICATION_OPS,
        connection_id=pl.lit(-1),
        model_id=_filled("model_id", rows.columns, NO_MODEL),
        op_type=pl.col("op_type") if "op_type" in rows.columns else pl.lit(""),
    )


def _steps(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the range on the device of each step that the file names; of the host it tells nothing."""
    if "step" not in rows.columns:
        return pl.DataFrame(schema=STEP_RANGES)
    numbered = rows.with_columns(pl.col("step").cast(pl.Int64, strict=False).alias("step_id"))
    ends = pl.col("start_ns") + pl.col("duration_ns")
    ranges = (
        numbered.filter(pl.col("step_id").is_not_null())
        .group_by("step_id")
        .agg(pl.col("start_ns").min().alias("device_start_ns"), ends.max().alias("device_end_ns"))
    )
    return typed(ranges.sort("device_start_ns"), STEP_RANGES, op_id=pl.lit(-1), tid=pl.lit(-1))


def _tasks(rows: pl.DataFrame) -> pl.DataFrame:
    """Return task_time.csv; it does not tell what launched a task."""
    return typed(
        rows,
        TASKS,
        batch_id=pl.lit(0),
        context_id=pl.lit(NO_CONTEXT),
        model_id=pl.lit(NO_MODEL),
        connection_id=pl.lit(-1),
        launch_type=pl.col("kernel_type"),
    ).sort("device_id", "start_ns", maintain_order=True)


def operator_memory(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of operator memory with the component that a name tells."""
    of_toolkit = pl.col("name").str.starts_with(TOOLKIT_NAME)
    component = pl.when(of_toolkit).then(pl.lit("GE")).otherwise(pl.lit("PTA"))
    return typed(rows, OPERATOR_MEMORY, component=component)


def _samples(frames: Mapping[str, pl.DataFrame], notes: list[str]) -> dict[str, pl.DataFrame]:
    tables = {}
    memory = frames.get("npu_mem", pl.DataFrame())
    if memory.height:
        tables["npu_mem"] = typed(memory, NPU_MEM, event=memory_event())
    modules = frames.get("npu_module_mem", pl.DataFrame())
    if modules.height:
        numbered = spellings()["modules"] | {name: number for number, name in MODULE_NAMES.items()}
        unknown = sorted(set(modules["module"]) - set(numbered))
        if unknown:
            notes.append(f"npu_module_mem: no number is known of {', '.join(unknown)}, which is shown as Unknown")
        module = pl.col("module").replace_strict(numbered, default=None, return_dtype=pl.Int64)
        tables["npu_module_mem"] = typed(modules, NPU_MODULE_MEM, module_id=module)
    return tables


def memory_event() -> pl.Expr:
    """Return 0 for samples of the process, 1 for samples of the device, as NPU_MEM counts them."""
    return (pl.col("kind").str.to_lowercase() != "app").cast(pl.Int64)


def _facts(frames: Mapping[str, pl.DataFrame]) -> dict[str, object]:
    """Return level0 where kernels have no operator types, else nothing: the levels above look alike."""
    rows = frames.get("kernels", pl.DataFrame())
    if not rows.height:
        return {}
    known = "op_type" in rows.columns and (rows["op_type"] != "").any()
    return {} if known else {"level": "level0"}
