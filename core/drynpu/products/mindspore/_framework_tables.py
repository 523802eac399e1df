"""MindSpore's ``FRAMEWORK`` files to tables (mindspore_profiler.md 11)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
from attrs import evolve

from drynpu.analysis.launches import LAUNCH_NAMES
from drynpu.arrays import U16
from drynpu.layouts import framework_mindspore as mindspore_facts
from drynpu.layouts.framework_mindspore import (
    MS_ABSENT,
    MS_EVENTS,
    MS_MODULES,
    MS_STAGES,
    MsMemoryField,
    MsOpRangeField,
    MsShapesField,
)
from drynpu.layouts.operator_memory import NPU_DEVICE_TYPE
from drynpu.products._framework_files import read_tlv_file
from drynpu.products._product import FrameworkTables, ToUnix, no_framework
from drynpu.products.mindspore._minddata_tables import load_minddata
from drynpu.products.mindspore._schemas import SCHEMAS
from drynpu.raw import ClockAnchors, TlvRecords
from drynpu.tables import ALLOCATIONS, HOST_OPS, QUEUE
from drynpu.tables.columns import empty, frame, i64

# Name of the events that put an operator to another thread; they begin a flow.
FLOW = "flow"
# <name>;<type>;[anything;]<runs>: names of operators hold no semicolon, runs are separated by blanks.
_CPU_LINE = re.compile(r"^(?P<name>[^;]*);(?P<type>[^;]*);(?:.*;)?(?P<runs>[^;]*)$")

_GIGA, _MINDSPORE_HZ = 1_000_000_000, 100_000_000
"""MindSpore takes its counts for 100 MHz where no PROF directory gives a rate, and then counts from 1970."""


def has_mindspore(directory: Path) -> bool:
    """Tell whether the files of *directory* are MindSpore's."""
    return any(directory.glob("mindspore.*"))


