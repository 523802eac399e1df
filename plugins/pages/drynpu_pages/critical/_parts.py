"""The critical path as a table of parts, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from attrs import frozen

from drynpu import at_stage
from drynpu.analysis import step_ranges
from drynpu.analysis.communication import OPERATOR_KEY
from drynpu.arrays import I64
from drynpu.tables import Profile
from drynpu.tables.intervals import intersect, subtract, union
from drynpu_pages.critical._graph import Graph, Kind, graph_of
from drynpu_pages.critical._submitted import UNKNOWN, Host, host_of
from drynpu_pages.critical._work import Work, latest_before, work_of

PATH = pl.Schema(
    {
        "step": pl.String,  # "" without steps
        "kind": pl.String,  # of KIND_NAMES
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,
        "device_id": pl.Int64,  # of work, else null
        "stream_id": pl.Int64,  # of work, else null; -1 of collectives
        "name": pl.String,  # of the kernel or collective, "" for others
        "type": pl.String,  # of the operator or task; what happened for others
        "rank": pl.Int64,  # that was waited for, where it is known
    }
)
"""Parts of the path in order of time. They do not overlap, and all parts of a step add up to it."""

KIND_NAMES = {
    Kind.WORK: "kernel",
    Kind.COLLECTIVE: "collective",
    Kind.RANKS: "other ranks",
    Kind.HOST: "host",
    Kind.QUEUE: "task queue",
    Kind.LAUNCH: "launch",
    Kind.STREAMS: "other stream",
    Kind.GAP: "gap",
}
_WAIT = "Notify_Wait"


@frozen
class Window:
    """A step: its name, where it begins and ends, and where its host part ends; ns."""

    step: str
    begin: int
    end: int
    host_end: int


def critical_path(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`PATH` of a profile.

    A step lasts from the end of the step before to its own end: of its last work, or of its host where that ends
    later. From there the path leads back to what was waited for, again and again. Work waited for its launch, or
    for what ended before it on its stream, whichever came later; a launch for the task queue and the host; the host
    for the device where it called to wait. Threads of the framework count as one line of the host, because autograd's
    works while the script's waits.
    """
    path: pl.DataFrame = profile.keep("critical path", lambda: _path(profile))
    return path


def _path(profile: Profile) -> pl.DataFrame:
    at_stage("Finding the critical path")
    work = work_of(profile)
    windows = windows_of(profile, work)
    if not len(work.start) or not windows:
        return pl.DataFrame(schema=PATH)
    return _described(profile, work, path_parts(work, host_of(profile, work), windows))


def path_parts(work: Work, host: Host, windows: Sequence[Window]) -> pl.DataFrame:
    """
    Return the parts of the paths of steps, in order of time.

    Columns ``start_ns end_ns step``, ``code`` (of `Kind`) and ``work``: the entry of the work, -1 for others.
    """
    graph = graph_of(work, host, np.array([window.host_end for window in windows], np.int64))
    # A view gives plain numbers one by one, without a list of all.
    before, reached = graph.before.data, graph.reached.data
    last_host = len(graph.begin) - len(windows)
    return pl.concat(
        _stretches(graph, window, *_followed(before, reached, window, *_last(graph, work, window, last_host + place)))
        for place, window in enumerate(windows)
    )


def windows_of(profile: Profile, work: Work) -> Sequence[Window]:
    """Return the steps of a profile, each from the end of the one before; all of its work where it has no steps."""
    return list(_windows(profile, work))


def _windows(profile: Profile, work: Work) -> Iterator[Window]:
    ranges = step_ranges(profile).drop_nulls("device_end_ns").sort("device_end_ns")
    if ranges.is_empty():
        if len(work.start):
            yield Window("", int(work.start.min()), int(work.end.max()), UNKNOWN)
        return
    firsts = ranges.select(pl.min_horizontal("host_start_ns", "device_start_ns")).to_series()
    begin = int(firsts[0])
    for step, host_end, end in ranges.select("step_id", "host_end_ns", "device_end_ns").rows():
        if end > begin:
            yield Window(str(step), begin, end, UNKNOWN if host_end is None else host_end)
            begin = end


def _last(graph: Graph, work: Work, window: Window, host: int) -> tuple[int, int]:
    """Return the node with which a step ends, and when."""
    device = int(np.searchsorted(work.end[: graph.work], window.end, side="right")) - 1
    done = int(work.end[device]) if device >= 0 else UNKNOWN
    return (device, done) if done >= window.host_end else (host, window.host_end)


def _followed(
    before: memoryview[int], reached: memoryview[int], window: Window, node: int, at: int
) -> tuple[list[int], list[int]]:
    """Return the nodes of a path, the last first, and when each was reached."""
    nodes, times = [], []
    while node >= 0 and at > window.begin:
        nodes.append(node)
        times.append(at)
        at, node = reached[node], before[node]
    return nodes, times


def _stretches(graph: Graph, window: Window, nodes: list[int], times: list[int]) -> pl.DataFrame:
    """Return the parts of a path in its window: each node, and the time before it in which it waited."""
    node, at = np.array(nodes, np.int64), np.array(times, np.int64)
    begin, reached = graph.begin[node], graph.reached[node]
    # Work that a path leads to may end after the window by which the step before is counted.
    running = (np.minimum(begin, at), at, graph.kind[node].astype(np.int64), np.where(node < graph.work, node, -1))
    gap = (
        np.minimum(reached, running[0]),
        running[0],
        graph.waited[node].astype(np.int64),
        np.full(len(node), -1, np.int64),
    )
    start, end, kind, work = (np.concatenate(pair) for pair in zip(running, gap, strict=True))
    if len(at) and at[0] < window.end:
        start, end = np.append(start, at[0]), np.append(end, window.end)
        kind, work = np.append(kind, Kind.HOST), np.append(work, -1)
    start = np.maximum(start, window.begin)
    rows = pl.DataFrame({"start_ns": start, "end_ns": end, "code": kind, "work": work})
    rows = rows.filter(pl.col("end_ns") > pl.col("start_ns")).sort("start_ns")
    return rows.with_columns(pl.lit(window.step).alias("step"))


