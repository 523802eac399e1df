"""Host records of the toolkit to tables: API calls, and what operators and tasks reported inside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu.arrays import I64, Array, Bools, Records
from drynpu.raw import EVENT_FLAG, HostLevel
from drynpu.tables import intervals
from drynpu.tables._schemas import API, NO_MODEL
from drynpu.tables.columns import order_by
from drynpu.tables.stored import Filled, Stored, Texts, coded, distinct_numbers

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
    The API table, which finds the call around a time.

    ``levels`` are the numbers of the records' levels by the word in the table.
    """

    table: Stored
    levels: Mapping[str, int]
    _open: dict[HostLevel, tuple[Array, intervals.OpenIntervals]] = field(factory=dict, init=False, repr=False)
    """By level what `around` prepared; see `forget`."""

    def around(self, level: HostLevel, time_ns: I64, tid: I64) -> I64:
        """Return the row of the innermost call of *level* on the same thread at each time, -1 if none."""
        if level not in self._open:
            self._open[level] = self._prepared(level)
        rows, calls = self._open[level]
        position = calls.around(time_ns, tid)
        return np.where(position >= 0, rows[np.maximum(position, 0)].astype(np.int64), -1) if len(rows) else position

    def forget(self) -> None:
        """Let go what `around` keeps to answer quickly: as much as the calls themselves."""
        self._open.clear()

    def _prepared(self, level: HostLevel) -> tuple[Array, intervals.OpenIntervals]:
        _, words = self.table.words["level"]
        wanted = [number for number, word in enumerate(words) if self.levels.get(word) == level.value]
        columns = {
            name: Filled(kind) for name, kind in (("row", "u4"), ("start_ns", "i8"), ("end_ns", "i8"), ("tid", "u4"))
        }
        begin = 0
        for part in self.table.kept_slices("level", "start_ns", "end_ns", "tid"):
            chosen = np.flatnonzero(np.isin(part["level"].to_numpy(), wanted))
            columns["row"].append(chosen + begin)
            for name in ("start_ns", "end_ns", "tid"):
                columns[name].append(part[name].to_numpy()[chosen])
            begin += part.height
        calls = intervals.OpenIntervals.from_bounds(*(columns[name].values() for name in ("start_ns", "end_ns", "tid")))
        return columns["row"].values(), calls

    def connection_id(self, rows: I64) -> I64:
        """Return the connection id of calls, -1 where the row is."""
        return np.where(rows >= 0, rows + 1, -1)

    def model_id(self, time_ns: I64, tid: I64) -> I64:
        """Return the model executing around each time (item of the Model API), 4294967295 outside any."""
        rows = self.around(HostLevel.MODEL, time_ns, tid)
        result = np.full(len(rows), NO_MODEL)
        inside = np.flatnonzero(rows >= 0)
        if len(inside):
            items = self.table.texts("item")
            numbers = items.words.str.to_integer(strict=False).fill_null(NO_MODEL).to_numpy()
            result[inside] = numbers[items.codes.gather(rows[inside]).to_numpy()]
        return result


def build_calls(parts: Iterable[Records], words: Dictionaries, to_unix: Callable[[I64], I64], pid: int) -> Calls:
    """
    Return the API table of api_event records, which come in parts.

    Rows are in time order, an enclosing call before what it encloses; ``connection_id`` counts them from 1
    (cann_msprof.md 7.6, native path). Pairs of events become one call.
    """
    columns = {name: Filled(kind) for name, kind in _CALL_COLUMNS.items()}
    names, items = Codes(), Codes()
    events: list[Records] = []

    def add(records: Records) -> None:
        start, end = (to_unix(records[name].astype(np.int64)) for name in ("begin", "end"))
        level = records["level"]
        columns["start_ns"].append(start)
        columns["end_ns"].append(np.maximum(end, start))
        columns["level"].append(level)
        columns["tid"].append(records["thread_id"])
        columns["name"].append(names.add(level.astype(np.int64) << _TYPE_BITS | records["type"].astype(np.int64)))
        columns["item"].append(items.add(records["item_id"], level == HostLevel.MODEL.value))

    for records in parts:
        event = records["end"] == np.uint64(EVENT_FLAG)
        if event.any():
            events.append(records[event])
            records = records[~event]
        add(records)
    if events:
        add(_paired(np.concatenate(events)))
    return _calls(columns, names.texts(lambda key, _: _name(key, words)), items.texts(_item(words)), pid)