def mindspore_clock(info: Mapping[str, object], clock: ClockAnchors | None, notes: list[str]) -> ToUnix:
    """Return the conversion of FRAMEWORK times, which are counter ticks, to Unix ns (mindspore_profiler.md 10)."""
    del info, notes
    if clock is None:
        return lambda raw: raw * (_GIGA // _MINDSPORE_HZ)
    return clock.host_to_unix if clock.host_hz else evolve(clock, host_hz=_MINDSPORE_HZ).host_to_unix


def load_mindspore(directory: Path, to_unix: ToUnix) -> FrameworkTables:
    """
    Read the files of *directory*; an absent file gives an empty table.

    Launches (events called after one) are the task queue: what a flow puts in, and what the launching thread takes
    out. Every other event is an operator.
    """
    notes: list[str] = []
    tables = dict(no_framework().tables)
    further: dict[str, pl.DataFrame] = {}
    records = read_tlv_file(directory / "mindspore.op_range", mindspore_facts.MS_OP_RANGE, notes)
    if records is not None:
        further["framework_events"] = _events(records, to_unix, notes)
        tables["host_ops"], tables["queue"] = _operators(further["framework_events"])
    shapes = read_tlv_file(directory / "mindspore.record_shapes", mindspore_facts.MS_RECORD_SHAPES, notes)
    if shapes is not None:
        further["operator_shapes"] = _shapes(shapes)
    memory = read_tlv_file(directory / "mindspore.memory_usage", mindspore_facts.MS_MEMORY_USAGE, notes)
    if memory is not None:
        further["framework_memory"] = _memory(memory)
        tables["allocations"] = _allocations(further["framework_memory"])
    further["host_cpu_ops"] = _cpu_ops(_one(directory, "cpu_op_execute_timestamp_*.txt"), notes)
    further["memory_totals"] = _totals(_one(directory, "cpu_ms_memory_record_*.txt"), notes)
    further |= load_minddata(directory, notes)
    filled = {name: table for name, table in further.items() if table.height}
    return FrameworkTables(tables=tables, group_tables=filled, notes=tuple(notes))


def _one(directory: Path, pattern: str) -> Path | None:
    return min(directory.glob(pattern), default=None)


def _text(records: TlvRecords, number: int) -> pl.Series:
    """Return text field *number* of every record, ``""`` where it has none."""
    words = pl.Series(["", *(entry.get(number, "") for entry in records.texts)], dtype=pl.String)
    return words.gather(pl.Series(np.asarray(records.text_index, np.int64) + 1, dtype=pl.UInt32))


def _words(words: tuple[str, ...], index: U16) -> pl.Series:
    """Return the word behind each index; the first one, as the vendor's reader, where there is none."""
    known = np.where(index < len(words), index, 0).astype(np.uint32)
    return pl.Series(words, dtype=pl.String).gather(pl.Series(known))


def _events(records: TlvRecords, to_unix: ToUnix, notes: list[str]) -> pl.DataFrame:
    fixed = records.fixed
    shown = pl.DataFrame(
        {
            "name": _text(records, MsOpRangeField.NAME),
            "full_name": _text(records, MsOpRangeField.FULL_NAME),
            "module_graph": _text(records, MsOpRangeField.MODULE),
            "event_graph": _text(records, MsOpRangeField.EVENT),
            "module": _words(MS_MODULES, fixed["module"]),
            "event": _words(MS_EVENTS, fixed["event"]),
            "stage": _words(MS_STAGES, fixed["stage"]),
            **{flag: fixed[flag] for flag in ("is_graph_data", "is_stage", "is_stack")},
        }
    ).select(_shown_name().alias("name"), pl.col("module_graph").alias("module"))
    flow = fixed["flow_id"]
    table = frame(
        SCHEMAS["framework_events"],
        {
            "name": shown["name"],
            "module": shown["module"],
            "start_ns": to_unix(i64(fixed["start"])),
            "end_ns": to_unix(i64(fixed["end"])),
            "pid": i64(fixed["pid"]),
            "tid": i64(fixed["tid"]),
            "step": i64(fixed["step"]),
            "flow_id": pl.Series(i64(flow))
            .to_frame("id")
            .select(pl.when(pl.Series(flow != np.uint64(MS_ABSENT))).then("id"))["id"],
            "is_flow": shown["name"] == FLOW,
            "is_stack": fixed["is_stack"],
            "custom_info": _text(records, MsOpRangeField.CUSTOM_INFO),
            "position": np.arange(len(fixed), dtype=np.int64),
        },
    )
    begun = pl.Series(fixed["start"] != 0)
    if not begun.all():
        notes.append(f"mindspore.op_range: {len(begun) - begun.sum()} events without a start were left out")
    return table.filter(begun).sort("start_ns", "end_ns", descending=[False, True], maintain_order=True)


def _shown_name() -> pl.Expr:
    return (
        pl.when("is_stack")
        .then("name")
        .when("is_graph_data")
        .then(pl.concat_str("module_graph", "event_graph", "name", separator="::"))
        .when("is_stage")
        .then("stage")
        .when(pl.col("name") == FLOW)
        .then("full_name")
        .otherwise(pl.concat_str("module", "event", "full_name", separator="::"))
    )


def _operators(events: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the operators, and the task queue that flows and launches are."""
    launch = pl.col("name").str.contains(LAUNCH_NAMES)
    flows = events.filter(pl.col("is_flow") & pl.col("flow_id").is_not_null())
    launches = events.filter(launch)
    # A launch that no flow leads to is the only entry of its queue, so it gets a number that no flow has.
    alone = -1 - pl.int_range(pl.len(), dtype=pl.Int64)
    sides = [
        rows.select(
            pl.col("flow_id").fill_null(alone).alias("correlation_id"),
            pl.lit(side).alias("side"),
            "name",
            "start_ns",
            "end_ns",
            "pid",
            "tid",
        )
        for side, rows in (("enqueue", flows), ("dequeue", launches))
    ]
    queue = pl.concat(sides).sort("start_ns", maintain_order=True)
    rest = events.filter(~launch & ~pl.col("is_flow"))
    # A step of the schedule and an annotation are known by their own name, not by how they were recorded.
    name = pl.col("name").str.strip_prefix("Python::PythonObserved::")
    operators = rest.select(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("op_id"),
        name,
        "start_ns",
        "end_ns",
        pl.lit(-1).alias("sequence"),
        "pid",
        "tid",
        *(pl.lit(0).alias(column) for column in ("fwd_tid", "scope")),
        pl.lit(False).alias("is_async"),
        *(pl.lit("").alias(column) for column in ("input_dtypes", "input_shapes", "call_stack", "module_hierarchy")),
    )
    return _typed(operators, HOST_OPS), _typed(queue, QUEUE)


def _typed(table: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    return table.select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def _shapes(records: TlvRecords) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": _text(records, MsShapesField.NAME),
            "input_shapes": _text(records, MsShapesField.INPUT_SHAPES),
            "input_dtypes": _text(records, MsShapesField.INPUT_TYPES),
        },
        schema=SCHEMAS["operator_shapes"],
    )


def _memory(records: TlvRecords) -> pl.DataFrame:
    fixed = records.fixed
    size = pl.Series(i64(fixed["size_bytes"]))
    columns = {
        "name": _text(records, MsMemoryField.OWNER),
        "size_bytes": pl.select(pl.when(size >= 0).then(size)).to_series(),
        **{name: i64(fixed[name]) for name in ("device_id", "tid", "pid", "time_ns", "used_bytes", "reserved_bytes")},
        **{name: fixed[name] for name in ("address", "stream_ptr")},
    }
    return frame(SCHEMAS["framework_memory"], columns).sort("time_ns", maintain_order=True)


def _allocations(memory: pl.DataFrame) -> pl.DataFrame:
    """Return the events as every framework's allocator has them; a release has the size of what it releases."""
    released = pl.col("size_bytes").is_null()
    size = pl.col("size_bytes").forward_fill().over("device_id", "address").fill_null(0)
    return memory.select(
        pl.col("address").reinterpret(signed=True).alias("pointer"),
        "time_ns",
        pl.when(released).then(-size).otherwise(size).alias("size_bytes"),
        pl.col("used_bytes").alias("total_allocated_bytes"),
        pl.col("reserved_bytes").alias("total_reserved_bytes"),
        pl.col("used_bytes").alias("total_active_bytes"),
        pl.col("stream_ptr").reinterpret(signed=True).alias("stream"),
        pl.lit(NPU_DEVICE_TYPE).alias("device_type"),
        "device_id",
        pl.lit(0).alias("component"),
        released.cast(pl.Int64).alias("action"),
        "tid",
        "pid",
    ).pipe(_typed, ALLOCATIONS)


def _cpu_ops(path: Path | None, notes: list[str]) -> pl.DataFrame:
    schema = SCHEMAS["host_cpu_ops"]
    if path is None:
        return empty(schema)
    lines = [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    matches = [match for line in lines if (match := _CPU_LINE.match(line))]
    if len(matches) < len(lines):
        notes.append(f"{path.name}: {len(lines) - len(matches)} lines are no operators and were left out")
    whole = pl.DataFrame(
        {
            "name": [m["name"] for m in matches],
            "op_type": [m["type"] for m in matches],
            "runs": [m["runs"] for m in matches],
        },
        schema={"name": pl.String, "op_type": pl.String, "runs": pl.String},
    )
    rows = whole.with_columns(pl.col("runs").str.split(" ")).explode("runs").filter(pl.col("runs") != "")
    parts = rows.with_columns(pl.col("runs").str.split(","))
    well = parts.filter(pl.col("runs").list.len() == 3)
    if well.height < parts.height:
        notes.append(f"{path.name}: {parts.height - well.height} runs are not start,duration,thread and were left out")
    part = pl.col("runs").list
    return (
        well.select(
            "name",
            "op_type",
            part.get(0).cast(pl.Int64, strict=False).alias("start_ns"),
            (part.get(1).cast(pl.Float64, strict=False) * 1e6).round(0).cast(pl.Int64).alias("duration_ns"),
            part.get(2).cast(pl.Int64, strict=False).alias("tid"),
        )
        .drop_nulls()
        .sort("start_ns", maintain_order=True)
    )


def _totals(path: Path | None, notes: list[str]) -> pl.DataFrame:
    schema = SCHEMAS["memory_totals"]
    if path is None:
        return empty(schema)
    try:
        whole = pl.read_csv(path, has_header=True, new_columns=list(schema), schema_overrides=[pl.Int64] * len(schema))
    except (pl.exceptions.PolarsError, ValueError) as error:
        notes.append(f"{path.name} could not be read and was left out: {error}")
        return empty(schema)
    return _typed(whole, schema)
