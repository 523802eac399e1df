"""Host records of the toolkit to tables: API calls, and what operators and tasks reported inside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import polars as pl
from attrs import frozen

from drynpu.raw import EVENT_FLAG, Level
from drynpu.tables import intervals
from drynpu.tables._columns import I64, Records, frame, gather_text, texts
from drynpu.tables._schemas import API, CANN_ALLOCATIONS, NO_MODEL

__all__ = ["LEVELS", "Calls", "Dictionaries", "build_calls", "build_cann_allocations"]

LEVELS: Mapping[int, str] = MappingProxyType(
    {
        Level.ACL.value: "acl",
        Level.MODEL.value: "model",
        Level.NODE.value: "node",
        Level.COMMUNICATION.value: "communication",
        Level.RUNTIME.value: "runtime",
    }
)
"""Level id to the word in api_statistic (cann_msprof.md 4.3)."""

_TYPE_BITS = 32


@frozen
class Dictionaries:
    """Text ids and type names of one PROF directory (cann_msprof.md 7.2)."""

    hashes: Mapping[int, str]
    types: Mapping[tuple[int, int], str]

    def runtime_type(self, type_id: int) -> str:
        """Return the name of a runtime task type, ``""`` if the profile does not tell."""
        return self.types.get((Level.RUNTIME.value, type_id), "")


@frozen(eq=False)
class Calls:
    """
    The API table with what is needed to find the call around a time.

    ``level``, ``start_ns``, ``end_ns``, ``tid`` and ``connection_id`` are int64 ``[n]`` beside the rows of ``table``.
    """

    table: pl.DataFrame
    level: I64
    start_ns: I64
    end_ns: I64
    tid: I64
    connection_id: I64

    def around(self, level: Level, time_ns: I64, tid: I64) -> I64:
        """Return the row of the innermost call of *level* on the same thread at each time, -1 if none."""
        rows = np.flatnonzero(self.level == level.value)
        found = intervals.innermost(self.start_ns[rows], self.end_ns[rows], self.tid[rows], time_ns, tid)
        if not len(rows):
            return found
        return np.where(found >= 0, rows[np.maximum(found, 0)], -1)

    def model_id(self, time_ns: I64, tid: I64) -> I64:
        """Return the model executing around each time (item of the Model API), 4294967295 outside any."""
        rows = self.around(Level.MODEL, time_ns, tid)
        items = self.table["item"].str.to_integer(strict=False).fill_null(NO_MODEL).to_numpy()
        return np.where(rows >= 0, items[np.maximum(rows, 0)], NO_MODEL) if len(items) else np.full(len(rows), NO_MODEL)


def build_calls(records: Records, words: Dictionaries, to_unix: Callable[[I64], I64], pid: int) -> Calls:
    """
    Return the API table of api_event records.

    Rows are in time order, an enclosing call before what it encloses; ``connection_id`` counts them from 1
    (cann_msprof.md 7.6, native path). Pairs of events become one call.
    """
    merged = _merge_events(records)
    start, end = to_unix(merged["begin"].astype(np.int64)), to_unix(merged["end"].astype(np.int64))
    order = np.lexsort((-merged["level"].astype(np.int64), -end, start))
    merged, start, end = merged[order], start[order], np.maximum(end[order], start[order])
    level, tid = merged["level"].astype(np.int64), merged["thread_id"].astype(np.int64)
    connection = np.arange(1, len(merged) + 1, dtype=np.int64)
    table = frame(
        API,
        {
            "connection_id": connection,
            "level": texts(level, lambda value: LEVELS.get(value, str(value))),
            "name": _names(merged, words),
            "item": _items(merged, words),
            "pid": pid,
            "tid": tid,
            "start_ns": start,
            "end_ns": end,
        },
    )
    return Calls(table=table, level=level, start_ns=start, end_ns=end, tid=tid, connection_id=connection)


def _names(records: Records, words: Dictionaries) -> pl.Series:
    keys = records["level"].astype(np.int64) << _TYPE_BITS | records["type"].astype(np.int64)

    def name(key: int) -> str:
        level, number = key >> _TYPE_BITS, key & (2**_TYPE_BITS - 1)
        return words.types.get((level, number), f"{level}_{number}")

    return texts(keys, name)


def _items(records: Records, words: Dictionaries) -> pl.Series:
    # The item of a Model API is the model's number, of every other level a text id.
    model = records["level"] == Level.MODEL.value
    items = gather_text(words.hashes, np.where(model, 0, records["item_id"]).astype(np.uint64))
    numbers = texts(np.where(model, records["item_id"], 0).astype(np.uint64), str)
    return pl.select(pl.when(pl.Series(model)).then(numbers).otherwise(items)).to_series()


def _merge_events(records: Records) -> Records:
    """Join each event with the next one of the same (level, type, thread, request, item); drop the unpaired."""
    event = records["end"] == np.uint64(EVENT_FLAG)
    if not event.any():
        return records
    events = records[event]
    keys = [events[name] for name in ("item_id", "request_id", "thread_id", "type", "level")]
    order = np.lexsort((events["begin"], *keys))
    events, keys = events[order], [key[order] for key in keys]
    fresh = np.ones(len(events), bool)
    fresh[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    positions = np.arange(len(events))
    place = positions - np.maximum.accumulate(np.where(fresh, positions, 0))
    opening = np.flatnonzero(place % 2 == 0)
    opening = opening[(opening + 1 < len(events))]
    opening = opening[place[opening + 1] % 2 == 1]
    pairs = events[opening].copy()
    pairs["end"] = events["begin"][opening + 1]
    return np.concatenate([records[~event], pairs])


def build_cann_allocations(records: Records, words: Dictionaries, to_unix: Callable[[I64], I64]) -> pl.DataFrame:
    """Return the table of task_memory_info records in time order."""
    return frame(
        CANN_ALLOCATIONS,
        {
            "device_id": records["device_id"],
            "time_ns": to_unix(records["timestamp"].astype(np.int64)),
            "name": gather_text(words.hashes, records["node_id"]),
            "address": records["address"],
            "size_bytes": records["size_bytes"],
            "total_allocated_bytes": records["total_allocated_bytes"],
            "total_reserved_bytes": records["total_reserved_bytes"],
            "tid": records["thread_id"],
        },
    ).sort("time_ns", maintain_order=True)
