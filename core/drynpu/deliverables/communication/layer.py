"""The layer Communication: groups with their operators, and the planes below them (cann_msprof.md 4.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from drynpu.tables import NO_MODEL
from drynpu.writers import layers
from drynpu.writers.events import duration_event, flow, launched_by
from drynpu.writers.number_text import Writer, floats_text
from drynpu.writers.trace_json import Events, JsonStyle, Value


def communication_blocks(
    pid: int,
    operations: pl.DataFrame,
    tasks: pl.DataFrame,
    linked: pl.Series,
    style: JsonStyle,
    writer: Writer,
    layer: layers.Layer = layers.COMMUNICATION,
) -> Iterator[Events | Sequence[str]]:
    """
    Yield threads, tasks and operators; *linked* tells which operators have an arrow to them.

    *layer* may have another name than this toolkit's, and nothing else.
    """
    if operations.is_empty():
        return
    groups = collective_threads(operations, tasks)
    for (device_id,), rows in groups.group_by("device_id", maintain_order=True):
        threads = [
            layers.Thread(tid, f"Plane {plane}" if plane >= 0 else _title(group), tid)
            for group, plane, tid in _all_threads(rows).iter_rows()
        ]
        yield layers.metadata_events(pid, layer, int(str(device_id)), threads, style)
    place = groups.select("device_id", "group", "tid")
    if not tasks.is_empty():
        yield _tasks(pid, tasks.join(place, on=["device_id", "group"], how="left", maintain_order="left"))
    yield _operations(
        pid,
        operations.join(place, on=["device_id", "group"], how="left", maintain_order="left").with_columns(
            linked.alias("arrow")
        ),
        writer,
    )


def _title(group: str) -> str:
    return f"Group {group} Communication" if group else "Communication"


def collective_threads(operations: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """
    Return the thread (``tid``) of each ``device_id`` and ``group``, and its ``planes``.

    Plane ``p`` of a group is thread ``tid + p + 1``; the next group follows behind the last plane.
    """
    planes = tasks.group_by("device_id", "group").agg(pl.col("plane_id").unique().sort().alias("planes"))
    width = pl.col("planes").list.max().fill_null(-1) + 2
    return (
        operations.select("device_id", "group")
        .unique(maintain_order=True)
        .join(planes, on=["device_id", "group"], how="left", maintain_order="left")
        .with_columns((width.cum_sum() - width).over("device_id").alias("tid"))
    )


_NO_RANK_SIZE = {Writer.NATIVE: 0, Writer.PYTHON: -1}
"""What a collective without tasks has, as at level0 (cann_msprof.md 4.5)."""


def operation_threads(operations: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """Return the thread (``tid``) of each operation by ``device_id``, ``connection_id`` and ``start_ns``."""
    key = ["device_id", "connection_id", "start_ns"]
    groups = collective_threads(operations, tasks).select("device_id", "group", "tid")
    placed = operations.select(*key, "group").join(groups, on=["device_id", "group"], how="left", maintain_order="left")
    return placed.select(*key, "tid").unique(key, keep="first")


def _all_threads(groups: pl.DataFrame) -> pl.DataFrame:
    """Return group, plane (-1: the group itself) and thread, in order of threads."""
    whole = groups.select("group", pl.lit(-1, pl.Int64).alias("plane"), "tid")
    planes = groups.select("group", pl.col("planes").alias("plane"), "tid").explode("plane").drop_nulls("plane")
    return pl.concat([whole, planes.with_columns(pl.col("tid") + pl.col("plane") + 1)]).sort("tid")


def _operations(pid: int, operations: pl.DataFrame, writer: Writer) -> Events:
    process, thread = layers.layer_pids(pid, layers.COMMUNICATION), pl.col("tid")
    args: dict[str, Value] = {
        "rank_size": pl.col("rank_size").fill_null(_NO_RANK_SIZE[writer]),
        "connection_id": pl.col("connection_id"),
        "model id": pl.col("model_id").fill_null(NO_MODEL),
        "data_type": pl.col("dtype"),
        "alg_type": pl.col("algorithm"),
        "count": _number_or_unknown("count"),
    }
    if writer is Writer.NATIVE:  # the Python path does not tell
        args |= {"relay": _yes_or_no("relay"), "retry": _yes_or_no("retry")}
    rows = operations.with_columns(pl.col("dtype", "algorithm").replace("", "N/A"))
    members = duration_event(pl.col("name"), process, thread, args | launched_by(operations))
    arrow = (pl.col("arrow"), flow("f", process, thread))
    return Events(rows, members, ("name", "dtype", "algorithm", *launched_by(operations)), arrow)


def _tasks(pid: int, tasks: pl.DataFrame) -> Events:
    rows = tasks.with_columns(
        floats_text(tasks["duration_estimated_us"]).alias("estimated"),
        floats_text(tasks["bandwidth_gbs"]).alias("bandwidth"),
        pl.col("name").replace("", "N/A"),
    )
    args: dict[str, Value] = {
        "notify_id": pl.col("notify_id"),
        "duration estimated(us)": pl.col("estimated"),
        "stream id": pl.col("stream_id"),
        "task id": pl.col("task_id"),
        "context id": pl.col("context_id"),
        "task type": pl.col("name"),
        "src rank": pl.col("src_rank"),
        "dst rank": pl.col("dst_rank"),
        "transport type": pl.col("transport"),
        "size(Byte)": pl.col("size_bytes"),
        "data type": pl.col("dtype"),
        "link type": pl.col("link"),
        "bandwidth(GB/s)": pl.col("bandwidth"),
        "model id": pl.col("model_id"),
    }
    thread = pl.col("tid") + pl.col("plane_id") + 1
    members = duration_event(pl.col("name"), layers.layer_pids(pid, layers.COMMUNICATION), thread, args)
    return Events(rows, members, ("name", "notify_id", "transport", "dtype", "link"))


def _number_or_unknown(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String).fill_null(pl.lit('"N/A"'))


def _yes_or_no(name: str) -> pl.Expr:
    said = pl.when(pl.col(name)).then(pl.lit('"yes"')).otherwise(pl.lit('"no"'))
    return pl.when(pl.col(name).is_null()).then(pl.lit('"N/A"')).otherwise(said)
