"""Which framework operator launched which device work (torch_npu_profiler.md 5.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu.analysis._kept import once_per_profile
from drynpu.arrays import I64
from drynpu.tables import NO_CONTEXT, Profile, intervals
from drynpu.tables.stored import Filled, Gathered, Stored

KERNEL_OP = pl.Schema(
    {
        "kind": pl.String,  # kernel, copy or communication
        "device_id": pl.Int64,
        "stream_id": pl.Int64,  # -1 for communication, which spans streams
        "task_id": pl.Int64,
        "context_id": pl.Int64,
        "start_ns": pl.Int64,
        "duration_ns": pl.Int64,
        "task_type": pl.String,
        "connection_id": pl.Int64,  # API call that launched it
        "correlation_id": pl.Int64,  # task queue entry; start of the launching API where there is no task queue
        "op_id": pl.Int64,
        "op_tid": pl.Int64,
        "op_start_ns": pl.Int64,
    }
)
"""Device work with the innermost framework operator behind it; work that no operator claims has no row."""


@frozen(eq=False)
class Links:
    """
    The operator tree and what hangs on it.

    Attributes
    ----------
    table:
        Table :data:`KERNEL_OP` in order of device and start, as it is kept.
    operators:
        The framework's operators as they are kept; the ``op_id`` of one is its row. Nesting does not look at threads.
    """

    table: Stored
    operators: Stored = field(repr=False)

    @property
    def kernel_op(self) -> pl.DataFrame:
        """Table :data:`KERNEL_OP` as a whole."""
        return self.table.frame()

    @property
    def op_starts(self) -> I64:
        """int64 ``[operators]``: when they begin, ns."""
        return _times(self.operators)[0]

    @property
    def op_ends(self) -> I64:
        """int64 ``[operators]``: when they end, ns."""
        return _times(self.operators)[1]

    @cached_property
    def op_parent(self) -> I64:
        """int64 ``[operators]``: ``op_id`` of the parent, -1 for roots."""
        return intervals.parents(*_times(self.operators))

    @cached_property
    def op_root(self) -> I64:
        """int64 ``[operators]``: ``op_id`` of the outermost operator around each one; a root's own for a root."""
        return intervals.roots(*_times(self.operators))

    @property
    def ancestry(self) -> list[I64]:
        """Rows of the tree by depth, roots first."""
        return _levels(self.op_parent)


def _times(operators: Stored) -> tuple[I64, I64]:
    return operators.column("start_ns").to_numpy(), operators.column("end_ns").to_numpy()


def _levels(parent: I64) -> list[I64]:
    depth = np.where(parent < 0, 0, -1)
    levels = [np.flatnonzero(parent < 0)]
    rest = np.flatnonzero(depth < 0)
    while len(rest):
        ready = depth[parent[rest]] >= 0
        levels.append(rest[ready])
        depth[levels[-1]] = len(levels) - 1
        rest = rest[~ready]
    return levels


def sum_up(links: Links, values: I64) -> I64:
    """Return for every operator the sum of *values* (``[operators]``) over itself and all operators below it."""
    total = values.copy()
    for level in reversed(links.ancestry[1:]):
        np.add.at(total, links.op_parent[level], total[level])
    return total


def open_at(rows: pl.DataFrame, time_ns: I64, tid: I64) -> I64:
    """Return the position of the innermost row (``start_ns``, ``end_ns``, ``tid``) open at each time, -1 if none."""
    start, end, thread = (rows[name].to_numpy() for name in ("start_ns", "end_ns", "tid"))
    return intervals.innermost(start, end, thread, time_ns, tid)


def first_rows(ids: I64, wanted: I64) -> I64:
    """Return the row at which each wanted id stands first in *ids*, -1 where it is not there."""
    if not len(ids):
        return np.full(len(wanted), -1)
    is_sorted = bool((ids[1:] >= ids[:-1]).all())
    order = np.arange(len(ids)) if is_sorted else np.argsort(ids, kind="stable")
    ordered = ids if is_sorted else ids[order]
    place = np.minimum(np.searchsorted(ordered, wanted), len(ids) - 1)
    return np.where(ordered[place] == wanted, order[place], -1)


@once_per_profile
def link_operators(profile: Profile) -> Links:
    """
    Link kernels, copies and communication operations to framework operators.

    With a task queue, the API that launched a kernel lies in a dequeue interval of its thread; the enqueue of the
    same correlation id hangs on the innermost operator open on its thread at that time. Without one, the launching
    API is found in the operator tree by time alone. A launch outside every dequeue interval of a profile with a
    task queue stays unlinked, as it does in the vendor's parser.
    """
    operators, link, linked = profile.table("host_ops"), launching_link(profile), Gathered(KERNEL_OP)
    for work in _device_work(profile):
        links = link(work)
        if links.is_empty():
            continue
        launching = operators.gather(links["op_id"], "tid", "start_ns")
        links = links.with_columns(launching["tid"].alias("op_tid"), launching["start_ns"].alias("op_start_ns"))
        linked.append(links.select(pl.col(name).cast(dtype) for name, dtype in KERNEL_OP.items()))
    del link
    return Links(linked.table().ordered("device_id", "start_ns"), operators)


def launching_link(profile: Profile) -> Link:
    """Return how calls (``api_ns``, ``api_tid``) are linked to the operators that led to them."""
    operators, queue = profile.table("host_ops"), profile.table("queue")
    return _through_queue(queue, operators) if queue.height else _through_time(operators)


