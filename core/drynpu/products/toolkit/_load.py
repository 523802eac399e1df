"""A PROF directory to tables, with the facts of its control files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu._errors import OptionError, OutputError, RawFormatError
from drynpu._progress import at_stage, staged
from drynpu.arrays import I64, Records
from drynpu.deliverables.core_samples.tables import SAMPLE_BASED
from drynpu.deliverables.load_context import LoadContext
from drynpu.deliverables.record_group import RecordGroup
from drynpu.deliverables.registry import record_kinds
from drynpu.kernels import counter_group
from drynpu.layouts.counters import AICORE, AICORE_TS, FFTS_PROFILE, FFTS_PROFILE_V6
from drynpu.layouts.schedulers import TS_TRACK_FLIP
from drynpu.platforms import Platform, find_platform
from drynpu.raw import ClockAnchors, HostLevel, ProfReader
from drynpu.tables import API, COMMUNICATION_OPS, KERNELS, TASKS
from drynpu.tables.columns import empty
from drynpu.tables.device import pair_tasks, task_counters, task_counters_hwts, task_counters_v6
from drynpu.tables.host import Calls, Dictionaries, build_calls
from drynpu.tables.launches import Launches, launches
from drynpu.tables.operators import node_info
from drynpu.tables.pmu import CoreFacts, decodable, parse_events
from drynpu.tables.sides import DeviceSide, DeviceWork, HostSide
from drynpu.tables.stored import Stored
from drynpu.tables.task_events import task_events
from drynpu.tables.tasks import build_tasks, device_work

_METRIC_NAMES: Mapping[str, str] = MappingProxyType({"PipeUtilizationExct": "PipeUtilization"})
"""Names that only sample.json uses (cann_msprof.md 1.8)."""
# The group by which counters are read where sample.json names none.
_DEFAULT_METRICS = "PipeUtilization"
_COUNTER_READERS = {
    "ffts_profile": task_counters,
    "ffts_profile_v6": task_counters_v6,
    "aicore": task_counters_hwts,
    "aicore_ts": task_counters_hwts,
}


@frozen(eq=False, kw_only=True)
class Toolkit:
    """What a PROF directory gives: facts for the profile, and its tables."""

    facts: Mapping[str, Any]
    tables: Mapping[str, Any]
    clock: ClockAnchors | None
    notes: tuple[str, ...] = field(default=())


def no_toolkit() -> Toolkit:
    """Return the tables of a profile without device capture."""
    schemas = {
        "api": API,
        "tasks": TASKS,
        "kernels": KERNELS,
        "communication_ops": COMMUNICATION_OPS,
    }
    facts: dict[str, object] = dict.fromkeys(
        ("pid", "aic_mhz", "aiv_mhz", "aic_cores", "aiv_cores", "begin_ns", "end_ns"), 0
    )
    facts |= dict.fromkeys(("pid_name", "hostname", "platform_version", "level", "aic_metrics"), "")
    facts |= {"rank_id": -1, "device_ids": ()}
    return Toolkit(facts=facts, tables={name: empty(schema) for name, schema in schemas.items()}, clock=None)


def load_toolkit(path: Path, groups: Sequence[RecordGroup]) -> Toolkit:
    """
    Read a PROF directory: the tables that every profile has, and the tables of the record groups.

    Raises
    ------
    OutputError, RawFormatError
        If the host's control files are missing or unusable. A device of which that is true is left out.
    """
    at_stage("Reading tasks and kernels")
    reader = ProfReader(path, record_kinds(groups), possible_only=True)
    words = Dictionaries(reader.hashes, reader.types)
    clock = _host_clock(reader)
    calls = build_calls(reader.parts("api_event"), words, clock.host_to_unix, reader.host_info.pid)
    notes: list[str] = []
    metrics = _metrics(reader)
    devices, tables = _work(reader, _host_side(reader, words, calls, clock), metrics, notes)
    tasks = tables["tasks"]
    unlinked = int((tasks.column("connection_id") < 0).sum())
    if unlinked:
        notes.append(f"{unlinked} of {tasks.height} device tasks have no host record of their launch")
    tables["api"] = calls.table
    context = LoadContext(
        reader=reader,
        words=words,
        clock=clock,
        devices=devices,
        api=calls.table,
        tasks=tasks,
        kernels=tables["kernels"],
        notes=notes,
    )
    group_tables: dict[str, pl.DataFrame] = {}
    for group in staged("Reading records of the device", groups):
        if group.load is not None:
            group_tables |= {name: table for name, table in group.load(context).items() if table.height}
    tables["group_tables"] = group_tables
    facts = _facts(reader, devices, metrics, clock)
    return Toolkit(facts=facts, tables=tables, clock=clock, notes=(*reader.notes, *notes))


def _host_side(reader: ProfReader, words: Dictionaries, calls: Calls, clock: ClockAnchors) -> HostSide:
    side = HostSide(
        calls=calls,
        words=words,
        operators=_operators(reader, words, calls, clock),
        launches=launches(
            reader.parts("task_track"),
            calls,
            words,
            clock,
            captured=reader.read("capture_stream_info"),
            wide_ids=_platform(reader).tasks.wide_ids,
        ),
        copies=reader.read("memcpy_info"),
        collectives=reader.read("hccl_op_info"),
        collective_tasks=reader.read("hccl_info"),
        clock=clock,
    )
    calls.forget()
    return side


def _operators(reader: ProfReader, words: Dictionaries, calls: Calls, clock: ClockAnchors) -> Stored:
    basic = (
        (records, prefix == "aging")
        for prefix in ("unaging", "aging")
        for records in reader.parts("node_basic_info", prefix=prefix)
    )

    def node(records: Records) -> I64:
        time = clock.host_to_unix(records["timestamp"].astype(np.int64))
        return calls.around(HostLevel.NODE, time, records["thread_id"].astype(np.int64))

    return node_info(basic, reader.parts("tensor_info"), node, words)


def _work(
    reader: ProfReader, host: HostSide, metrics: str, notes: list[str]
) -> tuple[list[DeviceSide], dict[str, Any]]:
    """Return the devices and the tables of what ran on them; records and counters end with this function."""
    work = _devices(reader, host.launches, metrics, notes)
    tasks, kernels, communication = build_tasks(host, work)
    tables = {"tasks": tasks, "kernels": kernels, "communication_ops": communication}
    return [entry.side for entry in work], tables


def _host_clock(reader: ProfReader) -> ClockAnchors:
    """Return the clock of the first device that has one: any will do for host times."""
    for device in reader.device_ids[:-1]:
        try:
            return reader.anchors(device)
        except (OutputError, RawFormatError):
            continue
    return reader.anchors(reader.device_ids[-1] if reader.device_ids else None)


def _devices(reader: ProfReader, launched: Launches, metrics: str, notes: list[str]) -> list[DeviceWork]:
    sides = []
    for device in reader.device_ids:
        try:
            sides.append(_device_work(reader, launched, device, metrics, notes))
        except (OutputError, RawFormatError) as error:
            notes.append(f"device {device} could not be read and was left out: {error}")
    return sides


def _platform(reader: ProfReader) -> Platform:
    return find_platform(reader.host_info.platform_version)


def _sample(reader: ProfReader, device: int | None) -> Mapping[str, Any]:
    try:
        return reader.sample(device)
    except (OutputError, RawFormatError):
        return {}


def _metrics(reader: ProfReader) -> str:
    samples = [_sample(reader, device) for device in (*reader.device_ids[:1], None)]
    name = next((str(sample["ai_core_metrics"]) for sample in samples if sample.get("ai_core_metrics")), "")
    return _METRIC_NAMES.get(name, name)


def _device_work(reader: ProfReader, launched: Launches, device: int, metrics: str, notes: list[str]) -> DeviceWork:
    name = metrics or _DEFAULT_METRICS
    facts = _core_facts(reader, device, name)
    # Not under a name: the events take more room than the tasks.
    tasks = pair_tasks(
        task_events(
            lambda kind: reader.parts(kind, device), facts.platform, lambda task: launched.streams(device, task)
        )
    )
    records = _task_records(reader, device, facts.platform.counters.record)
    notes.extend(f"device {device}: {note}" for note in tasks.notes)
    known, count = decodable(name, facts), [0]
    counters = _COUNTER_READERS[facts.platform.counters.record](_counted(records, count), tasks)
    if count[0] and not known:
        group = f"{facts.platform.label} has no counter group {name!r}"
        why = group if facts.complete else "clock or core number is unknown"
        notes.append(f"device {device}: {count[0]} counter record(s) give no columns: {why}")
    side = DeviceSide(device_id=device, clock=reader.anchors(device), facts=facts, metrics=name if known else "")
    return device_work(side, tasks, counters, launched, lambda: reader.read(TS_TRACK_FLIP.name, device))


def _counted(parts: Iterable[Records], count: list[int]) -> Iterator[Records]:
    """Yield the parts, and count their records in *count*."""
    for records in parts:
        count[0] += len(records)
        yield records


def _task_records(reader: ProfReader, device: int, name: str) -> Iterable[Records]:
    """Return the counters of tasks; where cores were sampled, the same file holds the samples."""
    kind = {kind.name: kind for kind in (AICORE, AICORE_TS, FFTS_PROFILE, FFTS_PROFILE_V6)}[name]
    if _sample(reader, device).get("ai_core_profiling_mode") == SAMPLE_BASED:
        return ()
    return reader.parts(kind.name, device)


def _core_facts(reader: ProfReader, device: int, metrics: str) -> CoreFacts:
    info, sample = reader.device_info(device), _sample(reader, device)
    platform = _platform(reader)
    cube, vector = _usual_events(metrics, platform)
    return CoreFacts(
        aic_mhz=_whole(info.aic_frequency),
        aiv_mhz=_whole(info.aiv_frequency),
        aic_cores=info.ai_core_num,
        aiv_cores=info.aiv_num,
        aic_events=parse_events(sample.get("ai_core_profiling_events"), cube),
        aiv_events=parse_events(sample.get("aiv_profiling_events"), vector),
        platform=platform,
    )


def _usual_events(metrics: str, platform: Platform) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the events of a group, for profiles that do not list them."""
    try:
        group = counter_group(metrics, platform)
    except OptionError:
        return (), ()
    return group.cube_events, group.vector_events


def _whole(text: str) -> int:
    try:
        return int(float(text))
    except ValueError:
        return 0


def _facts(reader: ProfReader, devices: Sequence[DeviceSide], metrics: str, clock: ClockAnchors) -> dict[str, object]:
    info, first = reader.host_info, devices[0].facts if devices else None
    sample = _sample(reader, None)
    return {
        "pid": info.pid,
        "pid_name": info.pid_name,
        "hostname": info.hostname,
        "rank_id": info.rank_id,
        "device_ids": tuple(side.device_id for side in devices),
        "platform_version": info.platform_version,
        "aic_mhz": first.aic_mhz if first else 0,
        "aiv_mhz": first.aiv_mhz if first else 0,
        "aic_cores": first.aic_cores if first else 0,
        "aiv_cores": first.aiv_cores if first else 0,
        "level": str(sample.get("prof_level") or ""),
        "aic_metrics": metrics,
        "begin_ns": clock.collection_begin_us * 1000,
        "end_ns": reader.ended_unix_ns or 0,
    }
