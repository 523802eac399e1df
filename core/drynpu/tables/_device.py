"""Device records to arrays: when each task ran, and its counters."""

from __future__ import annotations

import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu.arrays import I64, Bools, Records
from drynpu.deliverables.counters.facts import PmuFunction
from drynpu.deliverables.tasks.facts_schedulers import SqeType
from drynpu.raw import decode_stream_task, unpack_stars_header
from drynpu.tables._columns import ordinals
from drynpu.tables._task_events import TaskEvents

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
    key = task_key(events.stream, events.task)
    order = np.lexsort((events.is_end, events.tick, key))
    key, tick, is_end, sqe = key[order], events.tick[order], events.is_end[order], events.sqe[order]
    starts = np.flatnonzero(~is_end)
    following = np.minimum(starts + 1, max(len(key) - 1, 0))
    ended = is_end[following] & (key[following] == key[starts]) if len(starts) else np.zeros(0, bool)
    notes = _lost(len(starts) - int(ended.sum()), int(is_end.sum()) - int(ended.sum()))
    begin = tick[starts]
    by_start = np.lexsort((key[starts], begin))
    starts, ended, begin = starts[by_start], ended[by_start], begin[by_start]
    batch = _batches(key[starts])
    place = ordinals(key[starts])
    rows = starts[ended]
    mixed_start, mixed_end = _mixed_ticks(events.mixed, key[rows], place[ended])
    return DeviceTasks(
        stream_id=key[rows] >> _TASK_BITS,
        task_id=key[rows] & (1 << _TASK_BITS) - 1,
        batch_id=batch[ended],
        ordinal=place[ended],
        sqe_type=sqe[rows],
        start_tick=begin[ended],
        end_tick=tick[rows + 1],
        notes=notes,
        mixed_start=mixed_start,
        mixed_end=mixed_end,
    )


