"""When the host had put work on its stream, on which thread, and through which entry of the task queue."""

from __future__ import annotations

import numpy as np
import polars as pl
from attrs import frozen

from drynpu.analysis.links import first_rows
from drynpu.arrays import I64, Bools
from drynpu.layouts.tasks import MODEL_EXECUTE
from drynpu.tables import NO_MODEL, Profile
from drynpu.tables.intervals import innermost
from drynpu_pages.critical._work import Work, latest_before

_API = ("connection_id", "level", "name", "item", "tid", "start_ns", "end_ns")
_SYNC = r"(?i)synchronize(device|stream|event)"
_SYNC_ALL = r"(?i)synchronizedevice"
UNKNOWN = np.iinfo(np.int64).min // 4
"""A time before all others: nobody knows it."""


@frozen(eq=False)
class Queue:
    """Entries of the task queue as they were taken out, by thread and start; all of shape ``[q]``, times in ns."""

    start: I64
    end: I64
    tid: I64
    put: I64
    """When the framework had put them in."""


@frozen(eq=False)
class Host:
    """
    The host's side of work.

    Attributes
    ----------
    submitted:
        When each entry of the work certainly was on its stream, ns, ``[n]``; `UNKNOWN` where no call is known.
    entry:
        Its place in the queue, ``[n]``; -1 where it did not come through it.
    waits:
        Start and end of the calls that wait for a device, ``[w, 2]``, by end.
    is_for_all:
        Which of these wait for all of its streams, ``[w]``.
    """

    submitted: I64
    entry: I64
    queue: Queue
    waits: I64
    is_for_all: Bools


def host_of(profile: Profile, work: Work) -> Host:
    """Return who submitted *work*, and when."""
    api = profile.compact("api", *_API)
    queue = _queue(profile)
    submitted, called, thread = _submitted(api, work)
    entry = innermost(queue.start, queue.end, queue.tid, called, thread)
    # Threads that empty the queue are waited for through it.
    outside = ~pl.col("tid").is_in(pl.Series(np.unique(queue.tid)).implode())
    names = api["name"].unique().cast(pl.String)
    waiting = pl.col("name").is_in(names.filter(names.str.contains(_SYNC)).to_list())
    for_all = pl.col("name").is_in(names.filter(names.str.contains(_SYNC_ALL)).to_list()).alias("for_all")
    waits = api.filter(waiting & outside).select("start_ns", "end_ns", for_all).sort("end_ns", "start_ns")
    times = waits.select("start_ns", "end_ns").to_numpy().astype(np.int64).reshape(-1, 2)
    return Host(submitted, entry, queue, times, waits["for_all"].to_numpy())


def _queue(profile: Profile) -> Queue:
    rows = profile.compact("queue", "correlation_id", "side", "start_ns", "end_ns", "tid")
    put = rows.filter(pl.col("side") == "enqueue")
    removed = rows.filter(pl.col("side") == "dequeue").sort("tid", "start_ns", "end_ns")
    place = first_rows(put["correlation_id"].to_numpy(), removed["correlation_id"].to_numpy())
    bounds = put.select(pl.col("start_ns").alias("put_from"), pl.col("end_ns").alias("put_ns"))
    removed = removed.hstack(_gathered(bounds, place))
    # What is taken out before it is said to be in was in before that was said.
    put_ns = pl.when(pl.col("put_ns") <= pl.col("start_ns")).then("put_ns").otherwise("put_from")
    known = removed.with_columns(pl.min_horizontal(put_ns.fill_null(pl.col("start_ns")), "start_ns").alias("put_ns"))
    return Queue(*(known[name].to_numpy() for name in ("start_ns", "end_ns", "tid", "put_ns")))


def _gathered(rows: pl.DataFrame, places: I64) -> pl.DataFrame:
    """Return rows at *places*, nulls where one is -1."""
    return rows.select(pl.all().gather(pl.Series(places).replace(-1, None)))


def _submitted(api: pl.DataFrame, work: Work) -> tuple[I64, I64, I64]:
    """
    Return when each entry certainly was on its stream, when the call that put it there began, and its thread.

    A call that ended before the work began was done by then; of one that had not, only the begin is certain. Work of a
    loaded graph is put on its stream by the execution of the graph.
    """
    calls = api.select("tid", pl.col("start_ns").alias("from_ns"), pl.col("end_ns").alias("until_ns"))
    place = first_rows(api["connection_id"].to_numpy(), work.rows["connection_id"].to_numpy())
    rows = work.rows.hstack(_gathered(calls, place))
    executions = api.filter(pl.col("name") == MODEL_EXECUTE)
    if executions.height and (rows["model_id"] != NO_MODEL).any():
        rows = _executed(rows, executions)
    known = rows["from_ns"].is_not_null().to_numpy()
    start, begin, end = (rows[name].fill_null(UNKNOWN).to_numpy() for name in ("start_ns", "from_ns", "until_ns"))
    thread = rows["tid"].fill_null(-1).to_numpy()
    inner = api.filter(pl.col("level") == "runtime").sort("tid", "end_ns")
    inner_end = inner["end_ns"].to_numpy()
    certain, called = np.where(start >= end, end, np.minimum(begin, start)), np.flatnonzero(known)
    at = np.minimum(start, end)[called]
    place = latest_before(inner["tid"].to_numpy(), inner_end, thread[called], at)
    within = (place >= 0) & (
        inner["start_ns"].to_numpy()[np.maximum(place, 0)] >= begin[called] if len(inner_end) else False
    )
    certain[called[within]] = inner_end[place[within]]
    return np.where(known, certain, UNKNOWN), begin, thread


def _executed(rows: pl.DataFrame, executions: pl.DataFrame) -> pl.DataFrame:
    """Return *rows* where work of a graph has the last execution of the graph before it as its call."""
    ran = executions.select(
        pl.col("item").cast(pl.String).cast(pl.Int64, strict=False).alias("model_id"),
        pl.col("start_ns").alias("ran_from"),
        pl.col("end_ns").alias("ran_until"),
        pl.col("tid").alias("ran_tid"),
    ).sort("ran_from")
    near = (
        rows.sort("start_ns")
        .join_asof(
            ran, left_on="start_ns", right_on="ran_from", by="model_id", strategy="backward", check_sortedness=False,
            coalesce=False,
        )
        .sort("item")
    )  # fmt: skip
    is_of_graph = (pl.col("model_id") != NO_MODEL) & pl.col("ran_from").is_not_null()
    pairs = (("from_ns", "ran_from"), ("until_ns", "ran_until"), ("tid", "ran_tid"))
    return near.with_columns(pl.when(is_of_graph).then(ran).otherwise(call).alias(call) for call, ran in pairs)
