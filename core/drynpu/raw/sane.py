"""Telling records that no recording can hold, where magic numbers survive and other fields do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from attrs import frozen

from drynpu._errors import OutputError, RawFormatError
from drynpu.arrays import Bools, Records
from drynpu.raw._clock import ClockAnchors
from drynpu.raw._record_kind import RecordKind

_DAY_NS = 86_400 * 1_000_000_000
_BEFORE_NS, _AFTER_NS = _DAY_NS, 366 * _DAY_NS
"""A collection lasts 30 days at most (cann_msprof.md 6.1, sys-period); clocks are read again within that time."""
HOST_TIMES = frozenset({"timestamp", "begin", "end", "start"})
TICKS = frozenset({"tick", "start_tick", "end_tick"})
"""Fields of records that hold raw host times, and ticks of the device."""
_IDS = {"index_id": 2**53, "model_id": 2**32 - 1, "life_start": 2**53, "life_end": 2**53}
_MOST_BYTES = 2**53
_MOST_COUNT = 2**62
_EVENT_FLAG = 2**64 - 1


@frozen
class Bounds:
    """
    What clocks can read in one recording, least and most, as raw host times and as device ticks.

    ``None``: the clocks are not known, and times only have to be numbers that can be computed with.
    """

    host: tuple[int, int] | None = None
    ticks: tuple[int, int] | None = None


def bounds_of(anchors: Callable[[], ClockAnchors]) -> Bounds:
    """Return the bounds of the recording whose clocks *anchors* returns, none where it raises."""
    try:
        clock = anchors()
    except (OutputError, RawFormatError):
        return Bounds()
    begin_ns = clock.collection_begin_us * 1000
    host, ticks = (
        tuple(int(convert(begin_ns + part)) for part in (-_BEFORE_NS, _AFTER_NS))
        for convert in (clock.unix_to_host, clock.unix_to_tick)
    )
    return Bounds(host=(host[0], host[1]), ticks=(ticks[0], ticks[1]))


def only_sane(
    parts: Iterable[Records], entry: RecordKind, bounds: Callable[[], Bounds], notes: list[str]
) -> Iterator[Records]:
    """
    Leave out the records that hold what no recording can: times far away from it, ids and sizes beyond all limits.

    A time of 0 stands for none and is kept, and so is the mark of an event where a call has its end. What was left out
    is noted when all parts have passed.
    """
    wrong: set[str] = set()
    count = 0
    for records in parts:
        good = np.ones(len(records), bool)
        for name in records.dtype.names or ():
            column = records[name]
            if column.dtype != np.uint64 or column.ndim > 1:
                continue
            fine = _fine(name, column, entry, bounds())
            if fine is not None and not fine.all():
                wrong.add(name)
                good &= fine
        count += len(good) - int(good.sum())
        yield records if good.all() else records[good]
    if wrong:
        named = " or ".join(name for name in entry.dtype.names or () if name in wrong)
        notes.append(f"{entry.name}: {count} record(s) with an impossible {named} were left out")


def _fine(name: str, column: Records, entry: RecordKind, bounds: Bounds) -> Bools | None:
    if name in _IDS:
        return np.asarray((column <= _IDS[name]) | (column == _EVENT_FLAG) & name.startswith("life"))
    if name.endswith("_bytes"):
        return np.asarray(column <= _MOST_BYTES)
    if entry.side == "host" and name in HOST_TIMES:
        return np.asarray(_within(column, bounds.host) | (column == _EVENT_FLAG))
    if entry.side == "device" and name in TICKS:
        return _within(column, bounds.ticks)
    if name.endswith(("_us", "_ns", "_tick", "cycles", "count", "index", "size", "timestamp")):
        return np.asarray(column <= _MOST_COUNT)
    return None


def _within(column: Records, bounds: tuple[int, int] | None) -> Bools:
    if bounds is None:
        return np.asarray(column <= _MOST_COUNT)
    least, most = max(bounds[0], 0), max(bounds[1], 0)
    return np.asarray((column == 0) | (column >= least) & (column <= most))
