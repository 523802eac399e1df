"""When tasks ran, in the records of the scheduler that a platform has (cann_msprof.md 7.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from attrs import evolve, frozen

from drynpu.arrays import I64, U16, Bools, Records
from drynpu.kernels import TaskType, occurrences
from drynpu.layouts import schedulers as facts
from drynpu.layouts.schedulers import SqeType, StarsFunction, TsState, TsTaskType
from drynpu.layouts.tasks import FLIP_TASK, TASK_TRACK
from drynpu.platforms import Platform
from drynpu.raw import LAST_TASK_ID, encode_stream_task, join_records, join_task_id, pack_stars_header, split_task_id

MIXED: Mapping[TaskType, int] = MappingProxyType(
    {TaskType.MIX_AIC: facts.SUB_TASK_MIX_AIC, TaskType.MIX_AIV: facts.SUB_TASK_MIX_AIV}
)
"""Kernels on both kinds of core, by the type of their sub-task."""


@frozen(eq=False, kw_only=True)
class TaskRuns:
    """Tasks that ran on one device: ids, raw ticks and `SqeType` values, shape ``[n]``."""

    stream: I64
    task_id: U16
    batch_id: U16
    start: I64
    end: I64
    sqe: I64
    sub_task: I64
    """Type of the sub-task that a task on both kinds of core is, 0 of others."""

    def take(self, rows: Bools) -> TaskRuns:
        """Return some of the tasks."""
        names = ("stream", "task_id", "batch_id", "start", "end", "sqe", "sub_task")
        return evolve(self, **{name: getattr(self, name)[rows] for name in names})


def task_ids(stream: I64, platform: Platform, before: int = 0) -> tuple[U16, U16]:
    """
    Return ``(task_id, batch_id)`` of tasks in launch order, shape ``[n]``: the halves of one number.

    That is the task's number on its stream. Where ids are unique on the device, it is the number there, behind the
    *before* tasks that others launched.
    """
    if platform.tasks.wide_ids:
        return split_task_id(before + np.arange(len(stream)))
    number = occurrences(stream)
    # A flip is a task itself and takes the 0 with which ids begin again (Ascend/msprof mscalculate/flip).
    return split_task_id(number + np.maximum(number - 1, 0) // LAST_TASK_ID if _has_flips(platform) else number)


def _has_flips(platform: Platform) -> bool:
    """Whether readers of the platform take flips into account: its ids have 16 bits and a stream alone."""
    return platform.tasks.unique_ids and not platform.tasks.wide_ids


def task_records(runs: TaskRuns, platform: Platform) -> dict[str, Records]:
    """Return the starts and ends of tasks, and where ids of streams began again, by the name of the record."""
    records = {}
    if platform.tasks.ai_cpu_in_ts_track:
        on_ai_cpu = runs.sqe == SqeType.AI_CPU
        records["ts_track_task_type"] = _scheduled(runs.take(on_ai_cpu))
        runs = runs.take(~on_ai_cpu)
    records[platform.tasks.record] = _FORMS[platform.tasks.record](runs)
    return records


def flip_records(runs: TaskRuns, platform: Platform) -> Records:
    """
    Return where the 16-bit ids of streams began again, where readers take that into account.

    A flip comes half-way between the starts of the tasks around it: at the instant of either one of the toolkit's two
    parsers counts that task to the other batch.
    """
    if not _has_flips(platform):
        return facts.TS_TRACK_FLIP.new(0)
    order = np.lexsort((runs.start, runs.stream))
    stream, start, batch = runs.stream[order], runs.start[order], runs.batch_id[order]
    turns = np.flatnonzero(_follows_flip(runs.task_id[order], batch))
    before = np.maximum(turns - 1, 0)
    earlier = np.where(stream[before] == stream[turns], start[before], start[turns] - 2)
    rows = facts.TS_TRACK_FLIP.new(len(turns))
    rows["tick"] = (np.minimum(earlier, start[turns] - 2) + start[turns]) // 2
    rows["stream_id"], rows["flip_number"] = stream[turns], batch[turns]
    return rows


def with_flips(track: Records, platform: Platform, task_type: Callable[[str], int]) -> Records:
    """
    Return task_track records, with the records of flips before the tasks that follow them.

    The toolkit's parser counts them to find the batches of launches, whatever batch the records state. *task_type*
    gives the number of a type.
    """
    turns = _follows_flip(track["task_id"], track["batch_id"])
    if not _has_flips(platform) or not turns.any():
        return track
    flips = TASK_TRACK.new(int(turns.sum()))
    for name in ("thread_id", "timestamp", "device_id", "stream_id", "batch_id"):
        flips[name] = track[name][turns]
    flips["timestamp"] -= np.uint64(1)
    flips["task_type"] = task_type(FLIP_TASK)
    joined = join_records(TASK_TRACK, [flips, track])
    return np.asarray(joined[np.argsort(joined["timestamp"], kind="stable")])


def _follows_flip(task_id: U16, batch_id: U16) -> Bools:
    return np.asarray((task_id == 1) & (batch_id > 0))


def _stars(runs: TaskRuns) -> Records:
    halves = []
    sqe = _numbers(runs.sqe, facts.STARS_TYPES)
    for function, tick in ((StarsFunction.TASK_START, runs.start), (StarsFunction.TASK_END, runs.end)):
        rows = facts.STARS_SOC.new(len(tick))
        rows["stream_id"], rows["task_id"] = encode_stream_task(runs.stream, runs.task_id)
        rows["tick"] = tick
        rows["header"] = pack_stars_header(int(function), np.arange(len(tick)), sqe)
        halves.append(rows)
    tasks = _in_order(join_records(facts.STARS_SOC, halves))
    return join_records(facts.STARS_SOC, [tasks, _sub_tasks(runs.take(runs.sub_task > 0))])


def _sub_tasks(runs: TaskRuns) -> Records:
    """Return the sub-tasks that kernels on both kinds of core are: they last as long as their tasks."""
    halves = []
    for function, tick in ((StarsFunction.SUB_TASK_START, runs.start), (StarsFunction.SUB_TASK_END, runs.end)):
        rows = facts.STARS_SOC.new(len(tick))
        rows["stream_id"], rows["task_id"] = encode_stream_task(runs.stream, runs.task_id)
        rows["tick"], rows["header"] = tick, pack_stars_header(int(function), np.arange(len(tick)))
        rows["sub_task_type"], rows["sub_task_id"] = runs.sub_task, facts.MIXED_CONTEXT
        rows["ffts"] = facts.FFTS_MIXED << facts.FFTS_TYPE_SHIFT
        halves.append(rows)
    return _in_order(join_records(facts.STARS_SOC, halves))


def _stars_v6(runs: TaskRuns) -> Records:
    halves = []
    sqe = _numbers(runs.sqe, facts.V6_TYPES)
    for function, tick in ((StarsFunction.TASK_START, runs.start), (StarsFunction.TASK_END, runs.end)):
        rows = facts.STARS_SOC_V6.new(len(tick))
        rows["task_id"], rows["tick"] = join_task_id(runs.task_id, runs.batch_id), tick
        rows["header"] = pack_stars_header(int(function), np.arange(len(tick)), sqe)
        halves.append(rows)
    return _in_order(join_records(facts.STARS_SOC_V6, halves))


def _hwts(runs: TaskRuns) -> Records:
    halves = []
    for tag, tick in ((0, runs.start), (facts.HWTS_END, runs.end)):
        rows = facts.HWTS.new(len(tick))
        rows["tag"], rows["sqe_type"] = tag, _numbers(runs.sqe, facts.HWTS_TYPES)
        rows["stream_id"], rows["task_id"], rows["tick"] = runs.stream, runs.task_id, tick
        halves.append(rows)
    return _in_order(join_records(facts.HWTS, halves))


def _states(runs: TaskRuns) -> Records:
    """Return that tasks began and ended: when each had come to its stream is not modelled."""
    halves = []
    for state, tick in ((TsState.RUNNING, runs.start), (TsState.COMPLETE, runs.end)):
        rows = facts.TS_TRACK_STATE.new(len(tick))
        rows["stream_id"], rows["task_id"], rows["tick"] = runs.stream, runs.task_id, tick
        rows["task_type"], rows["state"] = _numbers(runs.sqe, facts.TS_TYPES), int(state)
        halves.append(rows)
    return _in_order(join_records(facts.TS_TRACK_STATE, halves))


_FORMS = {"stars_soc": _stars, "stars_soc_v6": _stars_v6, "hwts": _hwts, "ts_track_state": _states}


def _scheduled(runs: TaskRuns) -> Records:
    halves = []
    for state, tick in ((facts.TS_STARTED, runs.start), (facts.TS_ENDED, runs.end)):
        rows = facts.TS_TRACK_TASK_TYPE.new(len(tick))
        rows["stream_id"], rows["task_id"], rows["tick"] = runs.stream, runs.task_id, tick
        rows["task_type"], rows["state"] = int(TsTaskType.AI_CPU), state
        halves.append(rows)
    return _in_order(join_records(facts.TS_TRACK_TASK_TYPE, halves))


def _in_order(both: Records) -> Records:
    """Return starts followed by ends in time order; on a tie the end of one task comes before the start of the next."""
    half = len(both) // 2
    ending = np.concatenate([np.ones(half), np.zeros(half)])
    return np.asarray(both[np.lexsort((ending, both["tick"]))])


def _numbers(sqe: I64, types: Mapping[SqeType, int]) -> I64:
    """Return what tasks are to a scheduler; what it does not know goes by its stand-in."""
    numbers = np.zeros(int(max(SqeType)) + 1, np.int64)
    for kind in map(SqeType, np.unique(sqe).tolist()):
        known = next(choice for choice in (kind, *facts.STAND_INS.get(kind, ())) if choice in types)
        numbers[kind] = types[known]
    return numbers[sqe]
