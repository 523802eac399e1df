"""The device's part of a timeline: tasks, collectives with their tasks, memory, frequency, overlap."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from drynpu.analysis import OVERLAP, OVERLAP_KINDS
from drynpu.deliverables.communication.tables import task_transfers
from drynpu.deliverables.frequency.tables import FREQUENCIES
from drynpu.deliverables.npu_memory.tables import NPU_MEM
from drynpu.deliverables.tasks.timeline import COPY_OPERATIONS
from drynpu.products.results._events import Trace
from drynpu.products.results._spellings import spellings, typed
from drynpu.tables import COMMUNICATION_OPS, NO_CONTEXT, NO_MODEL, TASKS, intervals

_GROUP_NAME = r"^Group (.+) Communication$"
_WITHIN_CHIP = "ON_CHIP"
_PLANE = r"^Plane (\d+)$"


def device_tables(trace: Trace, schemas: Mapping[str, pl.Schema]) -> dict[str, pl.DataFrame]:
    """Return ``tasks``, ``communication_ops``, ``communication_tasks``, ``npu_mem`` and ``frequencies``."""
    operations = _operations(trace)
    return {
        "tasks": _tasks(trace),
        "communication_ops": operations,
        "communication_tasks": _parts(trace, operations, schemas["communication_tasks"]),
        "npu_mem": _memory(trace.layer("memory")),
        "frequencies": typed(_counters(trace.layer("frequency")), FREQUENCIES, time_ns=pl.col("start_ns")),
    }


def stated_overlap(trace: Trace) -> pl.DataFrame:
    """Return the overlap of computing and communication as the timeline shows it."""
    rows = trace.layer("overlap").filter((pl.col("ph") == "X") & pl.col("name").is_in(OVERLAP_KINDS))
    table = typed(rows, OVERLAP, kind=pl.col("name"), end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    return ordered_overlap(table)


def ordered_overlap(table: pl.DataFrame) -> pl.DataFrame:
    """Return rows of overlap by device, kind in the order of the timeline, and start."""
    place = pl.col("kind").replace_strict(list(OVERLAP_KINDS), list(range(len(OVERLAP_KINDS))), return_dtype=pl.Int64)
    return table.sort("device_id", place, "start_ns", maintain_order=True)


def _tasks(trace: Trace) -> pl.DataFrame:
    rows = trace.layer("hardware").filter((pl.col("ph") == "X") & pl.col("task_id").is_not_null())
    kind = pl.col("task_type")
    computes = kind.is_in(spellings()["task_types"]["kernel"]) | kind.str.starts_with("KERNEL_")
    # Work of a collective has the type of its core and no name of its own.
    is_kernel = computes & (pl.col("name") != kind)
    operation = pl.col("operation").replace_strict(
        {text: number for number, text in enumerate(COPY_OPERATIONS)}, default=None, return_dtype=pl.Int64
    )
    return typed(
        rows.sort("device_id", "start_ns", maintain_order=True),
        TASKS,
        stream_id=pl.col("stream_id").fill_null(pl.col("tid")),
        batch_id=pl.col("batch_id").fill_null(0),
        context_id=pl.col("context_id").fill_null(NO_CONTEXT),
        model_id=pl.col("model_id").fill_null(NO_MODEL),
        connection_id=pl.col("connection_id").fill_null(-1),
        kernel_name=pl.when(is_kernel).then(pl.col("name")).otherwise(pl.lit("")),
        kernel_type=pl.when(is_kernel).then(kind).otherwise(pl.col("name")),
        copy_kind=operation,
        copy_engine=pl.when(operation.is_not_null()).then(kind).otherwise(pl.lit("")),
        launch_type=pl.when(is_kernel).then(kind).otherwise(pl.col("name")),
    )


def _operations(trace: Trace) -> pl.DataFrame:
    rows = trace.layer("communication").filter((pl.col("ph") == "X") & pl.col("connection_id").is_not_null())
    rows = rows.join(trace.threads, on=["pid", "tid"], how="left", maintain_order="left")
    group = pl.col("thread").str.extract(_GROUP_NAME)
    return typed(
        rows.sort("device_id", "start_ns", maintain_order=True),
        COMMUNICATION_OPS,
        group=group,
        model_id=pl.col("model_id").fill_null(NO_MODEL),
        op_type=pl.col("name").str.extract(r"^(.+?_)_\d"),
        relay=_yes("relay"),
        retry=_yes("retry"),
    )


def _yes(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != "").then(pl.col(name) == "yes")


def _parts(trace: Trace, operations: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """Return the tasks of collectives, each with the operator of its group that holds its start."""
    rows = trace.layer("communication").filter((pl.col("ph") == "X") & (pl.col("notify_id") != ""))
    rows = rows.join(trace.threads, on=["pid", "tid"], how="left", maintain_order="left")
    plane = pl.col("thread").str.extract(_PLANE).cast(pl.Int64)
    rows = rows.with_columns(plane.fill_null(0).alias("plane_id"), (pl.col("tid") - plane - 1).alias("group_tid"))
    starts = trace.layer("communication").filter((pl.col("ph") == "X") & pl.col("connection_id").is_not_null())
    starts = starts.select("tid", "start_ns", "name", "device_id")
    placed = operations.join(starts, on=["start_ns", "name", "device_id"], how="left", maintain_order="left")
    place = intervals.innermost(
        placed["start_ns"].to_numpy(),
        (placed["start_ns"] + placed["duration_ns"]).to_numpy(),
        (placed["tid"].fill_null(0) * 32 + placed["device_id"]).to_numpy(),
        rows["start_ns"].to_numpy(),
        (rows["group_tid"].fill_null(0) * 32 + rows["device_id"]).to_numpy(),
    )
    inside = rows.filter(pl.Series(place >= 0, dtype=pl.Boolean))
    around = placed[place[place >= 0].astype(np.int64)]
    inside = inside.with_columns(around["connection_id", "group", "op_type"])
    described = {
        "batch_id": pl.lit(0),
        "duration_estimated_us": pl.col("estimated_us"),
        "dtype": pl.col("task_dtype"),
        "model_id": pl.col("model_id").fill_null(NO_MODEL),
    }
    return finished_parts(typed(inside, pl.Schema([*schema.items(), ("op_type", pl.String)]), **described)).select(
        schema.names()
    )


def finished_parts(parts: pl.DataFrame) -> pl.DataFrame:
    """
    Return tasks of collectives, with ``op_type`` of the operator, in their order and with what they transfer.

    Where nothing says so, the main plane of an operator is the first one that moves something to another rank: of
    the planes of the genuine runs it is the one whose times communication.json has.
    """
    operator = ["device_id", "connection_id"]
    ordered = parts.sort(*operator, "plane_id", "start_ns", maintain_order=True)
    rate, *moved = task_transfers(ordered)
    ordered = ordered.with_columns(
        pl.col("bandwidth_gbs").fill_null(rate), pl.col("duration_estimated_us").fill_null(0.0), *moved
    )
    leaves = pl.col("transfer_bytes").is_not_null() & (pl.col("link") != _WITHIN_CHIP)
    first = pl.coalesce(pl.col("plane_id").filter(leaves).min(), pl.col("plane_id").min()).over(operator)
    return ordered.with_columns(pl.coalesce("is_master", pl.col("plane_id") == first).alias("is_master"))


def _counters(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("ph") == "C").sort("device_id", "start_ns", maintain_order=True)


def _memory(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the samples of NPU MEM: of each, DDR and HBM are counters of their own."""
    samples = rows.filter(pl.col("ph") == "C").with_columns(
        pl.col("name").str.split_exact("/", 1).struct.rename_fields(["kind", "part"]).struct.unnest(),
        (pl.col("kilobytes") * 1024).round(0).cast(pl.Int64).alias("size"),
    )
    both = samples.group_by("device_id", "kind", "start_ns", maintain_order=True).agg(
        *(
            pl.col("size").filter(pl.col("part") == part.upper()).first().alias(f"{part}_bytes")
            for part in ("ddr", "hbm")
        )
    )
    event = (pl.col("kind") != "APP").cast(pl.Int64)
    return typed(both, NPU_MEM, event=event, time_ns=pl.col("start_ns")).sort(
        "device_id", "event", "time_ns", maintain_order=True
    )