def _mixed_ticks(events: TaskEvents | None, key: I64, ordinal: I64) -> tuple[I64 | None, I64 | None]:
    """Return when the sub-task of each task ran: the n-th one of a stream and task id is of the n-th task there."""
    if events is None or not len(events.tick):
        return None, None
    found = pair_tasks(events)
    sub_tasks = {
        "key": task_key(found.stream_id, found.task_id),
        "turn": found.ordinal,
        "start": found.start_tick,
        "end": found.end_tick,
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
    Counters of the tasks of one device; one row per task, zero where a half was not measured.

    ``measured`` tells which tasks have any; ``start_tick``/``end_tick`` are the operator's own ticks, 0 if none;
    ``cycles`` is int64 ``[n, 2]`` and ``pmu`` int64 ``[n, 2, slots]``: cube half, vector half. ``core_ticks`` is int64
    ``[n, 2]``: how long each half took, where the records say so.
    """

    measured: Bools
    start_tick: I64
    end_tick: I64
    cycles: I64
    pmu: I64 = field(repr=False)
    core_ticks: I64 | None = None


def task_counters(records: Records, tasks: DeviceTasks) -> Counters:
    """
    Give each ffts_profile record to the task it was taken from (cann_msprof.md 7.4).

    Context records (0x28) describe the main engine of a task: fftsType 0, or 4 with sub-task type 0 or 6, is the
    cube half; everything else is the vector half. Block records (0x29) are summed over the blocks of a core type.
    A record belongs to the last task with its stream and task id that had started when the record ended.
    """
    function, _, _ = unpack_stars_header(records["header"])
    context = function == PmuFunction.CONTEXT_PMU.value
    block = function == PmuFunction.BLOCK_PMU.value
    kind, sub = records["ffts"] >> 13, records["sub_task"] & 0xFF
    cube = np.where(context, (kind == 0) | ((kind == 4) & ((sub == 0) | (sub == 6))), (records["ffts"] & 1) == 0)
    row = _rows(tasks, records)
    usable = (row >= 0) & (context | block)
    count = len(tasks.task_id)
    measured, cycles, pmu = _sums(count, row[usable], np.where(cube, AIC, AIV)[usable], records[usable])
    start, end = np.zeros(count, np.int64), np.zeros(count, np.int64)
    timed = usable & context & (records["end_tick"] > records["start_tick"])
    start[row[timed]] = records["start_tick"][timed].astype(np.int64)
    end[row[timed]] = records["end_tick"][timed].astype(np.int64)
    return Counters(measured=measured, start_tick=start, end_tick=end, cycles=cycles, pmu=pmu)


def task_counters_v6(records: Records, tasks: DeviceTasks) -> Counters:
    """
    Give each ffts_profile record of a 950 to the task it was taken from, as :func:`task_counters`.

    A context record (0x2a) holds one kind of core, and its ticks are how long that took rather than when the
    operator ran. Block records are shares of the context's and are left out; the mark of an overflow changes nothing
    (Ascend/msprof chip6_pmu_calculator, whose pmu_bean_v6 compares it with a number of another type).
    """
    function, _, _ = unpack_stars_header(records["header"])
    row = _owners(tasks, tasks.task_id, records["task_id"].astype(np.int64), records["end_tick"].astype(np.int64))
    usable = (row >= 0) & (function == PmuFunction.CONTEXT_PMU_V6.value)
    row, half, chosen = row[usable], np.where(records["core_type"] & 1, AIV, AIC)[usable], records[usable]
    count = len(tasks.task_id)
    measured, cycles, pmu = _sums(count, row, half, chosen)
    core_ticks = np.zeros((count, 2), np.int64)
    np.add.at(core_ticks, (row, half), chosen["end_tick"].astype(np.int64) - chosen["start_tick"].astype(np.int64))
    never = np.zeros(count, np.int64)
    return Counters(measured=measured, start_tick=never, end_tick=never, cycles=cycles, pmu=pmu, core_ticks=core_ticks)


def _rows(tasks: DeviceTasks, records: Records) -> I64:
    streams, ids = decode_stream_task(records["stream_id"], records["task_id"])
    keys = task_key(streams.astype(np.int64), ids.astype(np.int64))
    task_keys = task_key(tasks.stream_id, tasks.task_id)
    return _owners(tasks, task_keys, keys, records["end_tick"].astype(np.int64))


def task_counters_hwts(records: Records, tasks: DeviceTasks) -> Counters:
    """
    Give each aicore record to the task it was taken from.

    There is no time in it: the n-th record of a stream and task id is of the n-th task there that ran on a core.
    """
    on_core = np.flatnonzero(np.isin(tasks.sqe_type, (SqeType.AI_CORE.value, SqeType.AIV.value)))
    task_keys = task_key(tasks.stream_id, tasks.task_id)[on_core]
    key = task_key((records["stream_id"] % 2048).astype(np.int64), records["task_id"].astype(np.int64))
    known = pl.DataFrame({"key": task_keys, "turn": ordinals(task_keys), "row": on_core})
    wanted = pl.DataFrame({"key": key, "turn": ordinals(key)})
    row = wanted.join(known, on=["key", "turn"], how="left", maintain_order="left")["row"].fill_null(-1).to_numpy()
    usable = row >= 0
    count = len(tasks.task_id)
    half = np.full(int(usable.sum()), AIC)
    measured, cycles, pmu = _sums(count, row[usable], half, records[usable])
    never = np.zeros(count, np.int64)
    return Counters(measured=measured, start_tick=never, end_tick=never, cycles=cycles, pmu=pmu)


def _sums(count: int, row: I64, half: I64, records: Records) -> tuple[Bools, I64, I64]:
    cycles, pmu = np.zeros((count, 2), np.int64), np.zeros((count, 2, records["pmu"].shape[1]), np.int64)
    np.add.at(cycles, (row, half), records["total_cycles"].astype(np.int64))
    np.add.at(pmu, (row, half), records["pmu"].astype(np.int64))
    measured = np.zeros(count, bool)
    measured[row] = True
    return measured, cycles, pmu


def _owners(tasks: DeviceTasks, task_keys: I64, key: I64, tick: I64) -> I64:
    """Return the row of the last task with each key that had started by each tick, -1 if none; *own* are its keys."""
    codes = np.unique(np.concatenate([task_keys, key]), return_inverse=True)[1].reshape(-1).astype(np.int64)
    ticks = np.unique(np.concatenate([tasks.start_tick, tick]), return_inverse=True)[1].reshape(-1).astype(np.int64)
    wide = codes * (len(ticks) + 1) + ticks
    order = np.argsort(wide[: len(task_keys)], kind="stable")
    position = np.searchsorted(wide[: len(task_keys)][order], wide[len(task_keys) :], side="right") - 1
    found = np.where(position >= 0, order[np.maximum(position, 0)], -1) if len(task_keys) else np.full(len(key), -1)
    return np.where((found >= 0) & (task_keys[found] == key), found, -1) if len(task_keys) else found
