"""Starts and ends of tasks, whichever scheduler reported them (cann_msprof.md 7.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from attrs import evolve, frozen

from drynpu.arrays import I64, Array, Bools, Records
from drynpu.layouts import schedulers as facts
from drynpu.layouts.schedulers import SqeType, StarsFunction, TsState, TsTaskType
from drynpu.platforms import Platform
from drynpu.raw import decode_stream_task, unpack_stars_header

_EVENT_KINDS = {"stream": "u4", "task": "u4", "tick": "i8", "is_end": "?", "sqe": "i2"}
"""There are two events for every task, so they are narrow."""
UNKNOWN_STREAM = 65_535
"""Stream of a task whose launch is not known, where the launch alone knows it."""
_UNKNOWN_TYPE = -1


@frozen(eq=False, kw_only=True)
class TaskEvents:
    """Starts and ends in any order, shape ``[n]``; ``sqe`` are `SqeType` values, -1 where a number means nothing."""

    stream: Array
    task: Array
    tick: I64
    is_end: Bools
    sqe: Array
    mixed: TaskEvents | None = None
    """The sub-tasks that kernels on both kinds of core are, where they are sub-tasks."""


Read = Callable[[str], Iterable[Records]]
StreamOf = Callable[[I64], I64]


def task_events(read: Read, platform: Platform, stream_of: StreamOf) -> TaskEvents:
    """
    Return the starts and ends of the tasks of one device.

    Parameters
    ----------
    read:
        Returns the records of a kind by its name, in parts.
    stream_of:
        Returns the streams of tasks by their ids, for platforms whose scheduler does not name them.
    """
    name = platform.tasks.record
    if name == facts.HWTS.name:
        parts = [_hwts(part) for part in read(name)]
    elif name == facts.TS_TRACK_STATE.name:
        parts = [_states(part) for part in read(name)]
    elif name == facts.STARS_SOC_V6.name:
        parts = [_stars_v6(part, stream_of) for part in read(name)]
    else:
        parts = [_stars(part) for part in read(name)]
    mixed = [part.mixed for part in parts if part.mixed is not None and len(part.mixed.tick)]
    if platform.tasks.ai_cpu_in_ts_track:
        parts += [_scheduled(part) for part in read(facts.TS_TRACK_TASK_TYPE.name)]
    return evolve(_joined(parts), mixed=_joined(mixed) if mixed else None)


def _joined(parts: list[TaskEvents]) -> TaskEvents:
    """Return the events of all parts, which are let go."""
    columns = {name: [getattr(part, name) for part in parts] for name in _EVENT_KINDS}
    parts.clear()
    joined: dict[str, Any] = {}
    for name, kind in _EVENT_KINDS.items():
        values = columns.pop(name)
        joined[name] = np.concatenate(values) if values else np.zeros(0, kind)
    return TaskEvents(**joined)


def _stars(records: Records) -> TaskEvents:
    """Return the events of whole tasks, and of sub-tasks of kernels on both kinds of core."""
    function, _, _ = unpack_stars_header(records["header"])
    ends = function == StarsFunction.SUB_TASK_END.value
    is_mixed = records["ffts"] >> facts.FFTS_TYPE_SHIFT == facts.FFTS_MIXED
    is_sub_task = is_mixed & (ends | (function == StarsFunction.SUB_TASK_START.value))
    stream, task = decode_stream_task(records["stream_id"][is_sub_task], records["task_id"][is_sub_task])
    mixed = _events(records[is_sub_task], stream, task, ends[is_sub_task], np.zeros(int(is_sub_task.sum()), np.int64))
    records, is_end, sqe = _whole(records)
    stream, task = decode_stream_task(records["stream_id"], records["task_id"])
    whole = _events(records, stream, task, is_end, _types(sqe, facts.STARS_TYPES))
    return evolve(whole, mixed=mixed)


def _stars_v6(records: Records, stream_of: StreamOf) -> TaskEvents:
    records, is_end, sqe = _whole(records)
    task = records["task_id"].astype(np.int64)
    return _events(records, stream_of(task), task, is_end, _types(sqe, facts.V6_TYPES))


def _whole(records: Records) -> tuple[Records, Bools, I64]:
    function, _, sqe = unpack_stars_header(records["header"])
    ends = function == StarsFunction.TASK_END.value
    whole = (function == StarsFunction.TASK_START.value) | ends
    return records[whole], ends[whole], sqe[whole].astype(np.int64)


def _hwts(records: Records) -> TaskEvents:
    tag = records["tag"] & facts.HWTS_TAG_MASK
    records, tag = records[tag <= facts.HWTS_END], tag[tag <= facts.HWTS_END]
    sqe = _types(records["sqe_type"].astype(np.int64), facts.HWTS_TYPES)
    return _events(records, records["stream_id"] % 2048, records["task_id"], tag == facts.HWTS_END, sqe)


def _states(records: Records) -> TaskEvents:
    """Return when tasks ran; when they came to their streams and what held them up is left out."""
    records = records[np.isin(records["state"], (TsState.RUNNING, TsState.COMPLETE))]
    sqe = _types(records["task_type"].astype(np.int64), facts.TS_TYPES)
    return _events(records, records["stream_id"] % 2048, records["task_id"], records["state"] == TsState.COMPLETE, sqe)


def _scheduled(records: Records) -> TaskEvents:
    """Return the tasks of the AI CPU that the task scheduler reports."""
    known = np.isin(records["state"], (facts.TS_STARTED, facts.TS_ENDED))
    records = records[known & (records["task_type"] == TsTaskType.AI_CPU)]
    sqe = np.full(len(records), SqeType.AI_CPU.value, np.int64)
    return _events(records, records["stream_id"], records["task_id"], records["state"] == facts.TS_ENDED, sqe)


def _events(records: Records, stream: Records, task: Records, is_end: Bools, sqe: I64) -> TaskEvents:
    columns: dict[str, Any] = {"stream": stream, "task": task, "tick": records["tick"], "is_end": is_end, "sqe": sqe}
    return TaskEvents(**{name: values.astype(_EVENT_KINDS[name]) for name, values in columns.items()})


def _types(numbers: I64, types: Mapping[SqeType, int]) -> I64:
    table = np.full(256, _UNKNOWN_TYPE, np.int64)
    for kind, number in types.items():
        table[number] = kind.value
    return np.asarray(np.where(numbers < len(table), table[numbers % len(table)], _UNKNOWN_TYPE))
