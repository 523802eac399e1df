"""User marks: msproftx records of the host, with the markers that the device left in the step trace."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from drynpu.arrays import I64, Bools, Records
from drynpu.deliverables.load_context import LoadContext
from drynpu.layouts.marks import MarkKind, MarkPart
from drynpu.tables.columns import empty, frame, gather_text, texts
from drynpu.tables.sides import DeviceSide

MARKS = pl.Schema(
    {
        "mark_id": pl.Int64,  # of extended marks; null for plain ones
        "pid": pl.Int64,
        "tid": pl.Int64,
        "event_type": pl.String,  # marker, push/pop, start/end, marker_ex
        "category": pl.Int64,
        "payload_type": pl.Int64,
        "payload": pl.UInt64,
        "message_type": pl.Int64,
        "message": pl.String,
        "domain": pl.String,  # null for plain marks
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,
        "device_id": pl.Int64,  # this and the rest: null unless the device saw the mark
        "stream_id": pl.Int64,
        "task_id": pl.Int64,
        "device_start_ns": pl.Int64,
        "device_end_ns": pl.Int64,
    }
)
"""One row per mark or range of the user, by start."""


SCHEMAS: Mapping[str, pl.Schema] = {"marks": MARKS}

_EVENTS: Mapping[int, str] = {
    MarkKind.POINT.value: "marker",
    MarkKind.PUSH_POP.value: "push/pop",
    MarkKind.START_END.value: "start/end",
    MarkKind.EXTENDED_POINT.value: "marker_ex",
}
_MARKER_TAGS = (11, 12)
"""Tags of marks and of ranges (Ascend/msprof msproftx_model)."""
_UNKNOWN_DOMAIN = "invalid"
_ON_DEVICE = ("device_id", "stream_id", "task_id", "device_start_ns", "device_end_ns")


def load(context: LoadContext) -> dict[str, pl.DataFrame]:
    """Return the marks; extended ones are put together from their segments in order, as the vendor does."""
    records = context.reader.read("msproftx")
    if not len(records):
        return {}
    is_extended = records["info_type"] == int(MarkPart.EXTENDED_MARK)
    first, message = _joined(records, is_extended, context.notes)
    kept = records[first]
    extended = pl.Series(is_extended[first])
    domain = gather_text(context.words.hashes, kept["domain"]).replace("", _UNKNOWN_DOMAIN)
    columns = {
        "mark_id": kept["mark_id"],
        "pid": kept["pid"],
        "tid": kept["tid"],
        "event_type": texts(kept["event_type"], lambda kind: _EVENTS.get(kind, "")),
        "category": kept["category"],
        "payload_type": kept["payload_type"],
        "payload": kept["payload"],
        "message_type": kept["message_type"],
        "message": message,
        "domain": domain,
        "start_ns": context.clock.host_to_unix(kept["start"].astype(np.int64)),
        "end_ns": context.clock.host_to_unix(kept["end"].astype(np.int64)),
    }
    host = frame(pl.Schema({name: MARKS[name] for name in columns}), columns)
    host = host.with_columns(pl.when(extended).then(pl.col(name)).alias(name) for name in ("mark_id", "domain"))
    markers = pl.concat([_markers(context, side) for side in context.devices] or [empty(_device_schema())])
    joined = host.join(markers.unique("mark_id", keep="first"), on="mark_id", how="left", maintain_order="left")
    return {"marks": joined.select(MARKS.names()).sort("start_ns", maintain_order=True)}


def _joined(records: Records, is_extended: Bools, notes: list[str]) -> tuple[I64, pl.Series]:
    """Return the row of the first record of each mark, and its whole message."""
    # Plain records are marks of their own.
    number = np.where(is_extended, records["mark_id"].astype(np.int64), -1 - np.arange(len(records)))
    distinct, word = np.unique(records["message"], return_inverse=True)
    words = pl.Series([bytes(text).decode(errors="replace") for text in distinct], dtype=pl.String)
    segments = pl.DataFrame(
        {
            "number": number,
            "row": np.arange(len(records)),
            "segment": np.where(is_extended, records["segment"], 0).astype(np.int64),
            "message": words.gather(pl.Series(word.reshape(-1))),
        }
    ).sort("number", "segment", maintain_order=True)
    joined = segments.group_by("number", maintain_order=True).agg(
        pl.col("row").first(),
        pl.col("message").str.join(""),
        (pl.col("segment").max() + 1 > pl.col("segment").n_unique()).alias("misses"),
    )
    if joined["misses"].any():
        notes.append(f"the messages of {joined['misses'].sum()} user mark(s) miss a part")
    return joined["row"].to_numpy(), joined["message"]


def _device_schema() -> pl.Schema:
    return pl.Schema({name: MARKS[name] for name in ("mark_id", *_ON_DEVICE)})


def _markers(context: LoadContext, side: DeviceSide) -> pl.DataFrame:
    """Return one row per mark seen on a device, from its first record to its last."""
    records = context.reader.read(context.platform.tasks.step_record, side.device_id)
    rows = records[np.isin(records["tag_id"], _MARKER_TAGS)]
    columns = {
        "mark_id": rows["index_id"].astype(np.int64),
        "device_id": side.device_id,
        "stream_id": rows["stream_id"],
        "task_id": rows["task_id"],
        "device_start_ns": side.clock.tick_to_unix(rows["tick"]),
        "device_end_ns": 0,
    }
    marks = frame(_device_schema(), columns).sort("mark_id", "device_start_ns", maintain_order=True)
    return marks.group_by("mark_id", maintain_order=True).agg(
        pl.col("device_id", "stream_id", "task_id", "device_start_ns").first(),
        pl.col("device_start_ns").last().alias("device_end_ns"),
    )
