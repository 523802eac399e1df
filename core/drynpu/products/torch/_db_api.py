"""Rows about the framework: operators, task queue, Python frames, call chains (torch_npu_profiler.md 4.16)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from attrs import frozen

from drynpu.analysis.links import launching_link
from drynpu.analysis.python_frames import python_frames
from drynpu.arrays import I64
from drynpu.deliverables.marks.db import mark_connection
from drynpu.layouts.framework_torch import MARK_OPERATOR
from drynpu.products.torch._host_trace import LINE_SEPARATOR, QueueNames, paired_operators
from drynpu.tables import Profile
from drynpu.tables.stored import Filled, Stored, gathered, narrow
from drynpu.writers.text_table import Rows as TextRows
from drynpu.writers.text_table import Table, TextTable

API_TYPES = {50001: "op", 50002: "queue", 50003: "trace", 50004: "mstx"}
"""What torch adds to ENUM_API_TYPE."""

_OPERATOR, _QUEUE, _TRACE = 50001, 50002, 50003
_FIRST_CONNECTION = 5 << 28
"""Connection ids of the framework are ids of the task queue plus this, so that none equals an id of the toolkit."""

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

Rows = Iterator[tuple[str, Table]]


def api_rows(profile: Profile) -> Rows:
    """
    Yield PYTORCH_API, CONNECTION_IDS and PYTORCH_CALLCHAINS.

    Calls come as Python frames, entries of the task queue, operators, operators that set marks. An id of
    CONNECTION_IDS stands for all connections of one call: of an entry of the queue its correlation id, of an operator
    the toolkit's calls that it led to and what joins forward to backward. Entries that left the queue have the first
    ids, though their rows come after the entries that went in.
    """
    dequeued, enqueued = _Entries.both_sides(profile.table("queue"))
    marking = _marking(profile.table("host_ops"))
    connections = _connections(profile, marking, _next_connection(profile.table("queue")))
    # Operators are numbered in order of their first connection; one operator's connections stand together.
    connected = connections["op_id"].filter(connections["op_id"].ne_missing(connections["op_id"].shift()))
    numbers = _by_operator(connected, profile.table("host_ops").height, dequeued.height + enqueued.height)
    operators = _Operators.from_rows(profile.table("host_ops"), marking, numbers)
    calls = _Chained((_frames(profile.python_calls), enqueued, dequeued, operators))
    yield "PYTORCH_API", TextTable(tuple(_API), calls.height, lambda offset, count: _calls(calls.slice(offset, count)))
    joined = [pl.col("connectionId").alias("id"), pl.col("connection").alias("connectionId")]
    yield "CONNECTION_IDS", TextTable.from_rows(_Chained((dequeued, enqueued)), joined)
    of_operators = connections.with_columns(gathered(numbers, connections["op_id"]).alias("connectionId"))
    yield "CONNECTION_IDS", TextTable.from_rows(of_operators, [column.cast(pl.Int64) for column in joined])
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


@frozen(eq=False)
class _Chained:
    """Tables one after the other; columns that one of them lacks are null there."""

    parts: tuple[TextRows, ...]

    @property
    def height(self) -> int:
        """Number of rows."""
        return sum(part.height for part in self.parts)

    def slice(self, offset: int, count: int, /) -> pl.DataFrame:
        """Return *count* rows from *offset* on, or those that are left."""
        pieces, end, begin = [], offset + count, 0
        for part in self.parts:
            low, high = max(offset - begin, 0), min(end - begin, part.height)
            if low < high or not count:
                pieces.append(part.slice(low, max(high - low, 0)))
            begin += part.height
        return pl.concat(pieces, how="diagonal_relaxed")


def _frames(python_calls: pl.DataFrame) -> pl.DataFrame:
    frames = python_frames(python_calls).select("name", "start_ns", "end_ns", "pid", "tid")
    return frames.with_columns(pl.lit(_TRACE).alias("type"))


@frozen(eq=False)
class _Entries:
    """What was put into the task queue, or what was taken from it, each with a connection of its own."""

    queue: Stored
    names: QueueNames
    rows: pl.Series
    first: int
    """The connection of the first entry."""

    @classmethod
    def both_sides(cls, queue: Stored) -> tuple[_Entries, _Entries]:
        """Return what was taken, then what was put in, which is numbered after it."""
        names = QueueNames.from_queue(queue)
        dequeued, enqueued = (
            pl.concat(part.select(pl.col("side") == side).to_series() for part in queue.slices("side")).arg_true()
            for side in ("dequeue", "enqueue")
        )
        return cls(queue, names, dequeued, 0), cls(queue, names, enqueued, dequeued.len())

    @property
    def height(self) -> int:
        """Number of rows."""
        return self.rows.len()

    def slice(self, offset: int, count: int, /) -> pl.DataFrame:
        """Return *count* rows from *offset* on, or those that are left."""
        entries = self.names.shown(self.queue.gather(self.rows.slice(offset, count)))
        return entries.select(
            *("start_ns", "end_ns", "pid", "tid"),
            pl.col("shown").alias("name"),
            (pl.int_range(offset, offset + pl.len(), dtype=pl.Int64) + self.first).alias("connectionId"),
            (pl.col("correlation_id") + _FIRST_CONNECTION).alias("connection"),
            pl.lit(_QUEUE).alias("type"),
        )


def _next_connection(queue: Stored) -> int:
    """Return the first connection id that no entry of the task queue has."""
    last = [part["correlation_id"].max() for part in queue.slices("correlation_id")]
    return _FIRST_CONNECTION + max((int(str(each)) + 1 for each in last if each is not None), default=0)


def _marking(operators: Stored) -> pl.Series:
    """Return which operators set marks."""
    return pl.concat(
        part.select(pl.col("name").str.starts_with(MARK_OPERATOR)).to_series() for part in operators.slices("name")
    )


def _by_operator(connected: pl.Series, operators: int, first: int) -> pl.Series:
    """Return by ``op_id`` the number of its connections, null if it has none."""
    numbers = np.full(operators, -1, np.int64)
    numbers[connected.to_numpy()] = first + np.arange(connected.len())
    shown = pl.Series(numbers).to_frame("number").select(pl.when(pl.col("number") >= 0).then("number")).to_series()
    return narrow(shown)


@frozen(eq=False)
class _Operators:
    """The operators, those that set marks last; texts as the timeline shows them, null where it has none."""

    operators: Stored
    rows: pl.Series
    connections: pl.Series
    chains: pl.Series
    """By row: the number of its call stack, null if it has none."""

    @classmethod
    def from_rows(cls, operators: Stored, marking: pl.Series, connections: pl.Series) -> _Operators:
        """Put the operators in order, and number their stacks."""
        rows = pl.concat([(~marking).arg_true(), marking.arg_true()])
        stacked = pl.concat(
            part.select(pl.col("call_stack") != "").to_series() for part in operators.slices("call_stack")
        )
        stacked = gathered(stacked, rows).alias("stacked")
        number = pl.when("stacked").then(pl.col("stacked").cum_sum().cast(pl.Int64) - 1)
        return cls(operators, rows, connections, narrow(stacked.to_frame().select(number).to_series()))

    @property
    def height(self) -> int:
        """Number of rows."""
        return self.rows.len()

    def slice(self, offset: int, count: int, /) -> pl.DataFrame:
        """Return *count* rows from *offset* on, or those that are left."""
        rows = self.rows.slice(offset, count)
        separated = {
            title: pl.col(name).str.replace_all(";", LINE_SEPARATOR, literal=True).replace("", None)
            for title, name in (("inputDtypes", "input_dtypes"), ("inputShapes", "input_shapes"))
        }
        return self.operators.gather(rows).select(
            *("start_ns", "end_ns", "pid", "tid", "name"),
            gathered(self.connections, rows).cast(pl.Int64).alias("connectionId"),
            pl.col("sequence").alias("sequenceNumber"),
            pl.col("fwd_tid").alias("fwdThreadId"),
            *(text.alias(title) for title, text in separated.items()),
            self.chains.slice(offset, count).cast(pl.Int64).alias("callchainId"),
            pl.lit(_OPERATOR).alias("type"),
        )


def _connections(profile: Profile, marking: pl.Series, first: int) -> pl.DataFrame:
    """
    Return ``op_id`` and ``connection``, operators that set marks last.

    For one operator, ids with its sequence number come first.
    """
    operators = profile.table("host_ops")
    pairs = paired_operators(operators, ~marking).with_columns(
        (pl.int_range(pl.len(), dtype=pl.Int64) + first).alias("connection")
    )
    ends = [pairs.select(pl.col(name).alias("op_id"), "connection") for name in ("row", "row_to")]
    # In the fewest bytes that hold them, because there may be as many as operators.
    parts = [
        pl.DataFrame([narrow(column) for column in part])
        for part in (*ends, _launched(profile), _mark_connections(profile, marking))
    ]
    connections = pl.concat(parts, how="vertical_relaxed")
    del pairs, ends, parts
    # An operator's op_id is its row.
    places = connections["op_id"].to_numpy() + operators.height * gathered(marking, connections["op_id"]).to_numpy()
    return connections if _ascending(places) else connections[np.argsort(places, kind="stable")]


def _launched(profile: Profile) -> pl.DataFrame:
    """Return the node calls by which operators launched something, in order of time; what no kernel is, too."""
    link = launching_link(profile)
    times = {"api_ns": pl.col("start_ns"), "api_tid": pl.col("tid")}
    filled = {name: Filled("i8") for name in ("op_id", "connection_id", "start_ns")}
    for part in profile.table("api").slices("level", "name", "connection_id", "start_ns", "tid"):
        calls = link(part.filter(_LAUNCH).with_columns(**times))
        for name, column in filled.items():
            column.append(calls[name].to_numpy())
    del link
    op_id, connection, start_ns = (filled.pop(name).values() for name in tuple(filled))
    if not _ascending(start_ns):
        order = np.lexsort((connection, start_ns))
        op_id, connection = op_id[order], connection[order]
    return pl.DataFrame({"op_id": op_id, "connection": connection})


def _ascending(values: I64) -> bool:
    return bool((values[1:] > values[:-1]).all())


def _mark_connections(profile: Profile, marking: pl.Series) -> pl.DataFrame:
    """Return the marks that operators set through the task queue: set while an entry was worked on that they put in."""
    marks = profile.frame("marks").select(
        pl.col("start_ns").alias("mark_ns"),
        pl.col("end_ns").alias("mark_end_ns"),
        "tid",
        mark_connection().alias("connection"),
    )
    if marks.is_empty() or not marking.any():
        return pl.DataFrame(schema={"op_id": pl.Int64, "connection": pl.Int64})
    dequeued, enqueued = (
        profile.queue.filter(pl.col("side") == side).select("correlation_id", "tid", "start_ns", "end_ns")
        for side in ("dequeue", "enqueue")
    )
    setting = profile.table("host_ops").gather(marking.arg_true(), "op_id", "tid", "start_ns", "end_ns")
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
    placed = rows.sort(start).join_asof(
        spans.sort("start_ns"),
        left_on=start,
        right_on="start_ns",
        by="tid",
        strategy="backward",
        check_sortedness=False,
    )
    return placed.filter(pl.col(end) <= pl.col("end_ns"))


def _callchains(operators: _Operators) -> pl.DataFrame:
    """Return the frames of every call stack, the first one at depth 0."""
    stacked = operators.chains.is_not_null()
    stacks = operators.operators.gather(operators.rows.filter(stacked), "call_stack")
    return (
        stacks.select(
            operators.chains.filter(stacked).cast(pl.Int64).alias("id"),
            pl.col("call_stack").str.split(";").alias("stack"),
        )
        .explode("stack")
        .with_columns(pl.int_range(pl.len(), dtype=pl.Int64).over("id").alias("stackDepth"))
    )
