"""
Files of ``FRAMEWORK/`` that the frameworks share.

What Python itself did while a recording ran: frames and collections (torch_npu_profiler.md 3.7); reading of TLV files
that may be absent; the steps among the operators.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from drynpu.arrays import I64, Records
from drynpu.device import nest
from drynpu.kernels import Operators
from drynpu.layouts import framework_torch as torch_facts
from drynpu.layouts.framework_torch import FrameworkRecord
from drynpu.raw import TlvRecords, read_tlv, write_flat, write_tlv
from drynpu.simulate import PythonFrames
from drynpu.tables import STEP_PREFIX

# Tags of the tracer (torch_npu_profiler.md 3.7).
_PY_CALL, _PY_RETURN, _C_CALL, _C_RETURN = range(4)
# Returns have this name in place of the function's.
_EXIT = "__torch_npu_profiler_python_tracer_exit"
# Python shows functions of C so; the tracer gives them tags of their own.
_BUILT_IN = "<built-in "


def write_frames(directory: Path, prefix: str, frames: PythonFrames, to_raw: Callable[[I64], I64], pid: int) -> None:
    """
    Write ``<prefix>.python_tracer_func``, calls and returns in order, and ``<prefix>.python_tracer_hash``, the names.

    Nothing is written without frames. *to_raw* maps measured host times to the clock of the files. Raises
    `OutputError`.
    """
    if not len(frames.name):
        return
    threads = np.unique(frames.thread)
    records = np.concatenate([_thread(frames, np.flatnonzero(frames.thread == thread)) for thread in threads])
    records["pid"] = pid
    time_ns = to_raw(records["time"].astype(np.int64))
    for thread in threads:  # a map that shortens a wait must not put a return before its call
        rows = np.flatnonzero(records["tid"] == thread)
        time_ns[rows] = np.maximum.accumulate(time_ns[rows])
    records["time"] = time_ns
    write_flat(directory / f"{prefix}.python_tracer_func", records)
    texts = [{torch_facts.HASH_VALUE: text} for text in (*frames.names, _EXIT)]
    keys = np.zeros(len(texts), torch_facts.HASH_KEY)
    keys["key"] = np.arange(1, len(texts) + 1)
    path = directory / f"{prefix}.python_tracer_hash"
    write_tlv(path, FrameworkRecord.PYTHON_HASH, keys, np.arange(len(texts)), texts)


def _thread(frames: PythonFrames, rows: I64) -> Records:
    """
    Return calls and returns of one thread in the order in which they happened.

    Of frame *i* in order of calls, at depth *d* with *s* frames in it, *i* calls and *i - d* returns come before its
    call, and *s* more of each before its return.
    """
    start_ns, end_ns = frames.start_ns[rows], frames.end_ns[rows]
    depth, _ = nest(start_ns, end_ns, frames.thread[rows])
    order = np.arange(len(rows), dtype=np.int64)
    call = 2 * order - depth
    leave = call + 2 * _inside(depth) + 1
    built_in = np.array([name.startswith(_BUILT_IN) for name in frames.names])[frames.name[rows]]
    records = np.zeros(2 * len(rows), torch_facts.PYTHON_TRACER_FUNC)
    records["tid"], records["key"] = frames.thread[rows[0]], len(frames.names) + 1
    records["time"][call], records["time"][leave] = start_ns, end_ns
    records["key"][call] = frames.name[rows] + 1
    records["tag"][call] = np.where(built_in, _C_CALL, _PY_CALL)
    records["tag"][leave] = np.where(built_in, _C_RETURN, _PY_RETURN)
    records["time"] = np.maximum.accumulate(records["time"])
    return records


def _inside(depth: I64) -> I64:
    """Number of frames within each frame: those up to the next one that is not deeper."""
    following = np.full(len(depth), len(depth), np.int64)
    for level in range(int(depth.max(initial=0)) + 1):
        ends = np.flatnonzero(depth <= level)
        rows = np.flatnonzero(depth == level)
        place = np.searchsorted(ends, rows, side="right")
        ended = place < len(ends)
        following[rows[ended]] = ends[place[ended]]
    return following - np.arange(len(depth)) - 1


def write_collections(path: Path, collections_ns: I64, to_raw: Callable[[I64], I64], pid: int) -> None:
    """Write the garbage collections, shape ``[n, 2]`` (start, end); no file without any. Raises `OutputError`."""
    if not len(collections_ns):
        return
    records = np.zeros(len(collections_ns), torch_facts.GC_RECORD)
    records["pid"] = pid
    records["start"], records["end"] = to_raw(collections_ns[:, 0]), to_raw(collections_ns[:, 1])
    write_flat(path, records)


def read_tlv_file(path: Path, dtype: np.dtype[np.void], notes: list[str]) -> TlvRecords | None:
    """Return the records of a file, ``None`` where it is absent; what was tolerated is added to *notes*."""
    if not path.is_file():
        return None
    records = read_tlv(path, dtype)
    notes.extend(records.notes)
    return records


def read_json_file(path: Path, notes: list[str]) -> dict[str, Any]:
    """Return the object in a file, empty where there is none; a file that cannot be read is noted in *notes*."""
    if not path.is_file():
        return {}
    try:
        document = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        notes.append(f"{path.name} could not be read and was left out: {error}")
        return {}
    return document if isinstance(document, dict) else {}


def recorded_steps(operators: Operators) -> tuple[I64, I64]:
    """Return the rows of the steps that the script counted, ``ProfilerStep#<n>``, and the number *n* of each."""
    numbers = {
        code: int(name.removeprefix(STEP_PREFIX))
        for code, name in enumerate(operators.names)
        if name.startswith(STEP_PREFIX) and name.removeprefix(STEP_PREFIX).isdecimal()
    }
    rows = np.flatnonzero(np.isin(operators.name, list(numbers)))
    return rows, np.array([numbers[code] for code in operators.name[rows].tolist()], np.int64)
