"""The raw data of a synthetic rank: ``PROF_*`` and ``FRAMEWORK``, made slice by slice from a recorded rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from attrs import frozen

from drynpu import OutputError
from drynpu.arrays import I64, Records
from drynpu.deliverables.registry import record_kinds, registered_groups
from drynpu.layouts import framework_torch as facts
from drynpu.platforms import Platform, find_platform
from drynpu.products import FRAMEWORK_FOLDER
from drynpu.raw import ClockAnchors, ProfReader, RecordKinds, TlvFile, read_flat, write_flat
from drynpu.raw.controls import moment
from drynpu.raw.files import DONE, make_directory, write_atomically, write_with_done
from drynpu.raw.slices import PART_BYTES, find_slices
from drynpu_cluster._find import RankSource
from drynpu_cluster.synth._groups import GroupCopies
from drynpu_cluster.synth._plan import RankPlan
from drynpu_cluster.synth._recorded_tasks import RecordedTasks, find_tasks
from drynpu_cluster.synth._records import (
    GroupIds,
    Timeline,
    distinct_times,
    host_time_names,
    is_timed,
    kinds_of_file,
    rewrite,
)
from drynpu_cluster.synth._task_plans import TaskPlan
from drynpu_cluster.synth._task_records import Making, Words, merged, room_for_calls
from drynpu_cluster.synth._warp import Warp
from drynpu_cluster.synth._works import OperatorWork

_DICTIONARIES = ("hash_dic", "type_info_dic")
_TLV = {
    "op_range": (facts.OP_RANGE, ("start", "end")),
    "op_mark": (facts.OP_MARK, ("time",)),
    "memory_usage": (facts.MEMORY_USAGE, ("time",)),
}
_FLAT = {
    "python_tracer_func": (facts.PYTHON_TRACER_FUNC, ("time",)),
    "gc_record": (facts.GC_RECORD, ("start", "end")),
}
_TIMELESS = ("python_tracer_hash", "param_tensor_info")
"""Files of a framework by the last part of their names: layout and times, or that they have none."""


File = tuple[tuple[Path, ...], tuple[str, ...]]
"""Slices that follow each other, and the names of the kinds of their records."""


@frozen(eq=False)
class RawSource:
    """
    The raw data of a recorded rank: directories, clocks, texts, and the files of each folder.

    ``host_times`` is a file with all distinct raw host times in order.
    """

    prof: Path
    framework: Path
    anchors: ClockAnchors
    texts: Mapping[int, str]
    files: Mapping[str, tuple[File, ...]]
    host_times: Path
    left_out: tuple[str, ...]
    types: Mapping[tuple[int, int], str]
    platform: Platform
    tasks: RecordedTasks | None
    """What its operators launched, where these are planned anew."""


def find_raw(source: RankSource, work: Path, works: Sequence[OperatorWork] = ()) -> RawSource:
    """
    Return the raw data of a recorded rank; its host times lie in the folder *work*.

    *works* are its operators, where these are planned anew.

    Raises
    ------
    OutputError
        There is none, or more than one.
    RawFormatError
        Its clocks cannot be read.
    """
    directories = sorted(path for path in source.path.glob("PROF_*") if path.is_dir())
    if len(directories) != 1:
        what = "no raw data" if not directories else f"{len(directories)} directories of raw data"
        raise OutputError(f"rank {source.rank} has {what} (PROF_*) in {source.path}; --raw needs one for every rank")
    kinds = record_kinds(registered_groups())
    reader = ProfReader(directories[0], kinds)
    platform = find_platform(reader.host_info.platform_version)
    sixth = platform.tasks.record.endswith("_v6")
    files, left_out = {}, set()
    for folder in (directories[0] / "host", *(directories[0] / f"device_{number}" for number in reader.device_ids)):
        files[folder.name], others = _files(folder / "data", kinds, sixth=sixth)
        left_out |= {_stem(name) for name in others}
    framework = source.path / FRAMEWORK_FOLDER
    for path in framework.iterdir() if framework.is_dir() else ():
        if path.suffix[1:] not in (*_TLV, *_FLAT, *_TIMELESS):
            left_out.add(path.name)
    times = work / f"host_times_{source.rank}.npy"
    np.save(times, _host_times(reader, framework))
    return RawSource(
        prof=directories[0],
        framework=framework,
        anchors=reader.anchors(),
        texts=reader.hashes,
        files=files,
        host_times=times,
        left_out=tuple(sorted(left_out)),
        types=reader.types,
        platform=platform,
        tasks=find_tasks(source.path, reader, works) if works else None,
    )


def _host_times(reader: ProfReader, framework: Path) -> I64:
    """Return all distinct raw host times of a recording, in order."""
    times = np.empty(0, np.int64)
    for kind in record_kinds(registered_groups()).records.values():
        if kind.side == "host" and (names := host_time_names(kind)):
            for records in reader.parts(kind.name):
                times = np.union1d(times, distinct_times(records, names))
    for path in framework.iterdir() if framework.is_dir() else ():
        if path.suffix[1:] in _TLV:
            dtype, names = _TLV[path.suffix[1:]]
            for records, _ in TlvFile(path, dtype).parts(PART_BYTES):
                times = np.union1d(times, distinct_times(records, names))
        elif path.suffix[1:] in _FLAT:
            dtype, names = _FLAT[path.suffix[1:]]
            times = np.union1d(times, distinct_times(read_flat(path, dtype).fixed, names))
    return times


def _stem(name: str) -> str:
    """Return the name of a file of records without the numbers of device and slice."""
    return ".".join(part for part in name.split(".") if not part.isdecimal() and not part.startswith("slice_"))


def _files(folder: Path, kinds: RecordKinds, *, sixth: bool) -> tuple[tuple[File, ...], set[str]]:
    """Return the slices of each file with the kinds of their records, and the names of those that are not made."""
    side = "host" if folder.parent.name == "host" else "device"
    stems = dict.fromkeys(
        stem for kind in kinds.records.values() if kind.side == side for stem in (kind.stem, *kind.also)
    )
    files: list[File] = []
    known: set[str] = set()
    for stem in stems:
        slices = find_slices(folder, stem)
        fitting = kinds_of_file(kinds, folder, stem, sixth=sixth) if slices else ()
        if fitting and all(is_timed(kind) for kind in fitting):
            ranks = dict.fromkeys(part.rank for part in slices)
            names = tuple(kind.name for kind in fitting)
            files += [(tuple(part.path for part in slices if part.rank == rank), names) for rank in ranks]
            known |= {part.path.name for part in slices}
    every = {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
    others = {name for name in every if not name.endswith((DONE, ".complete")) and not _is_dictionary(name)}
    return tuple(files), others - known


def _is_dictionary(name: str) -> bool:
    return any(part in name for part in _DICTIONARIES)


def write_raw_rank(
    source: RawSource,
    directory: Path,
    plan: RankPlan,
    groups: GroupCopies,
    warp: Warp,
    ranks: int,
    planned: Sequence[tuple[OperatorWork, TaskPlan | None]] = (),
) -> None:
    """
    Write the raw data of a synthetic rank to its *directory*, one slice after the other.

    Times follow *warp*, groups belong to the copy. Kernels that overlap nothing keep their counters. Operators that
    are *planned* anew have the tasks of their plans.
    """
    ids = GroupIds.build(groups, ranks, source.texts)
    chosen = [planned[number] for number in source.tasks.work.tolist()] if source.tasks is not None else []
    works, plans = [work for work, _ in chosen], [each for _, each in chosen if each is not None]
    room = None if source.tasks is None else room_for_calls(source.tasks, plans)
    timeline = Timeline.build(source.anchors, warp, np.load(source.host_times), room)
    words = Words(source.texts, source.types)
    replaced, new_records, no_records = None, {}, np.empty(0)
    if source.tasks is not None:
        replaced = source.tasks.replaced
        new_records = Making(source.tasks, plans, works, plan, groups, ids, timeline, source.platform, words).records()
    prof, kinds = directory / source.prof.name, record_kinds(registered_groups())
    for folder in source.files:
        data = prof / folder / "data"
        make_directory(data)
        for path in (entry for entry in (source.prof / folder).iterdir() if entry.is_file()):
            if not path.name.endswith(DONE):
                write_with_done(prof / folder / path.name, [_control(path, prof, plan, timeline)])
        for path in (source.prof / folder / "data").iterdir():
            if _is_dictionary(path.name) and not path.name.endswith(DONE):
                write_with_done(data / path.name, [path.read_bytes(), words.lines(path.name)])
        for slices, names in source.files[folder]:
            contents = rewrite(slices, [kinds.record(name) for name in names], timeline, ids, replaced)
            added = [records for name in names if len(records := new_records.pop(name, no_records))]
            for name, content in merged(contents, added) if added else contents:
                write_with_done(data / name, [content])
    for name, records in new_records.items():
        if len(records):
            raise OutputError(f"{source.prof}: has no file of {name}, which the tasks of the topology need")
    if source.framework.is_dir():
        make_directory(directory / FRAMEWORK_FOLDER)
        _write_framework(source.framework, directory / FRAMEWORK_FOLDER, timeline)


def _control(path: Path, prof: Path, plan: RankPlan, timeline: Timeline) -> bytes:
    """Return a control file as the rank has it: its number, its host, where it lies, and when collection ended."""
    content = path.read_bytes()
    if path.name.startswith("end_info"):
        ended = _numbers(orjson.loads(content))
        if "collectionTimeEnd" not in ended:
            return content
        unix_us, monotonic_ns = ended["collectionTimeEnd"], ended.get("clockMonotonicRaw", 0)
        moved_us = int(timeline.warp(np.array([unix_us * 1000]))[0]) // 1000
        return moment("End", moved_us, monotonic_ns + (moved_us - unix_us) * 1000 if monotonic_ns else 0)
    if path.name.startswith("info.json"):
        document = orjson.loads(content)
        if "rank_id" in document:
            document["rank_id"] = plan.rank
        for name in ("hostname", "hostUid"):
            if plan.copy and document.get(name):
                document[name] = f"{document[name]}_{plan.copy}"
        return orjson.dumps(document)
    if path.name.startswith("sample.json"):
        document = orjson.loads(content)
        if "result_dir" in document:
            document["result_dir"] = str(prof)
        return orjson.dumps(document)
    return content


def _numbers(document: Mapping[str, Any]) -> Mapping[str, int]:
    return {name: int(value) for name, value in document.items() if str(value).isdecimal()}


def _write_framework(source: Path, folder: Path, timeline: Timeline) -> None:
    for path in source.iterdir():
        suffix, new = path.suffix[1:], folder / path.name
        if suffix in _TLV:
            dtype, names = _TLV[suffix]
            write_atomically(new, _rewritten(path, dtype, names, timeline))
        elif suffix in _FLAT:
            dtype, names = _FLAT[suffix]
            records = read_flat(path, dtype).fixed
            _move(records, names, timeline)
            write_flat(new, records)
        elif suffix in _TIMELESS:
            write_atomically(new, [path.read_bytes()])


def _rewritten(path: Path, dtype: np.dtype[np.void], names: tuple[str, ...], timeline: Timeline) -> Iterator[bytes]:
    return TlvFile(path, dtype).rewritten(lambda records: _move(records, names, timeline), PART_BYTES)


def _move(records: Records, names: tuple[str, ...], timeline: Timeline) -> None:
    for name in names:
        records[name] = timeline.host(records[name].astype(np.uint64)).astype(records[name].dtype)


def move_end(info: dict[str, Any], warp: Warp) -> None:
    """Let ``profiler_info`` say when the recording of the rank ended."""
    end = info.get("end_info")
    if isinstance(end, dict) and {"collectionTimeEnd", "MonotonicTimeEnd"} <= set(end):
        before_ns = int(end["collectionTimeEnd"])
        later_ns = int(warp(np.array([before_ns]))[0]) - before_ns
        end["collectionTimeEnd"] = before_ns + later_ns
        end["MonotonicTimeEnd"] = int(end["MonotonicTimeEnd"]) + later_ns
