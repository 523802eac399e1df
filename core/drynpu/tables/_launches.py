"""What the host knew when it launched tasks: task_track records with the calls around them."""

from __future__ import annotations

import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu.arrays import I64, Records
from drynpu.raw import ClockAnchors, HostLevel
from drynpu.tables._columns import ordinals
from drynpu.tables._host import Calls, Dictionaries
from drynpu.tables._stored import Stored, coded

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
    """Return one number per (device, stream, 16-bit task id)."""
    return device_id << 32 | stream_id << 16 | task_id


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

    def rows(self, key: I64, ordinal: I64) -> I64:
        """Return the launch of each task (by key and occurrence), -1 where the host recorded none."""
        if not len(self.key):
            return np.full(len(key), -1, np.int64)
        distinct = np.sort(pl.Series(self.key).unique().to_numpy())
        turns = int(self.ordinal.max()) + 1
        own = np.searchsorted(distinct, self.key) * turns + self.ordinal
        order = np.argsort(own, kind="stable")
        code = np.minimum(np.searchsorted(distinct, key), len(distinct) - 1)
        known = (distinct[code] == key) & (ordinal < turns)
        asked = code * turns + ordinal
        place = np.minimum(np.searchsorted(own[order], asked), len(own) - 1)
        found = order[place]
        return np.where(known & (own[found] == asked), found, -1)


def launches(track: Records, calls: Calls, words: Dictionaries, clock: ClockAnchors) -> Launches:
    """Return the launches that task_track records tell of."""
    track = track[np.argsort(track["timestamp"], kind="stable")]
    time = clock.host_to_unix(track["timestamp"].astype(np.int64))
    tid = track["thread_id"].astype(np.int64)
    device = (track["device_id"] & 0xFFF).astype(np.int64)
    key = launch_key(device, track["stream_id"].astype(np.int64), track["task_id"].astype(np.int64))
    columns = {
        "host_batch": track["batch_id"].astype(np.int64),
        "host_type": coded(track["task_type"], words.runtime_type),
        "kernel": coded(track["kernel_name"], lambda value: words.hashes.get(value, "")),
        "runtime": calls.around(HostLevel.RUNTIME, time, tid),
        "node": calls.around(HostLevel.NODE, time, tid),
        "collective": calls.around(HostLevel.COMMUNICATION, time, tid),
        "model_id": calls.model_id(time, tid),
    }
    return Launches(key, ordinals(key), Stored.made(_LAUNCHES, columns))
