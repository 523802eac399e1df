"""TASK and what belongs to a task by ``globalTaskId``: kernels and copies (cann_msprof.md 4.6)."""

from __future__ import annotations

import numpy as np
import polars as pl
from polars.selectors import categorical

from drynpu.deliverables._db_columns import Rows, text_or_unknown
from drynpu.deliverables._db_enums import ENUMS, OTHER
from drynpu.deliverables.marks.db import mark_connection
from drynpu.deliverables.tasks._task_ids import TASK_ID, kernel_task_ids, numbered_tasks
from drynpu.deliverables.tasks.facts import SCHEDULING_SUFFIX
from drynpu.tables import NO_CONTEXT, NO_MODEL, Profile
from drynpu.tables.intervals import innermost
from drynpu.writers._numbers import UNKNOWN
from drynpu.writers._text_table import TextTable

_MARK_TYPE, _COPY_TYPE = "MsTx", "MEMCPY_ASYNC"
"""Types of tasks that the toolkit's database has (Ascend/msprof analysis/csrc, compared)."""
_ACL = "acl"
_CALLERS = (_ACL, "model", "node")
"""Levels of calls that call the runtime."""
_TENSOR_COLUMNS = {
    f"{side}{title}": f"{side}_{part}"
    for side in ("input", "output")
    for title, part in (("Formats", "formats"), ("DataTypes", "dtypes"), ("Shapes", "shapes"))
}
_TASK_COLUMNS = ("duration_ns", "connection_id", "launch_type", "model_id", "copy_bytes", "copy_kind")
_KERNEL_COLUMNS = (
    *("name", "op_type", "op_state", "task_type", "block_num", "mix_block_num", "hf32"),
    *_TENSOR_COLUMNS.values(),
)


def db_rows(profile: Profile) -> Rows:
    """Yield tasks, kernels and copies; at level0 what operator information would tell of kernels is ``N/A``."""
    tasks = _copies_as_called(numbered_tasks(profile, *_TASK_COLUMNS), profile.api)
    yield "TASK", _tasks(tasks, profile.pid)
    marks = _marks(profile, tasks.height)
    yield "TASK", _tasks(marks, profile.pid)
    yield "TASK", _tasks(_around_contexts(tasks, tasks.height + marks.height), profile.pid)
    detailed = profile.level != "level0"
    ids = kernel_task_ids(profile, tasks)
    kernels = profile.compact("kernels", *_KERNEL_COLUMNS).with_columns(ids.alias(TASK_ID))
    schedules = kernels.select(pl.col("name").cast(pl.String).str.ends_with(SCHEDULING_SUFFIX)).to_series()
    computing = kernels if not schedules.any() else kernels.filter(~schedules)
    yield "COMPUTE_TASK_INFO", _compute(computing, detailed=detailed)
    yield "COMMUNICATION_SCHEDULE_TASK_INFO", _schedules(kernels.filter(schedules), detailed=detailed)
    yield "MEMCPY_INFO", _copies(tasks)


def _copies_as_called(tasks: pl.DataFrame, api: pl.DataFrame) -> pl.DataFrame:
    """
    Return tasks whose copies belong to the call around the runtime's, where there is one.

    A call of ACL is in no model, whatever is being executed around it (Ascend/msprof tree_analyzer.cpp).
    """
    copies = tasks.select("connection_id", pl.col("launch_type").cast(pl.String)).filter(
        pl.col("launch_type") == _COPY_TYPE
    )
    calls = api.filter(pl.col("level").cast(pl.String).is_in(_CALLERS))
    runtime = api.filter(pl.col("connection_id").is_in(copies["connection_id"].implode()))
    around = innermost(
        *(calls[name].to_numpy() for name in ("start_ns", "end_ns", "tid")),
        *(runtime[name].to_numpy() for name in ("start_ns", "tid")),
    )
    caller = calls[np.maximum(around, 0)] if calls.height else calls.clear(runtime.height)
    known = runtime.select(
        "connection_id",
        caller["connection_id"].alias("caller"),
        (caller["level"].cast(pl.String) == _ACL).alias("from_acl"),
    ).filter(pl.Series(around >= 0))
    is_copy = pl.col("launch_type").cast(pl.String) == _COPY_TYPE
    found = tasks.join(known, on="connection_id", how="left", maintain_order="left")
    return found.with_columns(
        pl.when(is_copy & pl.col("from_acl")).then(NO_MODEL).otherwise("model_id").alias("model_id"),
        pl.when(is_copy).then(pl.coalesce("caller", "connection_id")).otherwise("connection_id").alias("connection_id"),
    ).drop("caller", "from_acl")