def _described(profile: Profile, work: Work, parts: pl.DataFrame) -> pl.DataFrame:
    """Return table `PATH` of parts, with the waiting of collectives apart."""
    rows = work.rows.select(
        pl.col("item").alias("work"),
        *("row", "device_id", "stream_id", "connection_id", "is_collective"),
        pl.col("start_ns").alias("began_ns"),
    )
    placed = parts.join(rows, on="work", how="left", maintain_order="left").with_columns(
        pl.lit(None, pl.Int64).alias("rank")
    )
    placed = _split(profile, placed)
    kind = pl.col("code").replace_strict({int(key): name for key, name in KIND_NAMES.items()}, return_dtype=pl.String)
    named = _named(profile, placed.with_columns(kind.alias("kind")))
    return named.select(pl.col(name).cast(dtype) for name, dtype in PATH.items())


def _split(profile: Profile, parts: pl.DataFrame) -> pl.DataFrame:
    """Return *parts* where the time that collectives waited for another rank is parts of its own, with that rank."""
    tasks = profile.frame("communication_tasks") if "communication_tasks" in profile.schemas else pl.DataFrame()
    chosen = parts.filter(pl.col("code") == Kind.COLLECTIVE)
    if tasks.is_empty() or chosen.is_empty():
        return parts
    waits = (
        tasks.filter((pl.col("name") == _WAIT) & pl.col("is_master") & (pl.col("duration_ns") > 0))
        .join(chosen.select(OPERATOR_KEY).unique(), on=OPERATOR_KEY, how="semi")
        .with_columns((pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns"))
        .sort("start_ns")
    )
    whole = chosen.select("start_ns", "end_ns").to_numpy()
    times = union(waits.select("start_ns", "end_ns").to_numpy().astype(np.int64))
    waited = _cut(chosen, intersect(whole, times)).with_columns(pl.lit(int(Kind.RANKS), pl.Int64).alias("code"))
    place = latest_before(*_one_group(waits["start_ns"].to_numpy()), *_one_group(waited["start_ns"].to_numpy()))
    rank = pl.Series("rank", waits["dst_rank"].to_numpy()[place] if len(place) else [], dtype=pl.Int64)
    waited = waited.with_columns(rank).with_columns(pl.when(pl.col("rank") >= 0).then("rank").alias("rank"))
    moved = _cut(chosen, subtract(whole, times))
    rest = parts.filter(pl.col("code") != Kind.COLLECTIVE)
    return pl.concat([rest, moved, waited.select(parts.columns)]).sort("start_ns", maintain_order=True)


def _one_group(times: I64) -> tuple[I64, I64]:
    return np.zeros(len(times), np.int64), times


def _cut(parts: pl.DataFrame, pieces: I64) -> pl.DataFrame:
    """Return the rows of *parts* that hold the pieces, with the times of these."""
    pieces = _at_bounds(pieces, parts["start_ns"].to_numpy())
    row = np.searchsorted(parts["start_ns"].to_numpy(), pieces[:, 0], side="right") - 1
    return parts[row].with_columns(pl.Series("start_ns", pieces[:, 0]), pl.Series("end_ns", pieces[:, 1]))


def _at_bounds(pieces: I64, bounds: I64) -> I64:
    """Return *pieces* cut at the bounds inside them: parts that touch are parts all the same."""
    if not len(pieces):
        return pieces
    inner = bounds[
        (np.searchsorted(pieces[:, 0], bounds, side="left") > np.searchsorted(pieces[:, 1], bounds, side="right"))
    ]
    edges = np.sort(np.concatenate([pieces.reshape(-1), inner, inner]))
    return edges.reshape(-1, 2)


def _named(profile: Profile, parts: pl.DataFrame) -> pl.DataFrame:
    """Return *parts* with name and type of their work; of others the type says what happened."""
    of_task = (pl.col("work") >= 0) & ~pl.col("is_collective")
    mine = parts.filter(of_task).select("work", "row", "device_id", "stream_id", "began_ns").unique("work")
    tasks = profile.rows("tasks", mine["row"]).select("kernel_name", "kernel_type")
    place = ["device_id", "stream_id", "began_ns"]
    kernels = profile.compact("kernels", "device_id", "stream_id", "start_ns", "op_type").rename(
        {"start_ns": "began_ns"}
    )
    kernels = kernels.join(mine, on=place, how="semi").with_columns(pl.col("op_type").cast(pl.String))
    typed = mine.hstack(tasks).join(kernels.unique(place), on=place, how="left")
    known = [pl.when(~pl.col(name).is_in(["", "N/A"])).then(name) for name in ("op_type", "kernel_name", "kernel_type")]
    typed = typed.select("work", pl.coalesce(known[1], known[2]).alias("name"), pl.coalesce(known).alias("type"))
    operations = profile.communication_ops.with_row_index("row").select(
        "row", pl.col("name").alias("operation"), pl.col("op_type").alias("operation_type")
    )
    whole = parts.join(typed, on="work", how="left", maintain_order="left").join(
        operations, on="row", how="left", maintain_order="left"
    )
    is_collective = pl.col("is_collective").fill_null(value=False)
    return whole.with_columns(
        pl.when(is_collective).then("operation").otherwise("name").fill_null("").alias("name"),
        pl.when(is_collective).then("operation_type").otherwise("type").fill_null(pl.col("kind")).alias("type"),
    )
