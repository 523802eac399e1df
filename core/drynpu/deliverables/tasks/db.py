"""TASK and what belongs to a task by ``globalTaskId``: kernels and copies (cann_msprof.md 4.6)."""

from __future__ import annotations

import numpy as np
import polars as pl
from attrs import frozen

from drynpu.deliverables.db_columns import Rows, text_or_unknown
from drynpu.deliverables.db_enums import ENUMS, OTHER
from drynpu.deliverables.marks.db import mark_connection
from drynpu.deliverables.tasks._task_ids import TASK_ID, kernel_task_ids, numbered_tasks, task_numbers
from drynpu.layouts.tasks import ASYNCHRONOUS_COPY, SCHEDULING_SUFFIX
from drynpu.tables import NO_CONTEXT, NO_MODEL, Profile
from drynpu.tables.intervals import innermost
from drynpu.tables.stored import Stored
from drynpu.writers.number_text import UNKNOWN
from drynpu.writers.text_table import Rows as TextRows
from drynpu.writers.text_table import TextTable

_MARK_TYPE = "MsTx"
"""Type of tasks that the toolkit's database has (Ascend/msprof analysis/csrc, compared)."""
_ACL = "acl"
_CALLERS = (_ACL, "model", "node")
"""Levels of calls that call the runtime."""
_TENSOR_COLUMNS = {
    f"{side}{title}": f"{side}_{part}"
    for side in ("input", "output")
    for title, part in (("Formats", "formats"), ("DataTypes", "dtypes"), ("Shapes", "shapes"))
}
_TASK_COLUMNS = (
    *("device_id", "stream_id", "task_id", "context_id", "start_ns"),
    *("duration_ns", "connection_id", "launch_type", "model_id"),
)
_KERNEL_COLUMNS = (
    *("name", "op_type", "op_state", "task_type", "block_num", "mix_block_num", "hf32", "connection_id"),
    *_TENSOR_COLUMNS.values(),
)
_ATTRIBUTED = ("connection_id", "name")


def db_rows(profile: Profile) -> Rows:
    """Yield tasks, kernels and copies; at level0 what operator information would tell of kernels is ``N/A``."""
    tasks = numbered_tasks(profile)
    callers = _callers(tasks, profile.table("api"))
    every = _TaskRows(tasks, callers)
    yield "TASK", _tasks(every, profile.pid)
    marks = _marks(profile, tasks.height)
    yield "TASK", _tasks(marks, profile.pid)
    whole = _TaskRows(tasks, callers, _in_contexts(tasks), tasks.height + marks.height)
    yield "TASK", _tasks(whole, profile.pid)
    detailed = profile.level != "level0"
    computing, schedules = _chosen_kernels(profile)
    yield "COMPUTE_TASK_INFO", _compute(computing, detailed=detailed)
    yield "COMMUNICATION_SCHEDULE_TASK_INFO", _schedules(schedules, detailed=detailed)
    yield "MEMCPY_INFO", _copies(tasks)


@frozen(eq=False)
class _TaskRows:
    """Tasks of `numbered_tasks`, all or chosen ones, as TASK shows them; made part by part."""

    tasks: Stored
    callers: pl.DataFrame
    chosen: pl.Series | None = None
    first_id: int = 0
    """Chosen tasks stand there once more, as what they ran in, and are numbered from here."""

    @property
    def height(self) -> int:
        """Number of rows."""
        return self.tasks.height if self.chosen is None else self.chosen.len()

    def slice(self, offset: int, count: int, /) -> pl.DataFrame:
        """Return *count* rows from *offset* on, or those that are left."""
        if self.chosen is None:
            rows = self.tasks.slice(offset, count, *_TASK_COLUMNS)
        else:
            rows = self.tasks.gather(self.chosen.slice(offset, count), *_TASK_COLUMNS)
            rows = rows.with_columns(pl.lit(NO_CONTEXT, pl.Int64).alias("context_id"))
        return _as_called(rows.with_columns(task_numbers(self.first_id + offset)), self.callers)


def _callers(tasks: Stored, calls: Stored) -> pl.DataFrame:
    """
    Return the call around the runtime's call, for the connection of each copy that has one.

    Columns: ``connection_id`` of the copy, ``caller`` (the connection of the call around it), ``from_acl``.
    """
    is_copy = pl.col("launch_type") == ASYNCHRONOUS_COPY
    copied = pl.concat(
        part.filter(is_copy)["connection_id"].unique() for part in tasks.slices("launch_type", "connection_id")
    ).unique()
    columns = ("connection_id", "level", "start_ns", "end_ns", "tid")
    runtime = pl.concat(
        part.filter(pl.col("connection_id").is_in(copied.implode())).select("connection_id", "start_ns", "tid")
        for part in calls.slices(*columns)
    )
    begun = runtime["start_ns"].sort()
    callers = pl.concat(
        part.filter(pl.col("level").is_in(_CALLERS) & _may_hold(part, begun)) for part in calls.slices(*columns)
    )
    around = innermost(
        *(callers[name].to_numpy() for name in ("start_ns", "end_ns", "tid")),
        *(runtime[name].to_numpy() for name in ("start_ns", "tid")),
    )
    caller = callers[np.maximum(around, 0)] if callers.height else callers.clear(runtime.height)
    return runtime.select(
        "connection_id",
        caller["connection_id"].alias("caller"),
        (caller["level"] == _ACL).alias("from_acl"),
    ).filter(pl.Series(around >= 0))


