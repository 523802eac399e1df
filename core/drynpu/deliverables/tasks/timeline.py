"""
The first layers of the toolkit's timeline: CANN, Ascend Hardware and Communication (cann_msprof.md 4.5).

The layers of record groups follow. msprof_*.json is these alone; trace_view.json has them after the host events of
the framework.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu.analysis import EVENT_APIS
from drynpu.arrays import I64, Bools
from drynpu.deliverables.communication.layer import communication_blocks
from drynpu.deliverables.communication.tables import SCHEMAS
from drynpu.layouts.tasks import ACL_PREFIXES, AclTag
from drynpu.tables import call_name
from drynpu.tables.stored import Stored, stored
from drynpu.writers import layers
from drynpu.writers.events import duration_event, flow, launched_by
from drynpu.writers.number_text import Writer, float_text
from drynpu.writers.trace_json import Events, JsonStyle, Present, Value, constant

Block = Events | Sequence[str]

_API_LAYERS = {
    "acl": "AscendCL",
    "model": "Model",
    "node": "Node",
    "communication": "Communication",
    "runtime": "Runtime",
}
COPY_OPERATIONS = (
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
    """The tables of a profile that these layers show (schemas of the tables room)."""

    pid: int
    api: Stored = field(converter=stored)
    tasks: Stored = field(converter=stored)
    communication_ops: pl.DataFrame
    communication_tasks: pl.DataFrame = field(factory=lambda: pl.DataFrame(schema=SCHEMAS["communication_tasks"]))
    """Of level1 and above."""
    communication_layer: layers.Layer = layers.COMMUNICATION
    writer: Writer = Writer.NATIVE
    """The Python writer says less about copies and collectives."""


def timeline_blocks(data: Timeline, style: JsonStyle, *, pruned: bool = False) -> Iterator[Block]:
    """Yield the events layer by layer; *pruned* leaves out what trace_view.json drops at Level0."""
    arrows = _Arrows.from_timeline(data)
    yield from _cann(data, arrows, style, pruned=pruned)
    yield from _ascend_hardware(data, arrows, style, pruned=pruned)
    linked = arrows.linked.have(data.communication_ops["connection_id"])
    yield from communication_blocks(
        data.pid, data.communication_ops, data.communication_tasks, linked, style, data.writer, data.communication_layer
    )


@frozen(eq=False)
class _Ids:
    """Connection ids, each once and in order."""

    ids: I64

    @classmethod
    def from_parts(cls, parts: Iterable[pl.Series]) -> _Ids:
        """Return the distinct ids of all parts."""
        ids = [part.unique() for part in parts]
        return cls(pl.concat(ids).unique().sort().to_numpy() if ids else np.zeros(0, np.int64))

    def places(self, connection: pl.Series) -> tuple[I64, Bools]:
        """Return where each connection stands here, and whether it does."""
        wanted = connection.to_numpy()
        if not len(self.ids):
            return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), bool)
        place = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        return place, np.asarray(self.ids[place] == wanted)

    def have(self, connection: pl.Series) -> pl.Series:
        """Return which connections are among them."""
        return pl.Series(self.places(connection)[1])


@frozen(eq=False)
class _Arrows:
    """``linked``: connections whose arrow has both ends. ``events``: calls that record or wait for events."""

    linked: _Ids
    events: _Ids

    @classmethod
    def from_timeline(cls, data: Timeline) -> _Arrows:
        """Find an API call for every kernel, copy, event task or collective."""
        is_event = pl.col("name").is_in(EVENT_APIS)
        calls = data.api.slices("name", "connection_id")
        events = _Ids.from_parts(part.filter(is_event)["connection_id"] for part in calls)
        tasks = (
            part.filter(_is_launched(part, events))["connection_id"]
            for part in data.tasks.slices("kernel_name", "copy_bytes", "connection_id")
        )
        ends = _Ids.from_parts([*tasks, data.communication_ops["connection_id"]])
        called = np.zeros(len(ends.ids), bool)
        for part in data.api.slices("connection_id"):
            place, known = ends.places(part["connection_id"])
            called[place[known]] = True
        return cls(_Ids(ends.ids[called]), events)


def _is_launched(tasks: pl.DataFrame, events: _Ids) -> pl.Series:
    by_event = events.have(tasks["connection_id"])
    return tasks.select((pl.col("kernel_name") != "") | pl.col("copy_bytes").is_not_null() | by_event).to_series()


def _cann(data: Timeline, arrows: _Arrows, style: JsonStyle, *, pruned: bool) -> Iterator[Block]:
    if not data.api.height:
        return
    pid = constant(layers.layer_pid(data.pid, layers.CANN))
    tids = pl.concat([part["tid"].unique() for part in data.api.slices("tid")]).unique().sort().to_list()
    threads = [layers.Thread(tid, f"Thread {tid}", tid) for tid in tids]
    yield layers.metadata_events(data.pid, layers.CANN, layers.HOST_SLOT, threads, style, pruned=pruned)
    args: dict[str, Value] = {
        "Thread Id": pl.col("tid"),
        "Mode": pl.col("mode"),
        "level": pl.col("level"),
        "id": pl.col("shown_id"),
        "item_id": pl.col("shown_item"),
        "connection_id": pl.col("connection_id"),
    }
    texts = ("shown", "mode", "level", "shown_id", "shown_item")
    members = duration_event(pl.col("shown"), pid, pl.col("tid"), args)
    yield Events(data.api, members, texts, prepare=_pruning(_api_calls) if pruned else _api_calls)

    def starting(api: pl.DataFrame) -> pl.DataFrame:
        return api.filter(arrows.linked.have(api["connection_id"]))

    yield Events(data.api, flow("s", pid, pl.col("tid")), prepare=starting)


def _pruning(prepare: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Return *prepare* without the rows that trace_view.json drops at Level0; it gives rows the column ``shown``."""
    return lambda rows: prepare(rows).filter(layers.kept_at_level0(pl.col("shown")))


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


