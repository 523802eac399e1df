"""Raw records of a synthetic rank: copies of recorded ones, on the timeline and in the groups of the rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from attrs import frozen

from drynpu.arrays import I64, Array, Bools, Records
from drynpu.layouts.communication import HCCL_INFO, HCCL_OP_INFO
from drynpu.raw import ClockAnchors, RecordKind, RecordKinds
from drynpu.raw.sane import HOST_TIMES, TICKS
from drynpu.raw.slices import find_slices
from drynpu_cluster.synth._groups import GroupCopies
from drynpu_cluster.synth._warp import Warp

_POINTS = "points"
"""Field of the frequencies of cores: an array of ticks with values."""
_OTHER_TIMES = ("_us", "_ns", "host_time")
"""Ends of fields that hold times of other clocks: samplers and AI CPU; what has them is left out."""
_DURATION = "duration_estimated_us"
"""The model's estimate of a task of a collective: no time of a clock."""
_NO_TIME = (0, 2**64 - 1)
"""A time that is not there, and the mark of an event where a call has its end."""
_NO_RANK = 0xFFFF_FFFF
Replaced: TypeAlias = "Callable[[str, Records], Bools]"
"""Tells by the name of their kind which recorded records the rank has others for."""
_PROBED = 4096
"""Records by which kinds of the same file are told from each other."""


@frozen(eq=False)
class Timeline:
    """
    The clocks of a recording and the map from its times to the times of a rank.

    Attributes
    ----------
    host_times, host_moved:
        All distinct raw host times of the recording in order, and what they become, shape ``[n]``.
    """

    anchors: ClockAnchors
    warp: Warp
    host_times: I64
    host_moved: I64

    @classmethod
    def build(cls, anchors: ClockAnchors, warp: Warp, host_times: I64, room: tuple[I64, I64] | None = None) -> Timeline:
        """
        Return the timeline on which distinct host times stay distinct.

        *room* are host times with the units of the clock that have to lie between each and the next one.

        Where a long wait becomes short, calls of the host that lie in it come so close that they would begin and end
        together, and readers could not tell which is inside which. They are moved forward, by single units of the
        clock: no launch then comes after its kernel.
        """
        moved = anchors.unix_to_host(warp(anchors.host_to_unix(host_times)))
        apart = np.ones(len(moved), np.int64)
        if room is not None:
            np.maximum.at(apart, np.searchsorted(host_times, room[0]), room[1])
        place = np.cumsum(apart) - apart
        latest = np.minimum.accumulate((moved - place)[::-1])[::-1] + place
        return cls(anchors, warp, host_times, latest)

    def host(self, raw: Array) -> Array:
        """Return raw host times on the timeline of the rank."""
        return _moved(raw, lambda times: self.host_moved[np.searchsorted(self.host_times, times)])

    def ticks(self, ticks: Array) -> Array:
        """Return ticks of the device on the timeline of the rank."""
        return _moved(ticks, lambda times: self.anchors.unix_to_tick(self.warp(self.anchors.tick_to_unix(times))))


def _moved(values: Array, move: Callable[[I64], I64]) -> Array:
    known = _is_time(values)
    moved = values.copy()
    moved[known] = move(values[known].astype(np.int64)).astype(values.dtype)
    return moved


def _is_time(values: Array) -> Bools:
    return ~np.isin(values, np.array(_NO_TIME, np.uint64).astype(values.dtype))


def distinct_times(records: Records, names: Sequence[str]) -> I64:
    """Return the distinct times in fields of records, in order."""
    columns = [records[name][_is_time(records[name])].astype(np.int64) for name in names]
    return np.unique(np.concatenate(columns)) if columns else np.empty(0, np.int64)


def host_time_names(kind: RecordKind) -> tuple[str, ...]:
    """Return the fields of a host record that hold times."""
    return tuple(name for name in kind.dtype.names or () if name in HOST_TIMES)


@frozen(eq=False)
class GroupIds:
    """Ids of groups in the records of the recorded and of the synthetic rank, the growth of numbers, sizes."""

    recorded: Array
    ids: Array
    shifts: I64
    sizes: I64

    @classmethod
    def build(cls, groups: GroupCopies, ranks: int, texts: Mapping[int, str]) -> GroupIds:
        """Return the ids of *groups*; *texts* are those that records name by number. A size of 0 stays as it is."""
        numbers = {text: number for number, text in texts.items()}
        entries = []
        for key, new in groups.keys.items():
            number = numbers.get(key, int(key) if key.isdecimal() else None)
            if number is not None:
                grown = ranks if len(groups.members[key]) == ranks else 0
                entries.append((number, number if new == key else int(new), groups.shifts[key], grown))
        columns = list(zip(*sorted(entries), strict=True)) if entries else [(), (), (), ()]
        numbers_of, ids = (np.array(column, np.uint64) for column in columns[:2])
        return cls(numbers_of, ids, np.array(columns[2], np.int64), np.array(columns[3], np.int64))

    def renamed(self, numbers: Array) -> Array:
        """Return the ids that groups have in the records of the rank."""
        if not len(self.recorded):
            return numbers
        place = np.minimum(np.searchsorted(self.recorded, numbers), len(self.recorded) - 1)
        return np.where(self.recorded[place] == numbers, self.ids[place], numbers)

    def rename(self, records: Records) -> None:
        """Let records be of the groups of the rank."""
        if not len(self.recorded) or not len(records):
            return
        place = np.minimum(np.searchsorted(self.recorded, records["group_name"]), len(self.recorded) - 1)
        known = self.recorded[place] == records["group_name"]
        records["group_name"] = np.where(known, self.ids[place], records["group_name"])
        if "local_rank" not in (records.dtype.names or ()):
            return
        for name in ("local_rank", "remote_rank"):
            numbers = records[name].astype(np.int64)
            records[name] = np.where(known & (numbers != _NO_RANK), numbers + self.shifts[place], numbers)
        sizes = self.sizes[place]
        records["rank_size"] = np.where(known & (sizes > 0), sizes, records["rank_size"])