def _may_hold(calls: pl.DataFrame, begun: pl.Series) -> pl.Series:
    """Return the calls in which something of *begun* (times in order) begins; only these can be around it."""
    low = begun.search_sorted(calls["start_ns"], side="left")
    return low < begun.search_sorted(calls["end_ns"], side="right")


def _as_called(tasks: pl.DataFrame, callers: pl.DataFrame) -> pl.DataFrame:
    """
    Return tasks whose copies belong to the call around the runtime's, where there is one.

    A call of ACL is in no model, whatever is being executed around it (Ascend/msprof tree_analyzer.cpp).
    """
    if callers.is_empty():
        return tasks
    is_copy = pl.col("launch_type") == ASYNCHRONOUS_COPY
    called = tasks.join(callers, on="connection_id", how="left", maintain_order="left")
    return called.with_columns(
        pl.when(is_copy & pl.col("from_acl")).then(NO_MODEL).otherwise("model_id").alias("model_id"),
        pl.when(is_copy).then(pl.coalesce("caller", "connection_id")).otherwise("connection_id").alias("connection_id"),
    ).drop("caller", "from_acl")


def _tasks(tasks: pl.DataFrame | TextRows, pid: int) -> TextTable:
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


def _in_contexts(tasks: Stored) -> pl.Series:
    """Return the rows of tasks that ran in a context; genuine databases have the whole that the scheduler saw, too."""
    flags = pl.concat(
        part.select(pl.col("context_id") != NO_CONTEXT).to_series() for part in tasks.slices("context_id")
    )
    return flags.arg_true()


@frozen(eq=False)
class _KernelRows:
    """Chosen kernels (None: all) with the ``globalTaskId`` of their tasks; made part by part."""

    kernels: Stored
    ids: pl.Series
    chosen: pl.Series | None
    attributes: pl.DataFrame

    @property
    def height(self) -> int:
        """Number of rows."""
        return self.kernels.height if self.chosen is None else self.chosen.len()

    def slice(self, offset: int, count: int, /) -> pl.DataFrame:
        """Return *count* rows from *offset* on, or those that are left."""
        if self.chosen is None:
            rows, ids = self.kernels.slice(offset, count, *_KERNEL_COLUMNS), self.ids.slice(offset, count)
        else:
            places = self.chosen.slice(offset, count)
            rows, ids = self.kernels.gather(places, *_KERNEL_COLUMNS), self.ids[places]
        known = rows.join(self.attributes, on=_ATTRIBUTED, how="left", maintain_order="left")
        return known.with_columns(ids.cast(pl.Int64).alias(TASK_ID))


def _chosen_kernels(profile: Profile) -> tuple[_KernelRows, _KernelRows]:
    """Return the kernels that compute, and those that only schedule communication; those whose task is known."""
    kernels, ids = profile.table("kernels"), kernel_task_ids(profile)
    schedules = pl.concat(
        part.select(pl.col("name").str.ends_with(SCHEDULING_SUFFIX)).to_series() for part in kernels.slices("name")
    )
    known = ids.is_not_null()
    computing = None if known.all() and not schedules.any() else (known & ~schedules).arg_true()
    chosen, attributes = (computing, (known & schedules).arg_true()), profile.frame("operator_attributes")
    return _KernelRows(kernels, ids, chosen[0], attributes), _KernelRows(kernels, ids, chosen[1], attributes)


def _compute(kernels: _KernelRows, *, detailed: bool) -> TextTable:
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
        text_or_unknown("attributes").alias("attrInfo"),
        *(unknown.alias(title) for title in ("gridDim", "blockDim")),
    ]
    return TextTable.from_rows(kernels, columns)


def _shape(name: str) -> pl.Expr:
    """Return shapes in the quotes that op_summary shows around them."""
    absent = pl.col(name.replace("shapes", "dtypes")).fill_null("") == ""
    quoted = pl.concat_str([pl.lit('"'), pl.col(name), pl.lit('"')])
    return pl.when(absent).then(pl.lit(UNKNOWN)).otherwise(quoted)


def _schedules(kernels: _KernelRows, *, detailed: bool) -> TextTable:
    """Return the tasks that only schedule communication."""
    titles = {"taskType": "task_type", "opType": "op_type"}
    columns = [
        text_or_unknown("name").alias("name"),
        pl.col(TASK_ID),
        *((text_or_unknown(name) if detailed else pl.lit(UNKNOWN)).alias(title) for title, name in titles.items()),
    ]
    return TextTable.from_rows(kernels, columns)


def _copies(tasks: Stored) -> pl.DataFrame:
    """Return the tasks that the host launched as copies; copies of collectives state neither size nor direction."""
    kinds = ENUMS["ENUM_MEMCPY_OPERATION"]
    is_copy = pl.col("copy_bytes").is_not_null() | (pl.col("launch_type") == ASYNCHRONOUS_COPY)
    shown = (
        TASK_ID,
        pl.col("copy_bytes").fill_null(0).alias("size"),
        pl.when(pl.col("copy_kind").is_in(list(kinds))).then("copy_kind").otherwise(OTHER).alias("memcpyOperation"),
    )
    parts, offset = [], 0
    for part in tasks.slices("copy_bytes", "copy_kind", "launch_type"):
        parts.append(part.with_columns(task_numbers(offset)).filter(is_copy).select(shown))
        offset += part.height
    return pl.concat(parts)
