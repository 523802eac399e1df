"""Raw records of the tasks of operators that a topology plans anew, in place of the recorded ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from attrs import define, field, frozen

from drynpu import OutputError
from drynpu.arrays import I64, U16, U64, Array, Records
from drynpu.deliverables.communication.records import RUNTIME_APIS
from drynpu.deliverables.tasks.task_forms import TaskRuns, flip_records, task_ids, task_records, with_flips
from drynpu.device.collectives import CollectivePlan, TaskName
from drynpu.layouts import schedulers as facts
from drynpu.layouts.calls import API_EVENT
from drynpu.layouts.communication import HCCL_INFO
from drynpu.layouts.tasks import RUNTIME_TASK_TYPES, TASK_TRACK
from drynpu.platforms import Platform
from drynpu.raw import CONTEXT_ID_NONE, LAST_TASK_ID, SLICE_BYTES, HostLevel, hash_text, join_records
from drynpu_cluster.synth._groups import GroupCopies
from drynpu_cluster.synth._plan import RankPlan, step_key
from drynpu_cluster.synth._recorded_tasks import RecordedTasks
from drynpu_cluster.synth._records import GroupIds, Timeline
from drynpu_cluster.synth._task_plans import TaskPlan
from drynpu_cluster.synth._works import OperatorWork

_OPS_MODE = 1
_ROOM = 4
"""Units of the host's clock that a call of a task takes at least, with the calls inside it."""
_FIRST_API, _TASK_TYPES = 1000, 800
"""Numbers of calls of the runtime begin here; types of tasks lie below."""


@define
class Words:
    """The texts and names that records have by number, and those that are new."""

    texts: Mapping[int, str]
    types: Mapping[tuple[int, int], str]
    new_texts: dict[int, str] = field(factory=dict)
    new_types: dict[tuple[int, int], str] = field(factory=dict)

    def text(self, word: str) -> int:
        """Return the id of a text."""
        number = hash_text(word)
        if number not in self.texts:
            self.new_texts[number] = word
        return number

    def type(self, level: HostLevel, name: str, *, task: bool = False) -> int:
        """Return the number of a call, or of a type of task."""
        known = {**self.types, **self.new_types}
        fitting = [number for (at, number), each in known.items() if at == level and (number < _TASK_TYPES) == task]
        named = [number for number in fitting if known[level, number] == name]
        if not named:
            least = 0 if task else _FIRST_API if level is HostLevel.RUNTIME else _TASK_TYPES
            named = [max(fitting, default=least - 1) + 1]
            self.new_types[level, named[0]] = name
        return named[0]

    def lines(self, file: str) -> bytes:
        """Return the new lines of a dictionary."""
        if "hash_dic" in file:
            lines = [f"{number}:{word}\n" for number, word in sorted(self.new_texts.items())]
        else:
            lines = [f"{level}_{number}:{name}\n" for (level, number), name in sorted(self.new_types.items())]
        return "".join(lines).encode()