def _device_work(profile: Profile) -> Iterator[pl.DataFrame]:
    """Yield in parts all that a host-to-device flow can end at, with start and thread of the launching API."""
    call = CallsByConnection.from_api(profile.table("api"))
    common = ("device_id", "start_ns", "duration_ns", "connection_id")
    ids = ("stream_id", "task_id", "context_id")
    for part in profile.table("kernels").slices(*common, *ids, "task_type"):
        yield call.of_work(part.select(pl.lit("kernel").alias("kind"), *common, *ids, "task_type"))
    for part in profile.table("tasks").slices(*common, *ids, "kernel_type", "copy_bytes"):
        copies = part.filter(pl.col("copy_bytes").is_not_null())
        kind = pl.lit("copy").alias("kind")
        yield call.of_work(copies.select(kind, *common, *ids, pl.col("kernel_type").alias("task_type")))
    yield call.of_work(
        profile.communication_ops.select(
            pl.lit("communication").alias("kind"),
            *common,
            *(pl.lit(-1, pl.Int64).alias(name) for name in ids[:2]),
            pl.lit(NO_CONTEXT, pl.Int64).alias("context_id"),
            pl.lit("COMMUNICATION").alias("task_type"),
        )
    )


@frozen(eq=False)
class CallsByConnection:
    """Calls by connection: numbered without gaps from *first* on, so that the number says the row, or all of them."""

    api: Stored
    first: int
    every: pl.DataFrame | None

    @classmethod
    def from_api(cls, api: Stored) -> CallsByConnection:
        """Look at how calls are numbered."""
        expected = None
        for part in api.slices("connection_id"):
            ids = part["connection_id"].to_numpy()
            if part["connection_id"].null_count() or (len(ids) and expected is not None and ids[0] != expected):
                return cls(api, 0, api.frame())
            if (np.diff(ids) != 1).any():
                return cls(api, 0, api.frame())
            expected = int(ids[-1]) + 1 if len(ids) else expected
        return cls(api, 0 if expected is None else expected - api.height, None)

    def of_work(self, work: pl.DataFrame) -> pl.DataFrame:
        """Return *work* with start and thread of the call of its connection; without what no call has launched."""
        return self.joined(work, {"start_ns": "api_ns", "tid": "api_tid"})

    def joined(self, work: pl.DataFrame, columns: Mapping[str, str]) -> pl.DataFrame:
        """Return *work* with columns of the call of its connection, under the names given; without what has none."""
        if self.every is not None:
            calls = self.every.select("connection_id", *columns).rename(dict(columns))
            return work.join(calls, on="connection_id", how="inner", maintain_order="left")
        last = self.first + self.api.height - 1
        connected = work.filter(pl.col("connection_id").is_between(self.first, last))
        calls = self.api.gather(connected["connection_id"] - self.first, *columns)
        return connected.hstack(calls.rename(dict(columns)))


Link = Callable[[pl.DataFrame], pl.DataFrame]
"""Returns the rows of work that an operator launched, with ``correlation_id`` and ``op_id``."""


def _through_queue(queue: Stored, operators: Stored) -> Link:
    put_ids, put_by = _put(queue, operators)
    sides = [
        part.filter(pl.col("side") == "dequeue").drop("side")
        for part in queue.slices("side", "correlation_id", "start_ns", "end_ns", "tid")
    ]
    dequeued = pl.concat(sides)
    del sides
    ids = np.append(dequeued["correlation_id"].to_numpy(), -1)
    open_entries = _open(dequeued)
    del dequeued

    def link(work: pl.DataFrame) -> pl.DataFrame:
        entry = open_entries.around(work["api_ns"].to_numpy(), work["api_tid"].to_numpy())
        row = first_rows(put_ids, ids[entry])
        linked = (entry >= 0) & (row >= 0)
        return work.filter(pl.Series(linked, dtype=pl.Boolean)).with_columns(
            pl.Series("correlation_id", ids[entry[linked]], dtype=pl.Int64),
            pl.Series("op_id", put_by[row[linked]], dtype=pl.Int64),
        )

    return link


def _put(queue: Stored, operators: Stored) -> tuple[I64, I64]:
    """Return the correlation ids of entries that an operator put into the queue, and by which one."""
    open_operators = _open(operators.slice(0, operators.height, "start_ns", "end_ns", "tid"))
    ids, by = Filled("i8"), Filled("i8")
    for part in queue.slices("side", "correlation_id", "start_ns", "tid"):
        put = part.filter(pl.col("side") == "enqueue")
        op = open_operators.around(put["start_ns"].to_numpy(), put["tid"].to_numpy())
        ids.append(put["correlation_id"].to_numpy()[op >= 0])
        by.append(op[op >= 0])
    return ids.values(), by.values()


def _open(rows: pl.DataFrame) -> intervals.OpenIntervals:
    return intervals.OpenIntervals.from_bounds(*(rows[name].to_numpy() for name in ("start_ns", "end_ns", "tid")))


def _through_time(operators: Stored) -> Link:
    starts, ends = _times(operators)
    # Going down the tree, every operator on the path must be open, not only the last one.
    path_ends = intervals.Maxima(_path_ends(ends, intervals.parents(starts, ends)))

    def link(work: pl.DataFrame) -> pl.DataFrame:
        api = work["api_ns"].to_numpy()
        before = np.searchsorted(starts, api, side="right").astype(np.int64)
        reach = path_ends.last_reaching(before, api)
        return work.with_columns(
            pl.col("api_ns").alias("correlation_id"), pl.Series("op_id", reach, dtype=pl.Int64)
        ).filter(pl.col("op_id") >= 0)

    return link


def _path_ends(ends: I64, parent: I64) -> I64:
    """Return for every operator the earliest end on its path from the root."""
    lowest = ends.copy()
    for level in _levels(parent)[1:]:
        lowest[level] = np.minimum(lowest[level], lowest[parent[level]])
    return lowest
