"""Host records of the toolkit to tables: API calls, and what operators and tasks reported inside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import polars as pl
from attrs import frozen

from drynpu.arrays import I64, U16, Array, Records
from drynpu.raw import EVENT_FLAG, HostLevel
from drynpu.tables import intervals
from drynpu.tables._schemas import API, NO_MODEL
from drynpu.tables._stored import Stored, Texts, coded

LEVELS: Mapping[int, str] = MappingProxyType(
    {
        HostLevel.ACL.value: "acl",
        HostLevel.MODEL.value: "model",
        HostLevel.NODE.value: "node",
        HostLevel.COMMUNICATION.value: "communication",
        HostLevel.RUNTIME.value: "runtime",
    }
)
"""HostLevel id to the word in api_statistic (cann_msprof.md 4.3)."""

_TYPE_BITS = 32


@frozen
class Dictionaries:
    """Text ids and type names of one PROF directory (cann_msprof.md 7.2)."""

    hashes: Mapping[int, str]
    types: Mapping[tuple[int, int], str]

    def runtime_type(self, type_id: int) -> str:
        """Return the name of a runtime task type, ``""`` if the profile does not tell."""
        return self.types.get((HostLevel.RUNTIME.value, type_id), "")


@frozen(eq=False)
class Calls:
    """
    The API table with what is needed to find the call around a time.

    ``level`` (as in the records), ``start_ns``, ``end_ns`` and ``tid`` are ``[n]`` beside the rows of ``table``.
    """

    table: Stored
    level: U16
    start_ns: I64
    end_ns: I64
    tid: Array

    def around(self, level: HostLevel, time_ns: I64, tid: I64) -> I64:
        """Return the row of the innermost call of *level* on the same thread at each time, -1 if none."""
        rows = np.flatnonzero(self.level == level.value)
        found = intervals.innermost(self.start_ns[rows], self.end_ns[rows], self.tid[rows], time_ns, tid)
        if not len(rows):
            return found
        return np.where(found >= 0, rows[np.maximum(found, 0)], -1)

    def connection_id(self, rows: I64) -> I64:
        """Return the connection id of calls, -1 where the row is."""
        return np.where(rows >= 0, rows + 1, -1)

    def model_id(self, time_ns: I64, tid: I64) -> I64:
        """Return the model executing around each time (item of the Model API), 4294967295 outside any."""
        rows = self.around(HostLevel.MODEL, time_ns, tid)
        items = self.table.texts("item")
        numbers = items.words.str.to_integer(strict=False).fill_null(NO_MODEL).to_numpy()
        result = np.full(len(rows), NO_MODEL)
        found = np.flatnonzero(rows >= 0)
        result[found] = numbers[items.codes.gather(rows[found]).to_numpy()] if len(found) else NO_MODEL
        return result


def build_calls(records: Records, words: Dictionaries, to_unix: Callable[[I64], I64], pid: int) -> Calls:
    """
    Return the API table of api_event records.

    Rows are in time order, an enclosing call before what it encloses; ``connection_id`` counts them from 1
    (cann_msprof.md 7.6, native path). Pairs of events become one call.
    """
    merged = _merge_events(records)
    start, end = to_unix(merged["begin"].astype(np.int64)), to_unix(merged["end"].astype(np.int64))
    order = _enclosing_first(start, end, merged["level"])
    start, end = start[order], end[order]
    np.maximum(end, start, out=end)
    level, tid = merged["level"][order], merged["thread_id"][order].astype(np.int64)
    columns = {
        "connection_id": np.arange(1, len(order) + 1, dtype=np.int64),
        "level": coded(level, lambda value: LEVELS.get(value, str(value))),
        "name": _names(level, merged["type"][order], words),
        "item": _items(level, merged["item_id"][order], words),
        "pid": pid,
        "tid": tid,
        "start_ns": start,
        "end_ns": end,
    }
    table = Stored.from_columns(API, columns)
    return Calls(table=table, level=level, start_ns=start, end_ns=end, tid=table.numbers["tid"].to_numpy())


def _enclosing_first(start: I64, end: I64, level: Records) -> I64:
    """Return the order by start; of calls that start together, longer ones and then higher levels stand first."""
    order = np.argsort(start, kind="stable")
    ordered = start[order]
    equal = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(equal):
        return order
    # Few calls start together, so that the other keys are looked at for those only.
    together = np.unique(np.concatenate([equal, equal + 1]))
    rows = order[together]
    order[together] = rows[np.lexsort((-level[rows].astype(np.int64), -end[rows], start[rows]))]
    return order


def _names(level: Records, kind: Records, words: Dictionaries) -> Texts:
    keys = level.astype(np.int64) << _TYPE_BITS | kind.astype(np.int64)

    def name(key: int) -> str:
        level, number = key >> _TYPE_BITS, key & (2**_TYPE_BITS - 1)
        return words.types.get((level, number), f"{level}_{number}")

    return coded(keys, name)


def _items(level: Records, item: Records, words: Dictionaries) -> Texts:
    """Return the items: that of a Model API is the model's number, of every other level a text id."""
    model = np.flatnonzero(level == HostLevel.MODEL.value)
    numbers = coded(item[model], str)
    item[model] = 0
    items = coded(item, lambda value: words.hashes.get(value, ""))
    if not len(model):
        return items
    codes = items.codes.to_numpy().astype(np.uint32)
    codes[model] = numbers.codes.to_numpy().astype(np.uint32) + items.words.len()
    return Texts(pl.Series(codes), pl.concat([items.words, numbers.words]))


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