@frozen(eq=False)
class _Tasks:
    """All tasks of a rank, by operator and then as its plan has them; shape ``[tasks]``."""

    owner: I64
    """Row of the recorded operator."""
    plans: Sequence[CollectivePlan]
    start: I64
    ticks: I64
    begin: I64
    share: I64
    """When the call of each begins, and how long it takes, in raw host times."""

    def column(self, name: str) -> Array:
        """Return a column of the plans."""
        columns = [getattr(plan, name) for plan in self.plans]
        return np.concatenate(columns) if columns else np.empty(0, np.int64)

    def middle(self) -> U64:
        """Return when the call of each launches it."""
        return (self.begin + (self.share - 1) // 2).astype(np.uint64)


@frozen(eq=False)
class Making:
    """What the records of a rank are made of; *planned* and *works* are by operator of *recorded*."""

    recorded: RecordedTasks
    planned: Sequence[TaskPlan]
    works: Sequence[OperatorWork]
    rank: RankPlan
    groups: GroupCopies
    ids: GroupIds
    timeline: Timeline
    platform: Platform
    words: Words

    def records(self) -> dict[str, Records]:
        """
        Return the records of all tasks of the rank, by the names of their kinds.

        Raises
        ------
        OutputError
            The platform keeps its tasks in records that are not made here.
        """
        if self.platform.tasks.record != facts.STARS_SOC.name:
            raise OutputError("--raw with --topology: how this chip's scheduler records tasks is not made anew")
        tasks = self._laid()
        stream, task_id, batch_id = _numbered(self._streams(tasks), self.recorded.kept, self.platform)
        runs = TaskRuns(
            stream=stream,
            task_id=task_id,
            batch_id=batch_id,
            start=tasks.start,
            end=tasks.start + tasks.ticks,
            sqe=np.array([int(RUNTIME_APIS[name][2]) for name in TaskName])[tasks.column("name")],
            sub_task=np.zeros(len(stream), np.int64),
        )
        return {
            "api_event": self._calls(tasks),
            "task_track": self._launches(tasks, runs),
            "hccl_info": self._descriptions(tasks),
            **task_records(runs, self.platform),
            "ts_track_flip": flip_records(runs, self.platform),
        }

    def _laid(self) -> _Tasks:
        """Lay the tasks of each operator into its time on the device, and their calls into the time of its calls."""
        recorded, timeline = self.recorded, self.timeline
        count = np.array([len(each.plan) for each in self.planned], np.int64)
        owner = np.repeat(np.arange(len(count)), count)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        first, last = (
            timeline.anchors.unix_to_tick(timeline.warp(times)) for times in (recorded.start_ns, recorded.end_ns)
        )
        begin, end = (
            timeline.host(times.astype(np.uint64)).astype(np.int64) for times in (recorded.begin, recorded.end)
        )
        start, ticks = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for each, work, at, until in zip(self.planned, self.works, first.tolist(), last.tolist(), strict=True):
            began, took = each.laid(until - at, self.rank.steps[step_key(work.step)].transit)
            start.append(at + began)
            ticks.append(took)
        share = (end - begin)[owner] // np.maximum(count, 1)[owner]
        return _Tasks(
            owner=owner,
            plans=[each.plan for each in self.planned],
            start=np.concatenate(start),
            ticks=np.concatenate(ticks),
            begin=begin[owner] + share * place,
            share=share,
        )

    def _streams(self, tasks: _Tasks) -> I64:
        """Return the stream of each task: of its group and plane; planes that were not recorded have new ones."""
        recorded = self.recorded
        plane, group = tasks.column("plane"), recorded.group[tasks.owner]
        known = [stream for planes in recorded.streams.values() for stream in planes.values()]
        following = max([*known, *recorded.kept], default=0) + 1
        streams = np.zeros(len(plane), np.int64)
        for number, planes in recorded.streams.items():
            in_group = group == number
            for each in np.unique(plane[in_group]).tolist():
                stream = planes.get(each, following)
                following += stream == following
                streams[in_group & (plane == each)] = stream
        return streams

    def _calls(self, tasks: _Tasks) -> Records:
        """Return the call of each task, and the runtime's inside it."""
        recorded, names = self.recorded, tasks.column("name")
        level = HostLevel.COMMUNICATION
        planes = np.array([self.words.type(level, name) for name in ("slave", "master")])
        runtime = np.zeros(len(TaskName), np.int64)
        for name in np.unique(names).tolist():
            runtime[name] = self.words.type(HostLevel.RUNTIME, RUNTIME_APIS[TaskName(name)][0])
        quarter, end = tasks.share // 4, tasks.begin + np.maximum(tasks.share - 1, 0)
        of_plane = planes[(tasks.column("plane") == 0).astype(np.int64)]
        outer = (level, of_plane, tasks.begin, end, recorded.item[tasks.owner])
        inner = (HostLevel.RUNTIME, runtime[names], tasks.begin + quarter, end - quarter, 0)
        both = []
        for columns in (outer, inner):
            rows = API_EVENT.new(len(names))
            rows["thread_id"] = recorded.thread[tasks.owner]
            for field_name, values in zip(("level", "type", "begin", "end", "item_id"), columns, strict=True):
                rows[field_name] = values
            both.append(rows)
        return join_records(API_EVENT, both)

    def _launches(self, tasks: _Tasks, runs: TaskRuns) -> Records:
        names = tasks.column("name")
        rows = TASK_TRACK.new(len(names))
        rows["thread_id"], rows["timestamp"] = self.recorded.thread[tasks.owner], tasks.middle()
        rows["device_id"] = self.recorded.device_id
        rows["stream_id"], rows["task_id"], rows["batch_id"] = runs.stream, runs.task_id, runs.batch_id
        numbers = np.zeros(len(TaskName), np.int64)
        for name in np.unique(names).tolist():
            numbers[name] = self.words.type(HostLevel.RUNTIME, RUNTIME_APIS[TaskName(name)][1], task=True)
        rows["task_type"] = numbers[names]
        return with_flips(rows, self.platform, RUNTIME_TASK_TYPES.__getitem__)

    def _descriptions(self, tasks: _Tasks) -> Records:
        recorded, owner, names = self.recorded, tasks.owner, tasks.column("name")
        members = [self.groups.members[work.group] for work in self.works]
        local = np.array([ranks.index(self.rank.rank) for ranks in members], np.int64)
        texts = np.array([self.words.text(name.name) for name in TaskName], np.uint64)
        reduces = names == TaskName.Reduce_Inline
        rows = HCCL_INFO.new(len(names))
        rows["thread_id"], rows["timestamp"] = recorded.thread[owner], tasks.middle()
        rows["item_id"], rows["group_name"] = texts[names], self.ids.renamed(recorded.group)[owner]
        rows["local_rank"], rows["remote_rank"] = local[owner], tasks.column("peer")
        rows["rank_size"] = np.array([len(ranks) for ranks in members], np.int64)[owner]
        rows["work_flow_mode"], rows["plane_id"], rows["context_id"] = _OPS_MODE, tasks.column("plane"), CONTEXT_ID_NONE
        rows["notify_id"] = tasks.column("notify")
        rows["stage"], rows["role"] = CONTEXT_ID_NONE, CONTEXT_ID_NONE
        rows["duration_estimated_us"] = tasks.column("length") * (1e6 / self.timeline.anchors.device_hz)
        rows["size_bytes"] = tasks.column("size_bytes")
        rows["op_type"] = np.where(reduces, 0, CONTEXT_ID_NONE)
        rows["data_type"] = np.where(reduces, recorded.dtype[owner], CONTEXT_ID_NONE)
        rows["link_type"], rows["transport_type"] = tasks.column("link"), tasks.column("transport")
        rows["rdma_type"] = tasks.column("rdma")
        return rows


def _signed(values: Array) -> I64:
    signed: I64 = values.astype(np.int64)
    return signed


def room_for_calls(recorded: RecordedTasks, planned: Sequence[TaskPlan]) -> tuple[I64, I64]:
    """Return raw host times, and how many units of the clock must follow each so that the calls of tasks fit."""
    return recorded.begin, np.array([_ROOM * len(each.plan) for each in planned], np.int64)


def _numbered(stream: I64, kept: Mapping[int, int], platform: Platform) -> tuple[I64, U16, U16]:
    """
    Return streams and ids of tasks.

    A stream that keeps other tasks goes on with the ids behind theirs. Where it has no room for that, the tasks get a
    stream of their own.
    """
    stream = stream.copy()
    following = max([*stream.tolist(), *kept], default=0) + 1
    offset = np.zeros(len(stream), np.int64)
    for each in np.unique(stream).tolist():
        rows = stream == each
        first = kept.get(each, -1) + 1
        if first and first + int(rows.sum()) > LAST_TASK_ID:
            stream[rows], following = following, following + 1
        else:
            offset[rows] = first
    task_id, batch_id = task_ids(stream, platform)
    return stream, (task_id + offset).astype(np.uint16), batch_id


def merged(slices: Iterable[tuple[str, bytes]], added: Sequence[Records]) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of the slices of a file with *added* records, all in order of time."""
    names, contents = zip(*slices, strict=True)
    dtype = added[0].dtype
    time = next(name for name in ("begin", "timestamp", "tick") if name in (dtype.names or ()))
    whole = np.frombuffer(b"".join([*contents, *(records.tobytes() for records in added)]), dtype)
    ordered = whole[np.argsort(whole[time], kind="stable")]
    most = SLICE_BYTES // dtype.itemsize
    for number, first in enumerate(range(0, max(len(ordered), 1), most)):
        yield re.sub(r"\d+$", str(number), names[0]), ordered[first : first + most].tobytes()
