"""The host's part of a timeline: operators, task queue, Python frames, calls of the toolkit."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from drynpu.products.results._events import PID_FACTOR, Trace
from drynpu.products.results._spellings import spellings, typed
from drynpu.products.results._text_tables import LINE_ENDS
from drynpu.tables import API, GC, HOST_OPS, PYTHON_CALLS, QUEUE
from drynpu.writers.events import PYTHON_FUNCTION

_CALL, _RETURN = 0, 1
_LISTS = ("input_dtypes", "input_shapes", "call_stack", "module_hierarchy")
_QUEUE_NAME = r"^(Dequeue|Enqueue)@?"


def host_tables(trace: Trace, schemas: Mapping[str, pl.Schema]) -> dict[str, pl.DataFrame]:
    """Return ``host_ops``, ``queue``, ``python_calls``, ``gc``, ``api`` and MindSpore's ``framework_events``."""
    # MindSpore has categories of the same names.
    others = trace.layer("framework")["pid"].unique()
    long = trace.events.filter((pl.col("ph") == "X") & ~pl.col("pid").is_in(others.implode())).with_columns(
        (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns")
    )
    return {
        "host_ops": host_ops(long.filter(pl.col("cat") == "cpu_op")),
        "queue": _queue(long.filter(pl.col("cat").is_in(["enqueue", "dequeue"]))),
        "python_calls": python_calls(long.filter(pl.col("cat") == PYTHON_FUNCTION)),
        "gc": _collections(long.filter(pl.col("cat") == "GC")),
        "api": _api(trace),
        "framework_events": _framework(trace, schemas["framework_events"]),
    }


def host_ops(rows: pl.DataFrame) -> pl.DataFrame:
    """Return operators in order of start, the longer first; texts without the line ends that files show."""
    lists = [pl.col(name).str.replace_all(LINE_ENDS, ";") for name in _LISTS if name in rows.columns]
    ordered = rows.with_columns(lists).sort("start_ns", "end_ns", descending=[False, True], maintain_order=True)
    return typed(
        ordered,
        HOST_OPS,
        op_id=pl.int_range(pl.len(), dtype=pl.Int64),
        sequence=pl.col("sequence").fill_null(-1),
        fwd_tid=pl.col("fwd_tid").fill_null(0),
        scope=pl.lit(0),
        is_async=pl.lit(False),
    )


def _queue(rows: pl.DataFrame) -> pl.DataFrame:
    return typed(rows.sort("start_ns", maintain_order=True), QUEUE, side=pl.col("cat"), name=queue_name())


def queue_name() -> pl.Expr:
    """Return the name of an entry of the task queue without its side, which files put before it."""
    return pl.col("name").str.replace(_QUEUE_NAME, "")


def python_calls(frames: pl.DataFrame) -> pl.DataFrame:
    """
    Return calls and returns of Python frames with ``start_ns`` and ``end_ns``, in the order in which they happened.

    Of frames that begin at the same time the longer is called first and returns last.
    """
    frames = frames.with_row_index("frame")
    calls = frames.with_columns(pl.col("start_ns").alias("time_ns"), pl.lit(_CALL).alias("tag"))
    returns = frames.with_columns(pl.col("end_ns").alias("time_ns"), pl.lit(_RETURN).alias("tag"))
    length = pl.col("end_ns") - pl.col("start_ns")
    inward = pl.when(pl.col("tag") == _CALL).then(-length).otherwise(length)
    # A frame that took no time is called before it returns.
    is_return = pl.when(length == 0).then(pl.col("tag")).otherwise(1 - pl.col("tag"))
    ordered = pl.concat([calls, returns]).with_columns(inward.alias("inward"), is_return.alias("is_return"))
    return typed(ordered.sort("tid", "time_ns", "is_return", "inward", maintain_order=True), PYTHON_CALLS)


def _collections(rows: pl.DataFrame) -> pl.DataFrame:
    return typed(rows.with_columns((pl.col("pid") // PID_FACTOR).alias("pid")), GC)


def _framework(trace: Trace, schema: pl.Schema) -> pl.DataFrame:
    """Return the events of MindSpore; the timeline shows those that begin a flow as its arrow alone."""
    rows = trace.layer("framework").filter(pl.col("ph").is_in(["X", "i"]))
    return typed(
        rows.sort("start_ns", maintain_order=True),
        schema,
        end_ns=pl.col("start_ns") + pl.col("duration_ns"),
        pid=pl.lit(trace.host_pid),
        is_flow=pl.lit(False),
        is_stack=pl.col("cat") == PYTHON_FUNCTION,
    )


def _api(trace: Trace) -> pl.DataFrame:
    """Return the calls of the toolkit; the shown name is ``<Layer>@<name>``."""
    rows = trace.layer("calls").filter(pl.col("ph") == "X")
    layer = pl.col("name").str.split_exact("@", 1)
    levels = spellings()["levels"]
    level = layer.struct.field("field_0").replace_strict(levels, default=None, return_dtype=pl.String)
    return typed(
        rows.sort("start_ns", maintain_order=True),
        API,
        connection_id=pl.col("connection_id").fill_null(-1),
        level=pl.coalesce(level, pl.col("level").replace(levels)),
        name=pl.coalesce(layer.struct.field("field_1"), pl.col("name")),
        item=pl.col("item").replace("0", ""),
        pid=pl.col("pid") // PID_FACTOR,
        end_ns=pl.col("start_ns") + pl.col("duration_ns"),
    )
