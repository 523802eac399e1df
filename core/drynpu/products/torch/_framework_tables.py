"""FRAMEWORK files of torch_npu's profiler become tables (torch_npu_profiler.md 3.7)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from drynpu.arrays import I64, Array, Bools, Records
from drynpu.layouts import framework_torch as torch_facts
from drynpu.layouts.framework_torch import OpRangeField
from drynpu.products._framework_files import read_tlv_file
from drynpu.products._product import FrameworkTables, ToUnix, no_framework
from drynpu.raw import ClockAnchors, FlatRecords, TlvFile, TlvRecords, read_flat
from drynpu.raw.slices import PART_BYTES
from drynpu.tables import ALLOCATIONS, GC, HOST_OPS, PYTHON_CALLS, QUEUE
from drynpu.tables.columns import frame, i64, order_by, texts
from drynpu.tables.host import Codes
from drynpu.tables.stored import Filled, Stored, Texts


def load_torch(directory: Path, to_unix: ToUnix) -> FrameworkTables:
    """
    Read the files of *directory*; an absent file gives an empty table.

    Parameters
    ----------
    to_unix:
        Converts raw host times (int64 array) to Unix nanoseconds.
    """
    notes: list[str] = []
    tables = dict(no_framework().tables)
    for name, file, dtype, build in _TLV_FILES:
        if (directory / file).is_file():
            records = TlvFile(directory / file, dtype)
            tables[name] = build(records, to_unix)
            notes.extend(dict.fromkeys(records.notes))
    calls = _flat(directory / "torch.python_tracer_func", torch_facts.PYTHON_TRACER_FUNC, notes)
    if calls is not None:
        words = read_tlv_file(directory / "torch.python_tracer_hash", torch_facts.HASH_KEY, notes)
        tables["python_calls"] = _python_calls(calls, words, to_unix)
    collections = _flat(directory / "torch.gc_record", torch_facts.GC_RECORD, notes)
    if collections is not None:
        tables["gc"] = _gc(collections, to_unix)
    return FrameworkTables(tables=tables, notes=tuple(notes))


def _flat(path: Path, dtype: np.dtype[np.void], notes: list[str]) -> FlatRecords | None:
    if not path.is_file():
        return None
    records = read_flat(path, dtype)
    notes.extend(records.notes)
    return records


def _text(records: TlvRecords, number: int) -> pl.Series:
    """Return text field *number* of every record, ``""`` where it has none."""
    codes = pl.Series((records.text_index + 1).astype(np.min_scalar_type(len(records.texts))))
    return _words(records.texts, number).gather(codes)


def _words(entries: Sequence[Mapping[int, str]], number: int) -> pl.Series:
    """Return text field *number* of every distinct set of texts, after ``""`` for a record without texts."""
    return pl.Series(["", *(entry.get(number, "") for entry in entries)], dtype=pl.String)


_OPERATOR_COLUMNS = {
    "start_ns": "i8",
    "end_ns": "i8",
    "sequence": "i8",
    "pid": "u4",
    "tid": "u4",
    "fwd_tid": "u4",
    "scope": "u1",
    "is_async": "?",
    "texts": "u4",
}


def _host_ops(file: TlvFile, to_unix: ToUnix) -> Stored:
    columns = {name: Filled(kind) for name, kind in _OPERATOR_COLUMNS.items()}
    numbers = {name: Codes() for name in ("pid", "tid", "fwd_tid")}
    raw = {"pid": "pid", "tid": "start_tid", "fwd_tid": "forward_tid"}
    for fixed, text in file.parts(PART_BYTES):
        columns["start_ns"].append(to_unix(i64(fixed["start"])))
        columns["end_ns"].append(to_unix(i64(fixed["end"])))
        for name in ("sequence", "scope", "is_async"):
            columns[name].append(fixed[name])
        for name, known in numbers.items():
            columns[name].append(known.add(i64(fixed[raw[name]])))
        columns["texts"].append(text + 1)
    # An operator stands before those it calls, also when they start in the same nanosecond.
    start, end = columns.pop("start_ns").values(), columns.pop("end_ns").values()
    order = order_by(start, lambda rows: -end[rows])

    def ordered(values: Array) -> Array:
        return values if order is None else values[order]

    codes, entries = pl.Series(ordered(columns.pop("texts").values())), file.texts()
    texts = {
        "name": OpRangeField.NAME,
        "input_dtypes": OpRangeField.INPUT_DTYPES,
        "input_shapes": OpRangeField.INPUT_SHAPES,
        "call_stack": OpRangeField.CALL_STACK,
        "module_hierarchy": OpRangeField.MODULE_HIERARCHY,
    }
    makers: dict[str, Callable[[], object]] = {
        "op_id": lambda: pl.int_range(len(start), dtype=pl.Int64, eager=True),
        "start_ns": lambda: ordered(start),
        "end_ns": lambda: ordered(end),
        **{name: functools.partial(lambda name: ordered(columns.pop(name).values()), name) for name in columns},
        **{
            name: functools.partial(
                lambda name, known: known.numbers()[ordered(columns.pop(name).values())], name, known
            )
            for name, known in numbers.items()
        },
        **{name: functools.partial(Texts, codes, _words(entries, number)) for name, number in texts.items()},
    }
    return Stored.from_makers(HOST_OPS, makers, len(start), lasting=True)


_QUEUE_COLUMNS = {
    "correlation_id": "i8",
    "side": "u1",
    "name": "u4",
    "start_ns": "i8",
    "end_ns": "i8",
    "pid": "u4",
    "tid": "u4",
}


def _queue(file: TlvFile, to_unix: ToUnix) -> Stored:
    """Join begin (even category) and end (odd) of each side of the task queue; half pairs are dropped."""
    columns = {name: Filled(kind) for name, kind in _QUEUE_COLUMNS.items()}
    numbers = {name: Codes() for name in ("pid", "tid")}
    alone: tuple[Records, I64] | None = None
    for fixed, text in file.parts(PART_BYTES):
        if alone is not None:
            # What has no other half yet may find it in the next part.
            fixed, text = np.concatenate([alone[0], fixed]), np.concatenate([alone[1], text])
        first, last = _pairs(fixed, to_unix)
        left = np.ones(len(fixed), bool)
        left[first] = left[last] = False
        alone = fixed[left], text[left]
        columns["correlation_id"].append(i64(fixed["correlation_id"][first]))
        columns["side"].append(fixed["category"][first] // 2 > 0)
        named = _is_named(file)[text[first] + 1]
        columns["name"].append(np.where(named, text[first], text[last]) + 1)
        columns["start_ns"].append(to_unix(fixed["time"][first]))
        columns["end_ns"].append(to_unix(fixed["time"][last]))
        for name, known in numbers.items():
            columns[name].append(known.add(i64(fixed[name][first])))
    start = columns.pop("start_ns").values()
    side, correlation, tid = (columns[name].values() for name in ("side", "correlation_id", "tid"))
    tids = numbers["tid"].numbers()
    order = order_by(start, side.__getitem__, correlation.__getitem__, lambda rows: tids[tid[rows]])

    def ordered(name: str) -> Array:
        values = columns.pop(name).values()
        return values if order is None else values[order]

    sides, names = pl.Series(["enqueue", "dequeue"]), _words(file.texts(), torch_facts.MARK_NAME)
    makers: dict[str, Callable[[], object]] = {
        "correlation_id": lambda: ordered("correlation_id"),
        "side": lambda: Texts(pl.Series(ordered("side")), sides),
        "name": lambda: Texts(pl.Series(ordered("name")), names),
        "start_ns": lambda: start if order is None else start[order],
        "end_ns": lambda: ordered("end_ns"),
        "pid": lambda: numbers["pid"].numbers()[ordered("pid")],
        "tid": lambda: numbers["tid"].numbers()[ordered("tid")],
    }
    return Stored.from_makers(QUEUE, makers, len(start))


def _is_named(file: TlvFile) -> Bools:
    """Return which of the sets of texts that were met have a name, after a record without texts."""
    return np.array([False, *(bool(entry.get(torch_facts.MARK_NAME, "")) for entry in file.texts())])


def _pairs(fixed: Records, to_unix: ToUnix) -> tuple[I64, I64]:
    """Return begin and end records of the same side, correlation id and thread that follow each other."""
    side = (fixed["category"] // 2).astype(np.int64)
    correlation, tid = i64(fixed["correlation_id"]), i64(fixed["tid"])
    order = np.lexsort((fixed["category"], to_unix(i64(fixed["time"])), tid, correlation, side))
    same = np.ones(max(len(order) - 1, 0), bool)
    for column in (side, correlation, tid):
        ordered = column[order]
        same &= ordered[1:] == ordered[:-1]
    ends = (fixed["category"] % 2).astype(bool)[order]
    begins = np.flatnonzero(same & ~ends[:-1] & ends[1:])
    return order[begins], order[begins + 1]


def _allocations(file: TlvFile, to_unix: ToUnix) -> pl.DataFrame:
    fixed = np.concatenate([part for part, _ in file.parts(PART_BYTES)])
    renamed = {"device_id": "device_index"}
    values = {name: i64(fixed[renamed.get(name, name)]) for name in ALLOCATIONS if name != "time_ns"}
    return frame(ALLOCATIONS, values | {"time_ns": to_unix(i64(fixed["time"]))}).sort("time_ns", maintain_order=True)


def _python_calls(flat: FlatRecords, words: TlvRecords | None, to_unix: ToUnix) -> pl.DataFrame:
    records, names = flat.fixed, dict[int, str]()
    if words is not None:
        names = dict(zip(words.fixed["key"].tolist(), _text(words, torch_facts.HASH_VALUE).to_list(), strict=True))
    return frame(
        PYTHON_CALLS,
        {
            "time_ns": to_unix(i64(records["time"])),
            "pid": i64(records["pid"]),
            "tid": i64(records["tid"]),
            "name": texts(records["key"], lambda key: names.get(key, "")),
            "tag": records["tag"],
        },
    ).sort("time_ns", maintain_order=True)


def _gc(flat: FlatRecords, to_unix: ToUnix) -> pl.DataFrame:
    records = flat.fixed
    begin, end = to_unix(i64(records["start"])), to_unix(i64(records["end"]))
    return frame(GC, {"pid": i64(records["pid"]), "start_ns": begin, "end_ns": end}).sort("start_ns")


_TLV_FILES = (
    ("host_ops", "torch.op_range", torch_facts.OP_RANGE, _host_ops),
    ("queue", "torch.op_mark", torch_facts.OP_MARK, _queue),
    ("allocations", "torch.memory_usage", torch_facts.MEMORY_USAGE, _allocations),
)


_COUNTER_KEYS = (("start_cnt", 0), ("start_monotonic", 0), ("freq", 100))
"""Clock readings of profiler_info.json, with what the vendor takes where they are missing."""


def torch_clock(info: Mapping[str, Any], clock: ClockAnchors | None, notes: list[str]) -> ToUnix:
    """
    Return the conversion of FRAMEWORK times to Unix ns (torch_npu_profiler.md 3.7).

    With ``syscnt_enable`` they are counter ticks, else monotonic nanoseconds; profiler_info.json says about the
    clocks what the PROF directory does not.
    """
    start, end = info.get("start_info") or {}, info.get("end_info") or {}
    ticks = bool(start.get("syscnt_enable"))
    if clock is not None and ticks == bool(clock.host_hz):
        return clock.host_to_unix
    if clock is not None:
        offset = clock.offset_ns
    elif "collectionTimeEnd" in end and "MonotonicTimeEnd" in end:
        offset = int(end["collectionTimeEnd"]) - int(end["MonotonicTimeEnd"])
    else:
        notes.append("nothing tells how host times relate to Unix time; they are shown as recorded")
        offset = 0
    if not ticks:
        return lambda raw: raw + offset
    begin, base, mhz = (int(start.get(key, fallback)) for key, fallback in _COUNTER_KEYS)
    return lambda raw: (raw - begin) * 1000 // max(mhz, 1) + (base + offset)
