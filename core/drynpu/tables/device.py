"""Device records to arrays: when each task ran, and its counters."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu.arrays import I64, Array, Bools, Records
from drynpu.layouts.counters import PmuFunction
from drynpu.layouts.schedulers import SqeType
from drynpu.raw import decode_stream_task, unpack_stars_header
from drynpu.tables._column_file import RowFile
from drynpu.tables.columns import ordinals
from drynpu.tables.intervals import MOST_KEYS
from drynpu.tables.stored import Filled
from drynpu.tables.task_events import TaskEvents

_TASK_BITS = 32
AIC, AIV = 0, 1


def task_key(stream_id: I64, task_id: I64) -> I64:
    """Return one number per (stream, task id)."""
    return stream_id << _TASK_BITS | task_id


@frozen(eq=False)
class DeviceTasks:
    """
    Tasks that started and ended on one device, in start order; int64 ``[n]`` columns.

    ``batch_id`` counts how often the 16-bit ids of the stream began again before the task; ``ordinal`` counts
    earlier tasks with the same stream and task id, with those that never ended.
    """

    stream_id: I64
    task_id: I64
    batch_id: I64
    ordinal: I64
    sqe_type: I64
    start_tick: I64
    end_tick: I64
    notes: tuple[str, ...] = ()
    mixed_start: I64 | None = None
    mixed_end: I64 | None = None
    """When the sub-task ran that a kernel on both kinds of core is, 0 where a task has none; int64 ``[n]``."""


def pair_tasks(events: TaskEvents) -> DeviceTasks:
    """
    Join the starts and ends of tasks.

    A start without an end (the run was killed) and an end without a start are dropped, with a note.
    """
    key = task_key(events.stream.astype(np.int64), events.task.astype(np.int64))
    tick, is_end, sqe, mixed = events.tick, events.is_end, events.sqe, events.mixed
    del events
    order = _event_order(key, tick, is_end)
    key, tick, is_end, sqe = key[order], tick[order], is_end[order], sqe[order]
    del order
    starts = np.flatnonzero(~is_end)
    following = np.minimum(starts + 1, max(len(key) - 1, 0))
    ended = is_end[following] & (key[following] == key[starts]) if len(starts) else np.zeros(0, bool)
    notes = _lost(len(starts) - int(ended.sum()), int(is_end.sum()) - int(ended.sum()))
    begin = tick[starts]
    by_start = np.lexsort((key[starts], begin))
    starts, ended, begin = starts[by_start], ended[by_start], begin[by_start]
    rows = starts[ended]
    end_tick, sqe_type = tick[rows + 1], sqe[rows].astype(np.int64)
    del tick, sqe, is_end
    batch = _batches(key[starts])
    place = ordinals(key[starts])
    mixed_start, mixed_end = _mixed_ticks(mixed, key[rows], place[ended])
    return DeviceTasks(
        stream_id=key[rows] >> _TASK_BITS,
        task_id=key[rows] & (1 << _TASK_BITS) - 1,
        batch_id=batch[ended],
        ordinal=place[ended],
        sqe_type=sqe_type,
        start_tick=begin[ended],
        end_tick=end_tick,
        notes=notes,
        mixed_start=mixed_start,
        mixed_end=mixed_end,
    )


def _event_order(key: I64, tick: I64, is_end: Bools) -> I64:
    """Return the order of events by key, tick and end, as one number of each where 64 bits are enough."""
    if not len(key):
        return np.zeros(0, np.int64)
    distinct = np.sort(pl.Series(key).unique().to_numpy())
    low, span = int(tick.min()), int(tick.max()) - int(tick.min()) + 1
    if len(distinct) * span * 2 >= MOST_KEYS:
        order: I64 = np.lexsort((is_end, tick, key))
        return order
    wide = np.searchsorted(distinct, key).astype(np.int64, copy=False)
    wide *= span
    wide += tick - low
    wide *= 2
    wide += is_end
    return np.argsort(wide, kind="stable")


def _mixed_ticks(events: TaskEvents | None, key: I64, ordinal: I64) -> tuple[I64 | None, I64 | None]:
    """Return when the sub-task of each task ran: the n-th one of a stream and task id is of the n-th task there."""
    if events is None or not len(events.tick):
        return None, None
    pairs = pair_tasks(events)
    sub_tasks = {
        "key": task_key(pairs.stream_id, pairs.task_id),
        "turn": pairs.ordinal,
        "start": pairs.start_tick,
        "end": pairs.end_tick,
    }
    wanted = pl.DataFrame({"key": key, "turn": ordinal})
    joined = wanted.join(pl.DataFrame(sub_tasks), on=["key", "turn"], how="left", maintain_order="left")
    return joined["start"].fill_null(0).to_numpy(), joined["end"].fill_null(0).to_numpy()


def _lost(starts: int, ends: int) -> tuple[str, ...]:
    notes = []
    if starts:
        notes.append(f"{starts} task(s) started but never ended and were dropped")
    if ends:
        notes.append(f"{ends} task end(s) have no start and were dropped")
    return tuple(notes)


def _batches(key: I64) -> I64:
    """Return how often the task ids of the stream had begun again; streams run their tasks in id order."""
    stream, task = key >> _TASK_BITS, key & (1 << _TASK_BITS) - 1
    order = np.argsort(stream, kind="stable")
    stream, task = stream[order], task[order]
    fresh = np.ones(len(key), bool)
    fresh[1:] = stream[1:] != stream[:-1]
    flips = np.zeros(len(key), np.int64)
    flips[1:] = (task[1:] < task[:-1]) & ~fresh[1:]
    counted = np.cumsum(flips)
    positions = np.arange(len(key))
    base = counted[np.maximum.accumulate(np.where(fresh, positions, 0))] if len(key) else counted
    result = np.empty(len(key), np.int64)
    result[order] = counted - base
    return result


@frozen(eq=False)
class Counters:
    """
    Counters of the tasks of one device; one row per task.

    ``measured`` tells which tasks have any; ``start_tick``/``end_tick`` are the operator's own ticks, 0 if none.
    ``core_ticks`` is int64 ``[n, 2]``: how long each half took, where the records say so. What cores counted stays in
    the records, which are by far the largest: `sums` adds them up.
    """

    measured: Bools
    start_tick: I64
    end_tick: I64
    counted: CountedRecords = field(repr=False)
    core_ticks: I64 | None = None

    def sums(self, rows: I64) -> tuple[I64, I64]:
        """
        Return cycles, int64 ``[m, 2]``, and events, int64 ``[m, 2, slots]``, of tasks by their rows.

        The second axis is cube half, vector half; a half that was not measured is zero.
        """
        return self.counted.sums(rows)


class CountedRecords:
    """What records counted, with the task and the half that each belongs to; large ones lie in a file."""

    def __init__(self, slots: int) -> None:
        layout = np.dtype([("cycles", "<u8"), ("pmu", "<u8", (slots,))])
        self._records, self._rows, self._halves = RowFile(layout), Filled("i8"), Filled("u1")
        self._sorted: tuple[I64, I64 | None, Array] | None = None

    def add(self, row: I64, half: I64, records: Records) -> None:
        """Add records, each with its task and half."""
        kept = np.empty(len(records), self._records.kind)
        kept["cycles"], kept["pmu"] = records["total_cycles"], records["pmu"]
        self._records.append(kept)
        self._rows.append(row)
        self._halves.append(half)

    def sums(self, rows: I64) -> tuple[I64, I64]:
        """Return the sums of the records of tasks; see `Counters.sums`."""
        task, order, halves = self._by_task()
        slots = self._records.kind["pmu"].shape[0]
        cycles, pmu = np.zeros((len(rows), 2), np.int64), np.zeros((len(rows), 2, slots), np.int64)
        first, last = (np.searchsorted(task, rows, side=side) for side in ("left", "right"))
        count = last - first
        for turn in range(int(count.max(initial=0))):
            wanted = np.flatnonzero(count > turn)
            place = first[wanted] + turn if order is None else order[first[wanted] + turn]
            records = self._records.gather(place)
            half = halves[place]
            cycles[wanted, half] += records["cycles"].astype(np.int64)
            pmu[wanted, half] += records["pmu"].astype(np.int64)
        return cycles, pmu

    def _by_task(self) -> tuple[I64, I64 | None, Array]:
        if self._sorted is None:
            rows = self._rows.values()
            order = None if (rows[1:] >= rows[:-1]).all() else np.argsort(rows, kind="stable")
            self._sorted = (rows if order is None else rows[order]), order, self._halves.values()
        return self._sorted


def task_counters(parts: Iterable[Records], tasks: DeviceTasks) -> Counters:
    """
    Give each ffts_profile record to the task it was taken from (cann_msprof.md 7.4).

    Context records (0x28) describe the main engine of a task: fftsType 0, or 4 with sub-task type 0 or 6, is the
    cube half; everything else is the vector half. Block records (0x29) are summed over the blocks of a core type.
    A record belongs to the last task with its stream and task id that had started when the record ended.
    """
    owners, measured = (
        _Owners.from_tasks(task_key(tasks.stream_id, tasks.task_id), tasks.start_tick),
        _MeasuredTasks(len(tasks.task_id)),
    )
    for records in parts:
        function, _, _ = unpack_stars_header(records["header"])
        context = function == PmuFunction.CONTEXT_PMU.value
        block = function == PmuFunction.BLOCK_PMU.value
        kind, sub = records["ffts"] >> 13, records["sub_task"] & 0xFF
        of_cube = (kind == 0) | ((kind == 4) & ((sub == 0) | (sub == 6)))
        cube = np.where(context, of_cube, (records["ffts"] & 1) == 0)
        streams, ids = decode_stream_task(records["stream_id"], records["task_id"])
        keys = task_key(streams.astype(np.int64), ids.astype(np.int64))
        row = owners.rows(keys, records["end_tick"].astype(np.int64))
        usable = (row >= 0) & (context | block)
        measured.add(row[usable], np.where(cube, AIC, AIV)[usable], records[usable])
        timed = usable & context & (records["end_tick"] > records["start_tick"])
        measured.start[row[timed]] = records["start_tick"][timed].astype(np.int64)
        measured.end[row[timed]] = records["end_tick"][timed].astype(np.int64)
    return measured.counters()


def task_counters_v6(parts: Iterable[Records], tasks: DeviceTasks) -> Counters:
    """
    Give each ffts_profile record of a 950 to the task it was taken from, as :func:`task_counters`.

    A context record (0x2a) holds one kind of core, and its ticks are how long that took rather than when the
    operator ran. Block records are shares of the context's and are left out; the mark of an overflow changes nothing
    (Ascend/msprof chip6_pmu_calculator, whose pmu_bean_v6 compares it with a number of another type).
    """
    owners, measured = _Owners.from_tasks(tasks.task_id, tasks.start_tick), _MeasuredTasks(len(tasks.task_id))
    core_ticks = np.zeros((len(tasks.task_id), 2), np.int64)
    for records in parts:
        function, _, _ = unpack_stars_header(records["header"])
        row = owners.rows(records["task_id"].astype(np.int64), records["end_tick"].astype(np.int64))
        usable = (row >= 0) & (function == PmuFunction.CONTEXT_PMU_V6.value)
        row, half, chosen = row[usable], np.where(records["core_type"] & 1, AIV, AIC)[usable], records[usable]
        measured.add(row, half, chosen)
        spent = chosen["end_tick"].astype(np.int64) - chosen["start_tick"].astype(np.int64)
        np.add.at(core_ticks, (row, half), spent)
    return measured.counters(core_ticks)


def task_counters_hwts(parts: Iterable[Records], tasks: DeviceTasks) -> Counters:
    """
    Give each aicore record to the task it was taken from.

    There is no time in it: the n-th record of a stream and task id is of the n-th task there that ran on a core.
    """
    on_core = np.flatnonzero(np.isin(tasks.sqe_type, (SqeType.AI_CORE.value, SqeType.AIV.value)))
    task_keys = task_key(tasks.stream_id, tasks.task_id)[on_core]
    kept = list(parts)
    keys = [task_key((part["stream_id"] % 2048).astype(np.int64), part["task_id"].astype(np.int64)) for part in kept]
    key = np.concatenate(keys) if keys else np.zeros(0, np.int64)
    known = pl.DataFrame({"key": task_keys, "turn": ordinals(task_keys), "row": on_core})
    wanted = pl.DataFrame({"key": key, "turn": ordinals(key)})
    row = wanted.join(known, on=["key", "turn"], how="left", maintain_order="left")["row"].fill_null(-1).to_numpy()
    measured, begin = _MeasuredTasks(len(tasks.task_id)), 0
    for records in kept:
        rows = row[begin : begin + len(records)]
        begin += len(records)
        usable = rows >= 0
        measured.add(rows[usable], np.full(int(usable.sum()), AIC), records[usable])
    return measured.counters()


class _MeasuredTasks:
    """Counters of *count* tasks while they are found."""

    def __init__(self, count: int) -> None:
        self.measured, self.start, self.end = (
            np.zeros(count, bool),
            np.zeros(count, np.int64),
            np.zeros(count, np.int64),
        )
        self._counted: CountedRecords | None = None

    def add(self, row: I64, half: I64, records: Records) -> None:
        if self._counted is None:
            self._counted = CountedRecords(records["pmu"].shape[1])
        self._counted.add(row, half, records)
        self.measured[row] = True

    def counters(self, core_ticks: I64 | None = None) -> Counters:
        return Counters(self.measured, self.start, self.end, self._counted or CountedRecords(0), core_ticks)


@frozen(eq=False)
class _Owners:
    """Finds the last task of a key that had started by a tick."""

    distinct: I64
    low: int
    span: int
    starts: I64
    order: I64 | None
    ranked: I64 | None

    @classmethod
    def from_tasks(cls, task_keys: I64, start_tick: I64) -> _Owners:
        distinct = np.sort(pl.Series(np.ascontiguousarray(task_keys)).unique().to_numpy())
        if not len(task_keys):
            return cls(distinct, 0, 1, np.zeros(0, np.int64), None, None)
        low, ranked = int(start_tick.min()), None
        span = int(start_tick.max()) - low + 1
        if len(distinct) * span >= MOST_KEYS:
            ranked = np.unique(start_tick)
            start_tick, low, span = np.searchsorted(ranked, start_tick), 0, len(ranked)
        wide = np.searchsorted(distinct, task_keys).astype(np.int64) * span + (start_tick - low)
        order = None if (wide[1:] >= wide[:-1]).all() else np.argsort(wide, kind="stable")
        return cls(distinct, low, span, wide if order is None else wide[order], order, ranked)

    def rows(self, key: I64, tick: I64) -> I64:
        """Return the row of the task of each key that had started last by each tick, -1 if none had."""
        if not len(self.starts):
            return np.full(len(key), -1, np.int64)
        code = np.minimum(np.searchsorted(self.distinct, key), len(self.distinct) - 1).astype(np.int64)
        tick = tick if self.ranked is None else np.searchsorted(self.ranked, tick, side="right") - 1
        known = (self.distinct[code] == key) & (tick >= self.low)
        wide = code * self.span + np.clip(tick - self.low, 0, self.span - 1)
        place = np.searchsorted(self.starts, wide, side="right") - 1
        # The last start at or before it may be of an earlier key.
        known &= (place >= 0) & (self.starts[np.maximum(place, 0)] >= code * self.span)
        row = place if self.order is None else self.order[np.maximum(place, 0)]
        return np.asarray(np.where(known, row, -1), np.int64)
