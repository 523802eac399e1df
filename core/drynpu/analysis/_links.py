"""Which framework operator launched which device work (torch_npu_profiler.md 5.3)."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu.analysis._kept import once_per_profile
from drynpu.arrays import I64
from drynpu.tables import NO_CONTEXT, Profile, intervals

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
    kernel_op:
        Table :data:`KERNEL_OP` in order of device and start.
    op_starts, op_ends:
        int64 ``[operators]``: when they run, ns. Nesting does not look at threads.
    """

    kernel_op: pl.DataFrame
    op_starts: I64 = field(repr=False)
    op_ends: I64 = field(repr=False)

    @cached_property
    def op_parent(self) -> I64:
        """int64 ``[operators]``: ``op_id`` of the parent, -1 for roots."""
        return intervals.parents(self.op_starts, self.op_ends)

    @cached_property
    def op_root(self) -> I64:
        """int64 ``[operators]``: ``op_id`` of the outermost operator around each one; a root's own for a root."""
        return intervals.roots(self.op_starts, self.op_ends)

    @property
    def ancestry(self) -> list[I64]:
        """Rows of the tree by depth, roots first."""
        return _levels(self.op_parent)


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
    ops = profile.compact("host_ops", "start_ns", "end_ns", "tid")
    starts, ends = ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy()
    work = _device_work(profile)
    queue = profile.compact("queue", "correlation_id", "side", "start_ns", "end_ns", "tid")
    linked = _through_queue(queue, ops, work) if queue.height else _through_time(work, starts, ends)
    # An operator's op_id is its row.
    table = linked.with_columns(
        ops["tid"].gather(linked["op_id"]).alias("op_tid"), ops["start_ns"].gather(linked["op_id"]).alias("op_start_ns")
    ).sort("device_id", "start_ns", maintain_order=True)
    return Links(table.select(pl.col(name).cast(dtype) for name, dtype in KERNEL_OP.items()), starts, ends)


def _device_work(profile: Profile) -> pl.DataFrame:
    """Return everything a host-to-device flow can end at, with start and thread of the launching API."""
    calls = profile.compact("api", "connection_id", "start_ns", "tid")
    calls = calls.rename({"start_ns": "api_ns", "tid": "api_tid"})
    common = ["device_id", "start_ns", "duration_ns", "connection_id"]
    ids = ["stream_id", "task_id", "context_id"]
    kernels = profile.compact("kernels", *common, *ids, "task_type").select(
        pl.lit("kernel").alias("kind"), *common, *ids, pl.col("task_type").cast(pl.String)
    )
    tasks = profile.compact("tasks", *common, *ids, "kernel_type", "copy_bytes")
    copies = tasks.filter(pl.col("copy_bytes").is_not_null()).select(
        pl.lit("copy").alias("kind"), *common, *ids, pl.col("kernel_type").cast(pl.String).alias("task_type")
    )
    collectives = profile.communication_ops.select(
        pl.lit("communication").alias("kind"),
        *common,
        *(pl.lit(-1, pl.Int64).alias(name) for name in ids[:2]),
        pl.lit(NO_CONTEXT, pl.Int64).alias("context_id"),
        pl.lit("COMMUNICATION").alias("task_type"),
    )
    return _with_calls(pl.concat([kernels, copies, collectives]), calls)


def _with_calls(work: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return *work* with start and thread of the call of its connection; without what no call has launched."""
    first, last = calls["connection_id"].min(), calls["connection_id"].max()
    ids = calls["connection_id"].to_numpy()
    if not isinstance(first, int) or not isinstance(last, int) or (np.diff(ids) != 1).any():
        return work.join(calls, on="connection_id", how="inner", maintain_order="left")
    # Calls are numbered without gaps, so that the number says the row.
    found = work.filter(pl.col("connection_id").is_between(first, last))
    rows = found["connection_id"] - first
    return found.with_columns(calls[name].gather(rows) for name in ("api_ns", "api_tid"))


def _through_queue(queue: pl.DataFrame, ops: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    dequeued = queue.filter(pl.col("side") == "dequeue")
    found = open_at(dequeued, work["api_ns"].to_numpy(), work["api_tid"].to_numpy())
    put = queue.filter(pl.col("side") == "enqueue")
    op = open_at(ops, put["start_ns"].to_numpy(), put["tid"].to_numpy())
    hung = np.flatnonzero(op >= 0)
    ids = np.append(dequeued["correlation_id"].to_numpy(), -1)[found]
    row = first_rows(put["correlation_id"].to_numpy()[hung], ids)
    linked = (found >= 0) & (row >= 0)
    return work.filter(pl.Series(linked)).with_columns(
        pl.Series("correlation_id", ids[linked], dtype=pl.Int64),
        pl.Series("op_id", op[hung][row[linked]], dtype=pl.Int64),
    )


def _through_time(work: pl.DataFrame, starts: I64, ends: I64) -> pl.DataFrame:
    api = work["api_ns"].to_numpy()
    before = np.searchsorted(starts, api, side="right").astype(np.int64)
    # Going down the tree, every operator on the path must be open, not only the last one.
    reach = intervals.last_reaching(_path_ends(ends, intervals.parents(starts, ends)), before, api)
    return work.with_columns(
        pl.col("api_ns").alias("correlation_id"), pl.Series("op_id", reach, dtype=pl.Int64)
    ).filter(pl.col("op_id") >= 0)


def _path_ends(ends: I64, parent: I64) -> I64:
    """Return for every operator the earliest end on its path from the root."""
    lowest = ends.copy()
    for level in _levels(parent)[1:]:
        lowest[level] = np.minimum(lowest[level], lowest[parent[level]])
    return lowest
