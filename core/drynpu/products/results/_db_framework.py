"""What torch's profiler adds to its database: operators, task queue, Python frames (torch_npu_profiler.md 4.16)."""

from __future__ import annotations

import polars as pl

from drynpu.products.results._database import Database
from drynpu.products.results._spellings import typed
from drynpu.products.results._trace_host import host_ops, python_calls, queue_name
from drynpu.products.torch._db_api import API_TYPES, TID_BITS
from drynpu.tables import GC, QUEUE

_KINDS = {name: number for number, name in API_TYPES.items()}
_DEQUEUE = "Dequeue"
_WORD = r"[A-Za-z]"


def framework_tables(database: Database) -> dict[str, pl.DataFrame]:
    """Return ``host_ops``, ``queue``, ``python_calls`` and ``gc``, as far as the database has them."""
    tables: dict[str, pl.DataFrame] = {}
    calls = database.frame("PYTORCH_API")
    if calls.height:
        calls = _threads(calls)
        operators = calls.filter(pl.col("kind").is_in([_KINDS["op"], _KINDS["mstx"]]))
        tables["host_ops"] = host_ops(_with_stacks(_in_place(operators), database.frame("PYTORCH_CALLCHAINS")))
        tables["queue"] = _queue(calls.filter(pl.col("kind") == _KINDS["queue"]), database.frame("CONNECTION_IDS"))
        tables["python_calls"] = python_calls(calls.filter(pl.col("kind") == _KINDS["trace"]))
    collections = database.frame("GC_RECORD")
    if collections.height:
        tables["gc"] = typed(_threads(collections), GC)
    return tables


def _threads(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(
        (pl.col("global_tid") // TID_BITS).alias("pid"), (pl.col("global_tid") % TID_BITS).alias("tid")
    )


def _in_place(operators: pl.DataFrame) -> pl.DataFrame:
    """
    Return operators with their types and shapes each in the column of that name.

    torch_npu of January 2025 wrote them the other way round. Types are words, shapes only numbers.
    """
    if not {"input_dtypes", "input_shapes"} <= set(operators.columns):
        return operators
    words = [bool(operators[name].str.contains(_WORD).any()) for name in ("input_dtypes", "input_shapes")]
    if words != [False, True]:
        return operators
    return operators.rename({"input_dtypes": "input_shapes", "input_shapes": "input_dtypes"})


def _with_stacks(operators: pl.DataFrame, chains: pl.DataFrame) -> pl.DataFrame:
    if chains.is_empty():
        return operators
    stacks = (
        chains.sort("call_chain", "depth")
        .group_by("call_chain", maintain_order=True)
        .agg(pl.col("frame").str.join(";").alias("call_stack"))
    )
    return operators.join(stacks, on="call_chain", how="left", maintain_order="left")


def _queue(entries: pl.DataFrame, connections: pl.DataFrame) -> pl.DataFrame:
    """Return the task queue; an entry has one connection, which both of its sides share."""
    known = connections.unique("connection_number", keep="first") if connections.height else connections
    rows = entries
    if known.height:
        rows = rows.join(known, on="connection_number", how="left", maintain_order="left")
    identity = pl.col("connection") if known.height else pl.col("connection_number")
    side = pl.when(pl.col("name").str.starts_with(_DEQUEUE)).then(pl.lit("dequeue")).otherwise(pl.lit("enqueue"))
    return typed(
        rows.sort("start_ns", maintain_order=True), QUEUE, correlation_id=identity, side=side, name=queue_name()
    )
