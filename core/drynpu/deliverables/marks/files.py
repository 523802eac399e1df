"""User marks: msprof_tx and the application layer (cann_msprof.md 4.4, 4.5; Ascend/msprof msproftx_viewer)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from drynpu.tables import Profile
from drynpu.writers import layers as shown
from drynpu.writers.events import duration_event, launched_by
from drynpu.writers.number_text import UNKNOWN, Writer, us_text
from drynpu.writers.trace_json import Events, JsonStyle, Value, constant

Block = Events | Sequence[str]


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return msprof_tx: the host's columns, then the times on the device."""
    del writer
    return {"msprof_tx": _table(profile.frame("marks"))}


def _known(value: pl.Expr, where: pl.Expr | None = None) -> pl.Expr:
    text = value.cast(pl.String)
    return (text if where is None else pl.when(where).then(text)).fill_null(UNKNOWN)


def _table(marks: pl.DataFrame) -> pl.DataFrame:
    plain = pl.col("mark_id").is_null()
    return marks.select(
        pl.col("device_id").cast(pl.String).fill_null("host").alias("Device_id"),
        pl.col("pid").cast(pl.String),
        pl.col("tid").cast(pl.String),
        _known(pl.col("category"), plain).alias("category"),
        "event_type",
        _known(pl.col("payload_type"), plain).alias("payload_type"),
        _known(pl.col("payload"), plain).alias("payload_value"),
        us_text(pl.col("start_ns"), "\t").alias("Start_time(us)"),
        us_text(pl.col("end_ns"), "\t").alias("End_time(us)"),
        _known(pl.col("message_type"), plain).alias("message_type"),
        "message",
        _known(pl.col("domain")).alias("domain"),
        us_text(pl.col("device_start_ns"), "\t").fill_null(UNKNOWN).alias("Device Start_time(us)"),
        us_text(pl.col("device_end_ns"), "\t").fill_null(UNKNOWN).alias("Device End_time(us)"),
    )


def layers(profile: Profile, style: JsonStyle, writer: Writer) -> Iterator[Block]:
    """Yield the application layer, and the rows of markers in Ascend Hardware, with the arrows between them."""
    del writer
    marks = profile.frame("marks").with_columns(
        (pl.col("end_ns") - pl.col("start_ns")).alias("duration_ns"),
        pl.col("domain").fill_null(""),
    )
    if marks.is_empty():
        return
    yield from _application(profile, marks, style)
    yield from _device(profile, marks.filter(pl.col("device_id").is_not_null()), style)


def trace_files(profile: Profile, style: JsonStyle, writer: Writer) -> Mapping[str, Iterator[Block]]:
    """Return the events of msprof_tx_*.json: the same as in the timeline."""
    return {"msprof_tx": layers(profile, style, writer)}


def _application(profile: Profile, marks: pl.DataFrame, style: JsonStyle) -> Iterator[Block]:
    layer = shown.Layer(profile.pid_name, shown.APPLICATION_INDEX, "CPU")
    threads = [shown.Thread(tid, f"Thread {tid}", tid) for tid in marks["tid"].unique().sort().to_list()]
    yield shown.metadata_events(profile.pid, layer, shown.HOST_SLOT, threads, style)
    pid, tid = constant(shown.layer_pid(profile.pid, layer)), pl.col("tid")
    plain: dict[str, Value] = {
        "Category": ('"', pl.col("category").cast(pl.String), '"'),
        "Payload_type": pl.col("payload_type"),
        "Payload_value": pl.col("payload"),
        "Message_type": pl.col("message_type"),
        "event_type": pl.col("event_type"),
    }
    extended: dict[str, Value] = {"event_type": pl.col("event_type"), "domain": pl.col("domain")}
    launcher = launched_by(marks)
    plain, extended = plain | launcher, extended | launcher
    is_plain = pl.col("mark_id").is_null()
    texts = ("message", "event_type", "domain", *launcher)
    yield Events(marks.filter(is_plain), duration_event(pl.col("message"), pid, tid, plain), texts)
    yield Events(
        marks.filter(~is_plain),
        duration_event(pl.col("message"), pid, tid, extended),
        texts,
        (pl.col("device_id").is_not_null(), _flow("s", pid, tid, "start_ns")),
    )


def _device(profile: Profile, marks: pl.DataFrame, style: JsonStyle) -> Iterator[Block]:
    rows = marks.with_columns(
        pl.col("device_start_ns").alias("start_ns"),
        (pl.col("device_end_ns") - pl.col("device_start_ns")).alias("duration_ns"),
    )
    for device_id in rows["device_id"].unique().sort().to_list():
        streams = rows.filter(pl.col("device_id") == device_id)["stream_id"].unique().sort().to_list()
        threads = [shown.Thread(stream, f"Stream {stream}", stream) for stream in streams]
        yield shown.metadata_events(profile.pid, shown.ASCEND_HARDWARE, device_id, threads, style)
    pid, tid = shown.layer_pids(profile.pid, shown.ASCEND_HARDWARE), pl.col("stream_id")
    args: dict[str, Value] = {"Physic Stream Id": pl.col("stream_id"), "Task Id": pl.col("task_id")}
    arrow = (pl.lit(True), _flow("f", pid, tid, "start_ns"))
    yield Events(rows, duration_event(pl.col("message"), pid, tid, args), ("message",), arrow)


def _flow(phase: str, pid: Value, tid: pl.Expr, time: str) -> dict[str, Value]:
    identity = pl.col("mark_id").cast(pl.String)
    members: dict[str, Value] = {
        "name": ('"MsTx_', identity, '"'),
        "pid": pid,
        "tid": tid,
        "ph": constant(phase),
        "cat": '"MsTx"',
        "id": ('"', identity, '"'),
        "ts": ('"', us_text(pl.col(time)), '"'),
    }
    return members if phase == "s" else {**members, "bp": '"e"'}