_CALL_COLUMNS = {"start_ns": "i8", "end_ns": "i8", "level": "u2", "tid": "u4", "name": "u4", "item": "u4"}


def _calls(columns: dict[str, Filled], names: pl.Series, items: pl.Series, pid: int) -> Calls:
    """Return the calls in order; columns are let go one by one, because all of them are large."""
    start, end, level = (columns.pop(name).values() for name in ("start_ns", "end_ns", "level"))
    # Of calls that start together, longer ones and then higher levels stand first.
    order = order_by(start, lambda rows: -end[rows], lambda rows: -level[rows].astype(np.int64))

    def ordered(values: Array) -> Array:
        return values if order is None else values[order]

    start, end, level, tid = (ordered(values) for values in (start, end, level, columns.pop("tid").values()))
    whole: dict[str, Callable[[], object]] = {
        "connection_id": lambda: np.arange(1, len(start) + 1, dtype=np.min_scalar_type(len(start) + 1)),
        "level": lambda: coded(level, lambda value: LEVELS.get(value, str(value))),
        "name": lambda: Texts(pl.Series(ordered(columns.pop("name").values())), names),
        "item": lambda: Texts(pl.Series(ordered(columns.pop("item").values())), items),
        "pid": lambda: pid,
        "tid": lambda: tid,
        "start_ns": lambda: start,
        "end_ns": lambda: end,
    }
    words = {LEVELS.get(number, str(number)): number for number in np.unique(level).tolist()}
    return Calls(table=Stored.from_makers(API, whole, len(start)), levels=words)


class Codes:
    """Numbers of the distinct values that come in parts; a value may be of two kinds."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bool], int] = {}

    def add(self, values: Array, special: Bools | None = None) -> Array:
        """Return the number of each value."""
        numbers = np.empty(len(values), np.uint32)
        for kind, chosen in ((False, None if special is None or not special.any() else ~special), (True, special)):
            if kind and (chosen is None or not chosen.any()):
                continue
            of_kind = values if chosen is None else values[chosen]
            distinct = distinct_numbers(of_kind)
            codes = [self._known.setdefault((int(value), kind), len(self._known)) for value in distinct.tolist()]
            code = np.array(codes, np.uint32)[np.searchsorted(distinct, of_kind)] if len(distinct) else numbers[:0]
            if chosen is None:
                return code
            numbers[chosen] = code
        return numbers

    def numbers(self) -> I64:
        """Return the values by their numbers."""
        return np.array([value for value, _ in self._known], np.int64)

    def texts(self, resolve: Callable[[int, bool], str]) -> pl.Series:
        """Return the text of each number."""
        return pl.Series([resolve(*key) for key in self._known], dtype=pl.String)


def _name(key: int, words: Dictionaries) -> str:
    level, number = key >> _TYPE_BITS, key & (2**_TYPE_BITS - 1)
    return words.types.get((level, number), f"{level}_{number}")


def _item(words: Dictionaries) -> Callable[[int, bool], str]:
    """Return what gives the items: the model's number for a Model API, a text id for every other level."""
    return lambda value, is_model: str(value) if is_model else words.hashes.get(value, "")


def _paired(events: Records) -> Records:
    """Join each event with the next one of the same (level, type, thread, request, item); drop the unpaired."""
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
    pairs: Records = events[opening].copy()
    pairs["end"] = events["begin"][opening + 1]
    return pairs