def _tasks(tasks: pl.DataFrame, pid: int) -> TextTable:
    start = pl.col("start_ns")
    columns = [
        start.alias("startNs"),
        (start + pl.col("duration_ns")).alias("endNs"),
        pl.col("device_id").alias("deviceId"),
        pl.col("connection_id").alias("connectionId"),
        pl.col(TASK_ID),
        pl.lit(pid, pl.Int64).alias("globalPid"),
        text_or_unknown("launch_type").alias("taskType"),
        pl.col("context_id").alias("contextId"),
        pl.col("stream_id").alias("streamId"),
        pl.col("task_id").alias("taskId"),
        pl.col("model_id").alias("modelId"),
    ]
    return TextTable.from_rows(tasks, columns)


def _marks(profile: Profile, first_id: int) -> pl.DataFrame:
    """Return what marks of the user left on streams; MSTX_EVENTS has the same connection ids."""
    marks = profile.frame("marks").filter(pl.col("device_id").is_not_null())
    start = pl.col("device_start_ns")
    return marks.with_row_index(TASK_ID, offset=first_id).with_columns(
        pl.col(TASK_ID).cast(pl.Int64),
        start.alias("start_ns"),
        (pl.col("device_end_ns") - start).alias("duration_ns"),
        mark_connection().alias("connection_id"),
        pl.lit(_MARK_TYPE).alias("launch_type"),
        pl.lit(NO_CONTEXT, pl.Int64).alias("context_id"),
        pl.lit(NO_MODEL, pl.Int64).alias("model_id"),
    )


def _around_contexts(tasks: pl.DataFrame, first_id: int) -> pl.DataFrame:
    """Return the tasks that ran in a context as the whole that the scheduler saw; genuine databases have both."""
    whole = tasks.filter(pl.col("context_id") != NO_CONTEXT).drop(TASK_ID)
    return whole.with_row_index(TASK_ID, offset=first_id).with_columns(
        pl.col(TASK_ID).cast(pl.Int64), pl.lit(NO_CONTEXT, pl.Int64).alias("context_id")
    )


def _compute(kernels: pl.DataFrame, *, detailed: bool) -> TextTable:
    unknown = pl.lit(UNKNOWN)
    hf32 = pl.when(pl.col("hf32")).then(pl.lit("YES")).otherwise(pl.lit("NO"))
    texts = {"taskType": text_or_unknown("task_type"), "opType": text_or_unknown("op_type")}
    texts |= {
        title: _shape(name) if title.endswith("Shapes") else text_or_unknown(name)
        for title, name in _TENSOR_COLUMNS.items()
    }
    texts |= {"opState": text_or_unknown("op_state"), "hf32Eligible": hf32}
    columns: list[pl.Expr] = [
        text_or_unknown("name").alias("name"),
        pl.col(TASK_ID),
        *(
            (pl.col(name) if detailed else pl.lit(0, pl.Int64)).alias(title)
            for title, name in (("blockNum", "block_num"), ("mixBlockNum", "mix_block_num"))
        ),
        *((value if detailed else unknown).alias(title) for title, value in texts.items()),
        *(unknown.alias(title) for title in ("attrInfo", "gridDim", "blockDim")),
    ]
    return TextTable.from_rows(_identified(kernels), columns)


def _identified(kernels: pl.DataFrame) -> pl.DataFrame:
    return kernels.filter(pl.col(TASK_ID).is_not_null()) if kernels[TASK_ID].null_count() else kernels


def _shape(name: str) -> pl.Expr:
    """Return shapes in the quotes that op_summary shows around them."""
    absent = pl.col(name.replace("shapes", "dtypes")).fill_null("") == ""
    quoted = pl.concat_str([pl.lit('"'), pl.col(name), pl.lit('"')])
    return pl.when(absent).then(pl.lit(UNKNOWN)).otherwise(quoted)


def _schedules(kernels: pl.DataFrame, *, detailed: bool) -> pl.DataFrame:
    """Return the tasks that only schedule communication."""
    titles = {"taskType": "task_type", "opType": "op_type"}
    texts = _identified(kernels).with_columns(categorical().cast(pl.String))
    return texts.select(
        text_or_unknown("name").alias("name"),
        TASK_ID,
        *((text_or_unknown(name) if detailed else pl.lit(UNKNOWN)).alias(title) for title, name in titles.items()),
    )


def _copies(tasks: pl.DataFrame) -> pl.DataFrame:
    """Return the tasks that the host launched as copies; those of collectives state neither size nor direction."""
    kinds = ENUMS["ENUM_MEMCPY_OPERATION"]
    asynchronous = pl.col("launch_type").cast(pl.String) == _COPY_TYPE
    return tasks.filter(pl.col("copy_bytes").is_not_null() | asynchronous).select(
        TASK_ID,
        pl.col("copy_bytes").fill_null(0).alias("size"),
        pl.when(pl.col("copy_kind").is_in(list(kinds))).then("copy_kind").otherwise(OTHER).alias("memcpyOperation"),
    )
