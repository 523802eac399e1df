"""
The first layers of the toolkit's timeline: CANN, Ascend Hardware and Communication (cann_msprof.md 4.5).

The layers of record groups follow. msprof_*.json is these alone; trace_view.json has them after the host events of
the framework.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl
from attrs import field, frozen
from polars.selectors import categorical

from drynpu.analysis import EVENT_APIS
from drynpu.deliverables.communication._layer import communication_blocks
from drynpu.deliverables.communication.tables import SCHEMAS
from drynpu.deliverables.tasks.facts import ACL_PREFIXES, AclTag
from drynpu.tables import call_name
from drynpu.tables._tasks import PART_ROWS
from drynpu.writers import _layers as layers
from drynpu.writers._events import duration_event, flow, launched_by
from drynpu.writers._json import Events, JsonStyle, Present, Value, constant
from drynpu.writers._numbers import Writer, float_text

Block = Events | Sequence[str]

_API_LAYERS = {
    "acl": "AscendCL",
    "model": "Model",
    "node": "Node",
    "communication": "Communication",
    "runtime": "Runtime",
}
_COPY_OPERATIONS = (
    "host to host",
    "host to device",
    "device to host",
    "device to device",
    "managed memory",
    "addr device to device",
    "host to device ex",
    "device to host ex",
)


@frozen(kw_only=True)
class Timeline:
    """The tables of a profile that these layers show (schemas of the tables room); texts may be categories."""

    pid: int
    api: pl.DataFrame
    tasks: pl.DataFrame
    communication_ops: pl.DataFrame
    communication_tasks: pl.DataFrame = field(factory=lambda: pl.DataFrame(schema=SCHEMAS["communication_tasks"]))
    """Of level1 and above."""
    communication_layer: layers.Layer = layers.COMMUNICATION
    writer: Writer = Writer.NATIVE
    """The Python writer says less about copies and collectives."""


def timeline_blocks(data: Timeline, style: JsonStyle, *, pruned: bool = False) -> Iterator[Block]:
    """Yield the events layer by layer; *pruned* leaves out what trace_view.json drops at Level0."""
    linked = _linked(data)
    yield from _cann(data, linked, style, pruned=pruned)
    yield from _ascend_hardware(data, linked, style, pruned=pruned)
    yield from communication_blocks(
        data.pid, data.communication_ops, data.communication_tasks, linked, style, data.writer, data.communication_layer
    )


def _linked(data: Timeline) -> pl.DataFrame:
    """Connection ids whose arrow has both ends: an API call and a kernel, copy, event task or collective."""
    events = data.api.filter(pl.col("name").is_in(EVENT_APIS)).select("connection_id")
    tasks = data.tasks.filter(_is_launched(events["connection_id"])).select("connection_id")
    ends = pl.concat([tasks, data.communication_ops.select("connection_id")])
    return data.api.select("connection_id").join(ends, on="connection_id", how="semi").unique()


def _is_launched(event_connections: pl.Series) -> pl.Expr:
    return (
        (pl.col("kernel_name") != "")
        | pl.col("copy_bytes").is_not_null()
        | pl.col("connection_id").is_in(event_connections.implode())
    )


def _cann(data: Timeline, linked: pl.DataFrame, style: JsonStyle, *, pruned: bool) -> Iterator[Block]:
    if data.api.is_empty():
        return
    pid = constant(layers.layer_pid(data.pid, layers.CANN))
    threads = [layers.Thread(tid, f"Thread {tid}", tid) for tid in data.api["tid"].unique().sort().to_list()]
    yield layers.metadata_events(data.pid, layers.CANN, layers.HOST_SLOT, threads, style, pruned=pruned)
    calls = _kept(data.api, _api_calls) if pruned else data.api
    args: dict[str, Value] = {
        "Thread Id": pl.col("tid"),
        "Mode": pl.col("mode"),
        "level": pl.col("level"),
        "id": pl.col("shown_id"),
        "item_id": pl.col("shown_item"),
        "connection_id": pl.col("connection_id"),
    }
    texts = ("shown", "mode", "level", "shown_id", "shown_item")
    yield Events(calls, duration_event(pl.col("shown"), pid, pl.col("tid"), args), texts, prepare=_api_calls)
    starts = data.api.select("connection_id", "tid", "start_ns")
    starts = starts.join(linked, on="connection_id", how="semi", maintain_order="left")
    yield Events(starts, flow("s", pid, pl.col("tid")))


def _kept(rows: pl.DataFrame, prepare: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
    """Return the rows that trace_view.json keeps at Level0; *prepare* gives them the column ``shown``."""
    kept = [
        prepare(part.with_columns(categorical().cast(pl.String))).select(layers.kept_at_level0(pl.col("shown")))
        for part in rows.iter_slices(PART_ROWS)
    ]
    return rows.filter(pl.concat(kept).to_series()) if kept else rows


def _api_calls(api: pl.DataFrame) -> pl.DataFrame:
    level, name, item = pl.col("level"), pl.col("name"), pl.col("item")
    mode = pl.lit(AclTag.ACL_OTHERS.name)
    for prefix, tag in reversed(tuple(ACL_PREFIXES.items())):
        mode = pl.when(name.str.starts_with(prefix)).then(pl.lit(tag.name)).otherwise(mode)
    layer = level.replace_strict(list(_API_LAYERS), list(_API_LAYERS.values()), default="Api")
    return api.with_columns(
        pl.concat_str([layer, pl.lit("@"), call_name()]).alias("shown"),
        pl.when(level == "acl").then(mode).otherwise(name).alias("mode"),
        pl.when(level == "acl").then(name).otherwise(pl.lit("0")).alias("shown_id"),
        pl.when(item == "").then(pl.lit("0")).otherwise(item).alias("shown_item"),
        (pl.col("end_ns") - pl.col("start_ns")).alias("duration_ns"),
    )


def _ascend_hardware(data: Timeline, linked: pl.DataFrame, style: JsonStyle, *, pruned: bool) -> Iterator[Block]:
    if data.tasks.is_empty():
        return
    event_apis = data.api.filter(pl.col("name").is_in(EVENT_APIS))["connection_id"]
    arrow = _is_launched(event_apis) & pl.col("connection_id").is_in(linked["connection_id"].implode())
    tasks = data.tasks.with_columns(arrow.alias("arrow"))
    if pruned:
        tasks = _kept(tasks, _shown_tasks)
    pid, tid = layers.layer_pids(data.pid, layers.ASCEND_HARDWARE), pl.col("stream_id")
    launcher = launched_by(tasks)
    members = duration_event(pl.col("shown"), pid, tid, _task_args(data.writer) | launcher)
    ends = (pl.col("arrow"), flow("f", pid, tid))
    yield Events(tasks, members, ("shown", "kernel_type", "operation", *launcher), ends, _shown_tasks)
    for (device_id,), rows in data.tasks.group_by("device_id", maintain_order=True):
        streams = [layers.Thread(tid, f"Stream {tid}", tid) for tid in rows["stream_id"].unique().sort().to_list()]
        yield layers.metadata_events(data.pid, layers.ASCEND_HARDWARE, _number(device_id), streams, style)


def _shown_tasks(tasks: pl.DataFrame) -> pl.DataFrame:
    return tasks.with_columns(
        pl.when(pl.col("kernel_name") == "").then("kernel_type").otherwise("kernel_name").alias("shown"),
        pl.col("copy_kind")
        .replace_strict(list(range(len(_COPY_OPERATIONS))), list(_COPY_OPERATIONS), default="other")
        .alias("operation"),
    )


def _task_args(writer: Writer) -> dict[str, Value]:
    size, duration = pl.col("copy_bytes"), pl.col("duration_ns")
    # Bytes per nanosecond are 10^9 bytes per second; a copy that took no time has no bandwidth.
    bandwidth = pl.when(duration > 0).then(float_text(size / duration)).otherwise(pl.lit('"N/A"'))
    # The Python path says nothing about copies.
    copy = Present(
        size.is_not_null() & pl.lit(writer is Writer.NATIVE),
        {
            "size(B)": size.cast(pl.String).fill_null(""),
            "bandwidth(GB/s)": bandwidth.fill_null(""),
            "operation": pl.col("operation"),
        },
    )
    return {
        "Model Id": pl.col("model_id"),
        "Task Type": pl.col("kernel_type"),
        "Physic Stream Id": pl.col("stream_id"),
        "Task Id": pl.col("task_id"),
        "Batch Id": pl.col("batch_id"),
        "Subtask Id": pl.col("context_id"),
        "connection_id": pl.col("connection_id"),
        "copy": copy,
    }


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"device_id is {value!r}, not an integer")
    return value