def _ascend_hardware(data: Timeline, arrows: _Arrows, style: JsonStyle, *, pruned: bool) -> Iterator[Block]:
    if not data.tasks.height:
        return
    pid, tid = layers.layer_pids(data.pid, layers.ASCEND_HARDWARE), pl.col("stream_id")
    launcher = launched_by(data.tasks.slice(0, 0))
    members = duration_event(pl.col("shown"), pid, tid, _task_args(data.writer) | launcher)
    ends = (pl.col("arrow"), flow("f", pid, tid))

    def shown(tasks: pl.DataFrame) -> pl.DataFrame:
        arrow = _is_launched(tasks, arrows.events) & arrows.linked.have(tasks["connection_id"])
        return _shown_tasks(tasks.with_columns(arrow.alias("arrow")), data.writer)

    texts = ("shown", "shown_type", "operation", *launcher)
    yield Events(data.tasks, members, texts, ends, _pruning(shown) if pruned else shown)
    parts = [part.unique(maintain_order=True) for part in data.tasks.slices("device_id", "stream_id")]
    for (device_id,), rows in pl.concat(parts).group_by("device_id", maintain_order=True):
        streams = [layers.Thread(tid, f"Stream {tid}", tid) for tid in rows["stream_id"].unique().sort().to_list()]
        yield layers.metadata_events(data.pid, layers.ASCEND_HARDWARE, _number(device_id), streams, style)


def _shown_tasks(tasks: pl.DataFrame, writer: Writer) -> pl.DataFrame:
    # The native path says what copied (ascend_hardware_assembler.cpp), the Python path that it was a copy.
    is_shown = pl.lit(writer is Writer.NATIVE) & (pl.col("copy_engine") != "")
    kind = pl.when(is_shown).then("copy_engine").otherwise("kernel_type")
    return tasks.with_columns(
        kind.alias("shown_type"),
        pl.when(pl.col("kernel_name") == "").then("kernel_type").otherwise("kernel_name").alias("shown"),
        pl.col("copy_kind")
        .replace_strict(list(range(len(COPY_OPERATIONS))), list(COPY_OPERATIONS), default="other")
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
        "Task Type": pl.col("shown_type"),
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
