"""What the host knew when it launched tasks: task_track records with the calls around them."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu.arrays import I64, Array, Records
from drynpu.layouts.tasks import FLIP_TASK, MAINTENANCE, RUNTIME_TASK_TYPES
from drynpu.raw import ClockAnchors, HostLevel, join_task_id
from drynpu.tables._schemas import NO_MODEL
from drynpu.tables.columns import in_parts, ordinals
from drynpu.tables.host import Calls, Codes, Dictionaries
from drynpu.tables.stored import Filled, Stored, Texts
from drynpu.tables.task_events import UNKNOWN_STREAM

_STREAM_SHIFT, _DEVICE_SHIFT = 32, 48
_LAUNCHES = pl.Schema(
    {
        "host_batch": pl.Int64,
        "host_type": pl.String,
        "kernel": pl.String,
        "runtime": pl.Int64,
        "node": pl.Int64,
        "collective": pl.Int64,
        "model_id": pl.Int64,
    }
)


def launch_key(device_id: I64, stream_id: I64, task_id: I64) -> I64:
    """Return one number per (device, stream, task id)."""
    return device_id << _DEVICE_SHIFT | stream_id << _STREAM_SHIFT | task_id


@frozen(eq=False)
class Launches:
    """
    Launches in the order of their times.

    ``key`` and ``ordinal`` (int64 ``[n]``) tell which task a launch is of: its ids, and how many earlier launches have
    the same. ``table`` has its task type and names, and the rows of the calls around it, -1 if none.
    """

    key: I64 = field(repr=False)
    ordinal: I64 = field(repr=False)
    table: Stored

    def streams(self, device_id: int, task_id: I64) -> I64:
        """Return the streams of tasks of a device by their ids, where these are unique there; 65535 if unknown."""
        on_device = np.flatnonzero(self.key >> _DEVICE_SHIFT == device_id)
        known = self.key[on_device] & (1 << _STREAM_SHIFT) - 1
        order = np.argsort(known, kind="stable")
        if not len(order):
            return np.full(len(task_id), UNKNOWN_STREAM, np.int64)
        place = order[np.minimum(np.searchsorted(known[order], task_id), len(order) - 1)]
        stream = self.key[on_device][place] >> _STREAM_SHIFT & 0xFFFF
        return np.asarray(np.where(known[place] == task_id, stream, UNKNOWN_STREAM))

    def rows(self, key: I64, ordinal: I64) -> I64:
        """Return the launch of each task (by key and occurrence), -1 where the host recorded none."""
        if not len(self.key):
            return np.full(len(key), -1, np.int64)
        distinct = np.sort(pl.Series(self.key).unique().to_numpy())
        turns = int(self.ordinal.max()) + 1
        launch_keys = np.searchsorted(distinct, self.key)
        launch_keys *= turns
        launch_keys += self.ordinal
        order = None
        if not (launch_keys[1:] >= launch_keys[:-1]).all():
            order = np.argsort(launch_keys, kind="stable")
            launch_keys = launch_keys[order]

        def find(rows: slice) -> I64:
            code = np.minimum(np.searchsorted(distinct, key[rows]), len(distinct) - 1)
            known = (distinct[code] == key[rows]) & (ordinal[rows] < turns)
            task_keys = code * turns + ordinal[rows]
            place = np.minimum(np.searchsorted(launch_keys, task_keys), len(launch_keys) - 1)
            row = place if order is None else order[place]
            return np.where(known & (launch_keys[place] == task_keys), row, -1)

        return in_parts(find, len(key))

    def alone(self, key: I64) -> I64:
        """Return the only launch with each key, -1 where there is none or several."""
        distinct = np.unique(key)
        if not len(self.key) or not len(distinct):
            return np.full(len(key), -1, np.int64)
        place = np.minimum(np.searchsorted(distinct, self.key), len(distinct) - 1)
        wanted = np.flatnonzero(distinct[place] == self.key)
        count, row = np.zeros(len(distinct), np.int64), np.full(len(distinct), -1, np.int64)
        np.add.at(count, place[wanted], 1)
        row[place[wanted]] = wanted
        return np.asarray(np.where(count == 1, row, -1)[np.searchsorted(distinct, key)], np.int64)


def launch_records(track: Records) -> Records:
    """Return the task_track records of work: what keeps a stream, and flips of its ids, runs nothing."""
    upkeep = [RUNTIME_TASK_TYPES[name] for name in (MAINTENANCE, FLIP_TASK)]
    return np.asarray(track[~np.isin(track["task_type"], upkeep)])


_COLUMNS = {
    "time": "i8",
    "key": "i8",
    "host_batch": "i8",
    "host_type": "u4",
    "kernel": "u4",
    "runtime": "i8",
    "node": "i8",
    "collective": "i8",
    "model_id": "i8",
}


def _captured_model(records: Records, device: I64, stream: I64, time: I64) -> I64:
    """Return the captured graph that each launch on a stream at a time is of, `NO_MODEL` for none; shape ``[n]``."""
    rows = records[records["status"] == 0]
    count = len(rows)
    if not count:
        return np.full(len(time), NO_MODEL)
    columns = (("device_id", device), ("model_stream", stream), ("timestamp", time))
    on, at, when = (np.concatenate([rows[name].astype(np.int64), values]) for name, values in columns)
    # Each launch has behind it the last capture of its stream before it, if there is one.
    order = np.lexsort((np.arange(len(when)) >= count, when, at, on))
    last = np.maximum.accumulate(np.where(order < count, np.arange(len(order)), -1))
    capture = np.empty(len(order), np.int64)
    capture[order] = np.where(last >= 0, order[np.maximum(last, 0)], -1)
    capture = capture[count:]
    same = (capture >= 0) & (on[capture] == device) & (at[capture] == stream)
    return np.where(same, rows["model_id"][capture].astype(np.int64), NO_MODEL)


def launches(
    parts: Iterable[Records],
    calls: Calls,
    words: Dictionaries,
    clock: ClockAnchors,
    *,
    captured: Records | None = None,
    wide_ids: bool = False,
) -> Launches:
    """
    Return the launches that task_track records tell of, which come in parts.

    *captured* are capture_stream_info records: what was launched on their streams is of graphs. With *wide_ids* both
    halves of the id are one number.
    """
    columns = {name: Filled(kind) for name, kind in _COLUMNS.items()}
    types, kernels = Codes(), Codes()
    for track in map(launch_records, parts):
        time = clock.host_to_unix(track["timestamp"].astype(np.int64))
        tid = track["thread_id"].astype(np.int64)
        device = (track["device_id"] & 0xFFF).astype(np.int64)
        task, batch = track["task_id"].astype(np.int64), track["batch_id"].astype(np.int64)
        if wide_ids:
            task, batch = join_task_id(task, batch), np.zeros_like(batch)
        fields = {
            "time": track["timestamp"].astype(np.int64),
            "key": launch_key(device, track["stream_id"].astype(np.int64), task),
            "host_batch": batch,
            "host_type": types.add(track["task_type"]),
            "kernel": kernels.add(track["kernel_name"]),
            "runtime": calls.around(HostLevel.RUNTIME, time, tid),
            "node": calls.around(HostLevel.NODE, time, tid),
            "collective": calls.around(HostLevel.COMMUNICATION, time, tid),
            "model_id": calls.model_id(time, tid),
        }
        if captured is not None and len(captured):
            of_graph = _captured_model(captured, device, fields["key"] >> _STREAM_SHIFT & 0xFFFF, fields["time"])
            fields["model_id"] = np.where(fields["model_id"] == NO_MODEL, of_graph, fields["model_id"])
        for name, column in columns.items():
            column.append(fields[name])
    time = columns.pop("time").values()
    order = None if (time[1:] >= time[:-1]).all() else np.argsort(time, kind="stable")
    del time

    def ordered(name: str) -> Array:
        values = columns.pop(name).values()
        return values if order is None else values[order]

    key = ordered("key")
    texts = {
        "host_type": lambda: Texts(
            pl.Series(ordered("host_type")), types.texts(lambda kind, _: words.runtime_type(kind))
        ),
        "kernel": lambda: Texts(
            pl.Series(ordered("kernel")), kernels.texts(lambda text, _: words.hashes.get(text, ""))
        ),
    }
    makers = {name: functools.partial(ordered, name) for name in _LAUNCHES} | texts
    return Launches(key, ordinals(key), Stored.from_makers(_LAUNCHES, makers, len(key)))