def is_timed(kind: RecordKind) -> bool:
    """Return whether all times of a record are of the host's clock or of the device's counter."""
    names = kind.dtype.names or ()
    known = HOST_TIMES if kind.side == "host" else TICKS
    return not any(name not in known and name.endswith(_OTHER_TIMES) for name in names if name != _DURATION)


def kinds_of_file(kinds: RecordKinds, directory: Path, stem: str, *, sixth: bool) -> tuple[RecordKind, ...]:
    """
    Return the kinds of records in the slices of a stem; none if they are not known.

    *sixth* chooses the forms of the platform whose records are called ``_v6``.
    """
    candidates = [kind for kind in kinds.records.values() if stem in (kind.stem, *kind.also)]
    if any(kind.name.endswith("_v6") for kind in candidates):
        newer = {kind.name.removesuffix("_v6") for kind in candidates if kind.name.endswith("_v6")}
        candidates = [
            kind
            for kind in candidates
            if kind.name.endswith("_v6") == sixth or kind.name.removesuffix("_v6") not in newer
        ]
    if any(kind.sized for kind in candidates):
        return tuple(kind for kind in candidates if kind.sized)
    head = _head(directory, stem)
    fitting: dict[int, list[RecordKind]] = {}
    for kind in candidates:
        size = kind.dtype.itemsize
        records = np.frombuffer(head[: min(len(head) // size, _PROBED) * size], np.uint8).view(kind.dtype)
        if len(records) and kind.plausible(records).all():
            fitting.setdefault(size, []).append(kind)
    return tuple(sorted(fitting.values(), key=len)[-1]) if fitting else ()


def _head(directory: Path, stem: str) -> bytes:
    slices = find_slices(directory, stem)
    if not slices:
        return b""
    with slices[0].path.open("rb") as file:
        return file.read(_PROBED * 1024)


def rewrite(
    slices: Sequence[Path],
    kinds: Sequence[RecordKind],
    timeline: Timeline,
    groups: GroupIds,
    replaced: Replaced | None = None,
) -> Iterator[tuple[str, bytes]]:
    """
    Yield name and bytes of the slices of a file as the rank has them; a record that two share is in the later.

    Records that are *replaced* are left out.
    """
    left = b""
    for number, path in enumerate(slices, 1):
        data = np.frombuffer(left + path.read_bytes(), np.uint8).copy()
        if kinds[0].sized:
            used = _sized(data, kinds, timeline)
            changed = data[:used]
        else:
            used = len(data) // kinds[0].dtype.itemsize * kinds[0].dtype.itemsize
            changed = _changed(data[:used], kinds, timeline, groups, replaced)
        rest = data[used:].tobytes()
        yield path.name, changed.tobytes() + (rest if number == len(slices) else b"")
        left = rest


def _changed(
    data: Array, kinds: Sequence[RecordKind], timeline: Timeline, groups: GroupIds, replaced: Replaced | None
) -> Array:
    size = kinds[0].dtype.itemsize
    kept = np.ones(len(data) // size, bool)
    for kind in kinds:
        records = data.view(kind.dtype)
        rows = kind.members(records) & kind.plausible(records)
        if replaced is not None:
            kept[np.flatnonzero(rows)[replaced(kind.name, records[rows])]] = False
        _move(records, rows, kind, timeline)
        if kind.name in (HCCL_INFO.name, HCCL_OP_INFO.name):
            chosen = records[rows]
            groups.rename(chosen)
            for name in ("group_name", "local_rank", "remote_rank", "rank_size"):
                if name in (kind.dtype.names or ()):
                    records[name][rows] = chosen[name]
    return data if kept.all() else data.reshape(-1, size)[kept]


def _move(records: Records, rows: Bools, kind: RecordKind, timeline: Timeline) -> None:
    host = kind.side == "host"
    names = HOST_TIMES if host else TICKS
    for name in kind.dtype.names or ():
        if name in names:
            column = records[name]
            column[rows] = (timeline.host if host else timeline.ticks)(column[rows])
        elif name == _POINTS and not host:
            ticks = records[name]["tick"]
            ticks[rows] = timeline.ticks(ticks[rows])


def _sized(data: Array, kinds: Sequence[RecordKind], timeline: Timeline) -> int:
    """Change records that say their size in the two bytes at offset 2; return how many bytes are whole records."""
    by_size: dict[int, list[int]] = {}
    at = 0
    while at + 4 <= len(data):
        size = int(data[at + 2]) | int(data[at + 3]) << 8
        if size < 4 or at + size > len(data):
            break
        by_size.setdefault(size, []).append(at)
        at += size
    for size, starts in by_size.items():
        kind = next((kind for kind in kinds if kind.dtype.itemsize == size), None)
        if kind is None:
            continue
        offset = kind.dtype.fields["tick"][1]  # type: ignore[index]
        places = np.array(starts)[:, np.newaxis] + np.arange(offset, offset + 8)
        ticks = np.ascontiguousarray(data[places]).view(np.uint64)[:, 0]
        data[places] = timeline.ticks(ticks).view(np.uint8).reshape(-1, 8)
    return at
