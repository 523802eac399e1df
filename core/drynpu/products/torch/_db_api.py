"""Rows about the framework: operators, task queue, Python frames, call chains (torch_npu_profiler.md 4.16)."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.analysis import link_operators
from drynpu.analysis._python_frames import python_frames
from drynpu.deliverables.framework_torch.facts import MARK_OPERATOR
from drynpu.deliverables.marks.db import mark_connection
from drynpu.products.torch._host_trace import LINE_SEPARATOR, forward_backward_pairs, queue_entries
from drynpu.tables import Profile

API_TYPES = {50001: "op", 50002: "queue", 50003: "trace", 50004: "mstx"}
"""What torch adds to ENUM_API_TYPE."""

_OPERATOR, _QUEUE, _TRACE = 50001, 50002, 50003
_FIRST_CONNECTION = 5 << 28
"""Connection ids of the framework are those of the task queue above this, so that they are none of the toolkit's."""

# globalTid holds the process in its upper and the thread in its lower 32 bits.
TID_BITS = 2**32
_LAUNCH = (pl.col("level") == "node") & (pl.col("name") == "launch")

_API = pl.Schema(
    {
        "startNs": pl.String,
        "endNs": pl.String,
        "globalTid": pl.Int64,
        "connectionId": pl.Int64,  # id of CONNECTION_IDS
        "name": pl.String,
        "sequenceNumber": pl.Int64,
        "fwdThreadId": pl.Int64,
        "inputDtypes": pl.String,
        "inputShapes": pl.String,
        "callchainId": pl.Int64,
        "type": pl.Int64,
    }
)

Rows = Iterator[tuple[str, pl.DataFrame]]


def api_rows(profile: Profile) -> Rows:
    """
    Yield PYTORCH_API, CONNECTION_IDS and PYTORCH_CALLCHAINS.

    Calls come as Python frames, entries of the task queue, operators, operators that set marks. An id of
    CONNECTION_IDS stands for all connections of one call: of an entry of the queue its correlation id, of an operator
    the toolkit's calls that it led to and what joins forward to backward.
    """
    queue = _queue(profile.queue)
    operators = _operators(profile)
    connections = _connections(profile, operators, _next_connection(profile.queue))
    connected = connections["op_id"].unique(maintain_order=True).to_frame()
    connected = connected.with_row_index("connectionId", offset=queue.height).cast({"connectionId": pl.Int64})
    operators = operators.join(connected, on="op_id", how="left", maintain_order="left")
    calls = (_frames(profile.python_calls), queue, operators)
    yield "PYTORCH_API", pl.concat([_calls(rows) for rows in calls])
    yield "CONNECTION_IDS", queue.select(pl.col("connectionId").alias("id"), pl.col("connection").alias("connectionId"))
    of_operators = connections.join(connected, on="op_id", how="left", maintain_order="left")
    yield (
        "CONNECTION_IDS",
        of_operators.select(pl.col("connectionId").alias("id"), pl.col("connection").alias("connectionId")),
    )
    yield "PYTORCH_CALLCHAINS", _callchains(operators)


