"""Where the communication operators of a recorded rank stand in its raw records, and which tasks they launched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from attrs import frozen

from drynpu import OutputError
from drynpu.arrays import I64, U64, Array, Bools, Records
from drynpu.layouts.communication_files import START_TIME
from drynpu.layouts.tasks import FLIP_TASK, RUNTIME_TASK_TYPES
from drynpu.products import load_profile
from drynpu.raw import ClockAnchors, HostLevel, ProfReader, decode_stream_task, join_task_id
from drynpu.tables import Profile
from drynpu.tables.communication import HCCL_DTYPES
from drynpu.tables.intervals import innermost
from drynpu.tables.launches import launch_records
from drynpu_cluster.synth._works import OperatorWork

_NEAR_NS = 1000
"""Texts round the start of an operator to what a float of us keeps, a quarter of one."""
_TASK = ("stream_id", "task_id", "batch_id")


@frozen(eq=False)
class RecordedTasks:
    """
    The modelled operators of a recorded rank, shape ``[operators]``, by start.

    Attributes
    ----------
    work:
        Their places among the operators of the rank.
    thread, begin, end:
        Who launched their tasks, and from when to when, in raw host times.
    start_ns, end_ns:
        When they ran on the device, Unix ns.
    item, group, dtype:
        Ids of their texts and groups, and HCCL's numbers of their types.
    streams:
        Id of a group -> its streams by plane.
    device_id:
        On which the host launched them.
    ran:
        The tasks that they launched: ``stream_id``, ``task_id``, ``start`` and ``end`` in ticks.
    kept:
        Stream -> the largest id of other tasks, with the batch in its upper half.
    """

    work: I64
    thread: I64
    begin: I64
    end: I64
    start_ns: I64
    end_ns: I64
    item: U64
    group: U64
    dtype: I64
    streams: Mapping[int, Mapping[int, int]]
    device_id: int
    ran: pl.DataFrame
    kept: Mapping[int, int]

    def around(self, time: Array, thread: Array) -> I64:
        """Return for each raw host time the operator whose tasks its thread launches then, -1 if none."""
        return innermost(self.begin, self.end, self.thread, time.astype(np.int64), thread.astype(np.int64))

    def replaced(self, kind: str, records: Records) -> Bools:
        """Return which recorded records tell of tasks that the operators launched."""
        if kind == "api_event":
            inner = np.isin(records["level"], (HostLevel.COMMUNICATION, HostLevel.RUNTIME))
            return inner & (self.around(records["begin"], records["thread_id"]) >= 0)
        if kind == "task_track":
            flips = records["task_type"] == RUNTIME_TASK_TYPES[FLIP_TASK]
            inside = self.around(records["timestamp"], records["thread_id"]) >= 0
            return np.where(flips, self._is_free(records["stream_id"]), inside)
        if kind == "hccl_info":
            return self.around(records["timestamp"], records["thread_id"]) >= 0
        if kind == "stars_soc":
            return self._ended_or_began(records)
        return self._is_free(records["stream_id"]) if kind == "ts_track_flip" else np.zeros(len(records), bool)

    def _ended_or_began(self, records: Records) -> Bools:
        stream, task = decode_stream_task(records["stream_id"], records["task_id"])
        columns = {"stream_id": stream, "task_id": task, "tick": records["tick"]}
        shown = pl.DataFrame({name: _signed(values) for name, values in columns.items()}).with_row_index("row")
        ran = [self.ran.select("stream_id", "task_id", pl.col(name).alias("tick")) for name in ("start", "end")]
        rows = shown.join(pl.concat(ran), on=["stream_id", "task_id", "tick"], how="semi")["row"]
        replaced = np.zeros(len(records), bool)
        replaced[rows.to_numpy()] = True
        return replaced

    def _is_free(self, streams: Array) -> Bools:
        used = {stream for planes in self.streams.values() for stream in planes.values()}
        return np.isin(streams, sorted(used - set(self.kept)))


def find_tasks(path: Path, reader: ProfReader, works: Sequence[OperatorWork]) -> RecordedTasks:
    """
    Return what the raw records of the rank in *path* say of its operators *works*.

    Raises
    ------
    OutputError
        They do not have one of these operators, or not its tasks.
    """
    profile, anchors = load_profile(path), reader.anchors()
    work, chosen = _operators(path, profile, works)
    thread, begin, end, item = _windows(path, profile, reader, chosen["connection_id"])
    described = reader.read("hccl_info")
    at = innermost(begin, end, thread, _signed(described["timestamp"]), _signed(described["thread_id"]))
    group = np.zeros(len(work), np.uint64)
    group[at[at >= 0]] = described["group_name"][at >= 0]
    ran, kept = _ran(profile, reader, anchors, (begin, end, thread))
    names = {name: number for number, name in enumerate(HCCL_DTYPES)}
    start = chosen["start_ns"].to_numpy()
    return RecordedTasks(
        work=work,
        thread=thread,
        begin=begin,
        end=end,
        start_ns=start,
        end_ns=start + chosen["duration_ns"].to_numpy(),
        item=item,
        group=group,
        dtype=np.array([names.get(name, 255) for name in chosen["dtype"].to_list()], np.int64),
        streams=_streams(profile, chosen["connection_id"], group),
        device_id=profile.device_ids[0],
        ran=ran,
        kept=kept,
    )


def _signed(values: Array) -> I64:
    signed: I64 = values.astype(np.int64)
    return signed


def _operators(path: Path, profile: Profile, works: Sequence[OperatorWork]) -> tuple[I64, pl.DataFrame]:
    """Return the places of modelled operators, and their rows in the profile."""
    known = profile.communication_ops.sort("start_ns")
    work = np.array([number for number, each in enumerate(works) if each.kind], np.int64)
    wanted = np.array([round(works[number].times[START_TIME] * 1000) for number in work], np.int64)
    start = known["start_ns"].to_numpy()
    after = np.minimum(np.searchsorted(start, wanted), max(len(start) - 1, 0))
    before = np.maximum(after - 1, 0)
    if len(start):
        near = np.where(abs(start[before] - wanted) <= abs(start[after] - wanted), before, after)
    if len(work) and (not len(start) or (abs(start[near] - wanted) > _NEAR_NS).any()):
        raise OutputError(f"{path}: the raw records lack operators of communication that the results have")
    return work, known[near] if len(work) else known.clear()


def _windows(path: Path, profile: Profile, reader: ProfReader, operators: pl.Series) -> tuple[I64, I64, I64, U64]:
    """Return thread, begin and end of the calls by which each operator launched its tasks, and the id of its text."""
    anchors = reader.anchors()
    called = profile.api.filter((pl.col("level") == "node") & (pl.col("name") == "launch"))
    called = operators.to_frame("connection_id").join(called, on="connection_id", how="left", maintain_order="left")
    if called["start_ns"].null_count() or called.height != operators.len():
        raise OutputError(f"{path}: the raw records lack calls that launched operators of communication")
    first, last = (anchors.unix_to_host(called[name].to_numpy()) for name in ("start_ns", "end_ns"))
    thread = called["tid"].to_numpy().astype(np.int64)
    begin, end = np.full(len(thread), np.iinfo(np.int64).max), np.full(len(thread), -1)
    item = np.zeros(len(thread), np.uint64)
    for part in reader.parts("api_event"):
        calls = part[part["level"] == HostLevel.COMMUNICATION]
        middle = (_signed(calls["begin"]) + _signed(calls["end"])) // 2
        operator = innermost(first, last, thread, middle, _signed(calls["thread_id"]))
        calls, operator = calls[operator >= 0], operator[operator >= 0]
        np.minimum.at(begin, operator, _signed(calls["begin"]))
        np.maximum.at(end, operator, _signed(calls["end"]))
        item[operator] = calls["item_id"]
    if (end < 0).any():
        raise OutputError(f"{path}: tasks of operators of communication were not launched one by one, but by graphs")
    return thread, begin, end, item


def _ran(
    profile: Profile, reader: ProfReader, anchors: ClockAnchors, windows: tuple[I64, I64, I64]
) -> tuple[pl.DataFrame, Mapping[int, int]]:
    """Return the tasks that were launched in windows, and by stream the largest id of others."""
    track = launch_records(reader.read("task_track"))
    track = track[innermost(*windows, _signed(track["timestamp"]), _signed(track["thread_id"])) >= 0]
    launched = pl.DataFrame({name: _signed(track[name]) for name in _TASK})
    tasks = profile.tasks.select(*_TASK, "start_ns", (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns"))
    ran, others = (tasks.join(launched, on=_TASK, how=how) for how in ("semi", "anti"))
    number = pl.Series("number", join_task_id(others["task_id"].to_numpy(), others["batch_id"].to_numpy()))
    most = others.select("stream_id").with_columns(number.cast(pl.Int64)).group_by("stream_id").max()
    ticks = {name: anchors.unix_to_tick(ran[f"{name}_ns"].to_numpy()) for name in ("start", "end")}
    return ran.select("stream_id", "task_id").with_columns(**ticks), dict(most.iter_rows())


def _streams(profile: Profile, operators: pl.Series, group: U64) -> Mapping[int, Mapping[int, int]]:
    """Return the streams of groups by plane."""
    groups = pl.DataFrame({"connection_id": operators, "number": pl.Series(group, dtype=pl.UInt64)})
    tasks = profile.frame("communication_tasks").join(groups, on="connection_id")
    streams: dict[int, dict[int, int]] = {int(number): {} for number in np.unique(group)}
    for number, plane, stream in tasks.select("number", "plane_id", "stream_id").unique().sort("plane_id").iter_rows():
        streams[number].setdefault(plane, stream)
    return streams
