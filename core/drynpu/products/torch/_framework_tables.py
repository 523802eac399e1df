"""FRAMEWORK files of torch_npu's profiler become tables (torch_npu_profiler.md 3.7)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from drynpu.arrays import I64, Records
from drynpu.deliverables.framework_torch import facts as torch_facts
from drynpu.deliverables.framework_torch.facts import OpRangeField
from drynpu.products._framework_files import read_tlv_file
from drynpu.products._product import FrameworkTables, ToUnix, no_framework
from drynpu.raw import ClockAnchors, FlatRecords, TlvRecords, read_flat
from drynpu.tables._columns import frame, i64, texts
from drynpu.tables._schemas import ALLOCATIONS, GC, HOST_OPS, PYTHON_CALLS, QUEUE
from drynpu.tables._stored import Stored, Texts


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
        records = read_tlv_file(directory / file, dtype, notes)
        if records is not None:
            tables[name] = build(records, to_unix)
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
    return _words(records, number).gather(_codes(records))


def _words(records: TlvRecords, number: int) -> pl.Series:
    """Return text field *number* of every distinct set of texts, after ``""`` for a record without texts."""
    return pl.Series(["", *(entry.get(number, "") for entry in records.texts)], dtype=pl.String)


def _codes(records: TlvRecords) -> pl.Series:
    return pl.Series((records.text_index + 1).astype(np.min_scalar_type(len(records.texts))))


def _host_ops(records: TlvRecords, to_unix: ToUnix) -> Stored:
    fixed, codes = records.fixed, _codes(records)
    texts = {
        "name": OpRangeField.NAME,
        "input_dtypes": OpRangeField.INPUT_DTYPES,
        "input_shapes": OpRangeField.INPUT_SHAPES,
        "call_stack": OpRangeField.CALL_STACK,
        "module_hierarchy": OpRangeField.MODULE_HIERARCHY,
    }
    table = Stored.from_columns(
        HOST_OPS,
        {
            "op_id": 0,
            "start_ns": to_unix(i64(fixed["start"])),
            "end_ns": to_unix(i64(fixed["end"])),
            "sequence": fixed["sequence"],
            "pid": i64(fixed["pid"]),
            "tid": i64(fixed["start_tid"]),
            "fwd_tid": i64(fixed["forward_tid"]),
            "scope": fixed["scope"],
            "is_async": fixed["is_async"],
            **{name: Texts(codes, _words(records, number)) for name, number in texts.items()},
        },
    )
    # An operator stands before those it calls, also when they start in the same nanosecond.
    ordered = table.ordered("start_ns", "end_ns", descending=(False, True))
    return ordered.with_columns({"op_id": pl.int_range(table.height, dtype=pl.Int64, eager=True)})


def _queue(records: TlvRecords, to_unix: ToUnix) -> Stored:
    """Join begin (even category) and end (odd) of each side of the task queue; half pairs are dropped."""
    fixed, codes = records.fixed, _codes(records).to_numpy()
    first, last = _pairs(fixed, to_unix)
    names = _words(records, torch_facts.MARK_NAME)
    named = np.array([bool(name) for name in names.to_list()])[codes[first]]
    columns = {
        "correlation_id": i64(fixed["correlation_id"][first]),
        "side": Texts(
            pl.Series((fixed["category"][first] // 2 > 0).astype(np.uint8)), pl.Series(["enqueue", "dequeue"])
        ),
        "name": Texts(pl.Series(np.where(named, codes[first], codes[last])), names),
        "start_ns": to_unix(fixed["time"][first]),
        "end_ns": to_unix(fixed["time"][last]),
        "pid": i64(fixed["pid"][first]),
        "tid": i64(fixed["tid"][first]),
    }
    return Stored.from_columns(QUEUE, columns).ordered("start_ns")


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


def _allocations(records: TlvRecords, to_unix: ToUnix) -> pl.DataFrame:
    fixed = records.fixed
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