def _calls(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with ``start_ns``, ``end_ns``, ``pid``, ``tid`` as rows of PYTORCH_API; what they lack is null."""
    shown = rows.with_columns(
        pl.col("start_ns").alias("startNs"),
        pl.col("end_ns").alias("endNs"),
        (pl.col("pid") * TID_BITS + pl.col("tid")).alias("globalTid"),
    )
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in _API.items() if name not in shown.columns]
    return shown.with_columns(absent).select(pl.col(name).cast(dtype) for name, dtype in _API.items())


def _frames(python_calls: pl.DataFrame) -> pl.DataFrame:
    frames = python_frames(python_calls).select("name", "start_ns", "end_ns", "pid", "tid")
    return frames.with_columns(pl.lit(_TRACE).alias("type"))


def _queue(queue: pl.DataFrame) -> pl.DataFrame:
    """Return what was put into the task queue, then what was taken from it, each with a connection of its own."""
    entries = queue_entries(queue)
    sides = [entries.filter(pl.col("side") == side) for side in ("enqueue", "dequeue")]
    return pl.concat(sides).with_columns(
        pl.col("shown").alias("name"),
        pl.int_range(pl.len(), dtype=pl.Int64).alias("connectionId"),
        (pl.col("correlation_id") + _FIRST_CONNECTION).alias("connection"),
        pl.lit(_QUEUE).alias("type"),
    )


def _next_connection(queue: pl.DataFrame) -> int:
    """Return the first connection id that no entry of the task queue has."""
    last = queue["correlation_id"].max()
    return _FIRST_CONNECTION + (0 if last is None else int(str(last)) + 1)


def _operators(profile: Profile) -> pl.DataFrame:
    """Return the operators, those that set marks last; texts as the timeline shows them, null where it has none."""
    ops = profile.host_ops
    marking = pl.col("name").str.starts_with(MARK_OPERATOR)
    separated = {
        title: pl.col(name).str.replace_all(";", LINE_SEPARATOR, literal=True).replace("", None)
        for title, name in (("inputDtypes", "input_dtypes"), ("inputShapes", "input_shapes"))
    }
    has_stack = pl.col("call_stack") != ""
    return pl.concat([ops.filter(~marking), ops.filter(marking)]).with_columns(
        pl.col("sequence").alias("sequenceNumber"),
        pl.col("fwd_tid").alias("fwdThreadId"),
        *(text.alias(title) for title, text in separated.items()),
        pl.when(has_stack).then(has_stack.cum_sum().cast(pl.Int64) - 1).alias("callchainId"),
        pl.lit(_OPERATOR).alias("type"),
        marking.alias("marking"),
    )


def _connections(profile: Profile, operators: pl.DataFrame, first: int) -> pl.DataFrame:
    """Return ``op_id`` and ``connection`` in order of *operators*; of one, those of its sequence number come first."""
    plain = operators.filter(~pl.col("marking"))
    pairs = forward_backward_pairs(plain).with_columns(
        (pl.int_range(pl.len(), dtype=pl.Int64) + first).alias("connection")
    )
    ends = [pairs.select(pl.col(name).alias("op_id"), "connection") for name in ("op_id", "op_id_to")]
    launches = profile.api.filter(_LAUNCH).select("connection_id", pl.col("start_ns").alias("api_ns"))
    launched = (
        link_operators(profile)
        .kernel_op.select("op_id", "connection_id")
        .unique()
        .join(launches, on="connection_id", how="inner")
        .sort("api_ns", "connection_id")
        .select("op_id", pl.col("connection_id").alias("connection"))
    )
    marks = _mark_connections(profile, operators.filter(pl.col("marking")))
    order = operators.select("op_id").with_row_index("row")
    return (
        pl.concat([*ends, launched, marks])
        .join(order, on="op_id", how="inner", maintain_order="left")
        .sort("row", maintain_order=True)
        .select("op_id", "connection")
    )


def _mark_connections(profile: Profile, operators: pl.DataFrame) -> pl.DataFrame:
    """Return the marks that operators set through the task queue: set while an entry was worked on that they put in."""
    marks = profile.frame("marks").select(
        pl.col("start_ns").alias("mark_ns"),
        pl.col("end_ns").alias("mark_end_ns"),
        "tid",
        mark_connection().alias("connection"),
    )
    dequeued, enqueued = (
        profile.queue.filter(pl.col("side") == side).select("correlation_id", "tid", "start_ns", "end_ns")
        for side in ("dequeue", "enqueue")
    )
    setting = operators.select("op_id", "tid", "start_ns", "end_ns")
    return (
        _within(marks, dequeued, "mark_ns", "mark_end_ns")
        .select("connection", "correlation_id")
        .join(enqueued.unique("correlation_id", keep="first"), on="correlation_id")
        .rename({"start_ns": "put_ns", "end_ns": "put_end_ns"})
        .pipe(_within, setting, "put_ns", "put_end_ns")
        .sort("put_ns")
        .select("op_id", "connection")
    )


def _within(rows: pl.DataFrame, spans: pl.DataFrame, start: str, end: str) -> pl.DataFrame:
    """Return *rows* with the span of the same thread that holds them; spans of a thread do not nest."""
    found = rows.sort(start).join_asof(
        spans.sort("start_ns"),
        left_on=start,
        right_on="start_ns",
        by="tid",
        strategy="backward",
        check_sortedness=False,
    )
    return found.filter(pl.col(end) <= pl.col("end_ns"))


def _callchains(operators: pl.DataFrame) -> pl.DataFrame:
    """Return the frames of every call stack, the first one at depth 0."""
    return (
        operators.filter(pl.col("callchainId").is_not_null())
        .select(pl.col("callchainId").alias("id"), pl.col("call_stack").str.split(";").alias("stack"))
        .explode("stack")
        .with_columns(pl.int_range(pl.len(), dtype=pl.Int64).over("id").alias("stackDepth"))
    )
