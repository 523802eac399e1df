"""What the native device's recorder hands over: a table of operators, their names and their calls."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from attrs import frozen

from drynpu.arrays import I64, Records

ROW = np.dtype(
    [
        ("start_ns", np.int64),
        ("end_ns", np.int64),
        ("sequence", np.int64),
        ("forward_thread", np.uint32),
        ("thread", np.uint32),
        ("name", np.int32),
        ("call", np.int32),
        ("scope", np.uint8),
        ("on_device", np.bool_),
    ],
    align=True,
)
"""The layout of `Row` in adapters/torch/native/recorder.h."""
ALLOCATION = np.dtype(
    [("time_ns", np.int64), ("address", np.uint64), ("bytes", np.int64), ("thread", np.uint32)], align=True
)
"""The layout of `Allocated` there."""
DELAY = np.dtype([("time_ns", np.int64), ("waited_ns", np.int64)])
"""The layout of `Delayed` there."""
ACCESS = np.dtype(
    [
        ("time_ns", np.int64),
        ("block", np.int64),
        ("offset", np.int64),
        ("bytes", np.int64),
        ("block_bytes", np.int64),
        ("thread", np.uint32),
        ("written", np.bool_),
    ],
    align=True,
)
"""The layout of `Accessed` there."""
_SIZES = 8
_WORD_BYTES = 8


@frozen(eq=False)
class RecordedOperators:
    """
    What one recording kept.

    ``rows``, shape ``[n]``, of :data:`ROW`: times in Unix ns; ``name`` and ``call`` count in the other two, and a call
    of -1 is none. The operators of a thread come in the order of their starts. ``calls`` holds the words of each call:
    the number of its name, then the words of ``arguments.h``. ``allocations`` are of :data:`ALLOCATION`, in the order
    of times on each thread; what was released has fewer than 0 bytes. ``delays`` are of :data:`DELAY`: how long a
    thread waited for a processor of this machine, shortly before that time, in the order of times on each thread.
    ``accesses`` are of :data:`ACCESS`: what operators of the device read and wrote, without small tensors.
    """

    rows: Records
    names: tuple[bytes, ...]
    calls: tuple[bytes, ...]
    allocations: Records
    delays: Records
    accesses: Records


def read_recording(functions: ctypes.CDLL) -> RecordedOperators:
    """End the recorder's recording and return what it kept."""
    sizes = np.zeros(_SIZES, np.int64)
    functions.drynpu_stop_recording(_pointer(sizes))
    rows, names, name_bytes, calls, call_words, allocations, delays, accesses = map(int, sizes)
    table = np.empty(rows, ROW)
    name_text, name_ends = np.empty(name_bytes, np.uint8), np.empty(names, np.int64)
    words, call_ends = np.empty(call_words * _WORD_BYTES, np.uint8), np.empty(calls, np.int64)
    memory, waits, touched = np.empty(allocations, ALLOCATION), np.empty(delays, DELAY), np.empty(accesses, ACCESS)
    parts = (table, name_text, name_ends, words, call_ends, memory, waits, touched)
    functions.drynpu_read_recording(*map(_pointer, parts))
    return RecordedOperators(
        rows=table,
        names=_divided(name_text.tobytes(), name_ends),
        calls=_divided(words.tobytes(), call_ends),
        allocations=memory,
        delays=waits,
        accesses=touched,
    )


def _divided(text: bytes, ends: I64) -> tuple[bytes, ...]:
    stops = ends.tolist()
    return tuple(text[begin:end] for begin, end in zip([0, *stops[:-1]], stops, strict=False))


def _pointer(array: Any) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)  # type: ignore[no-any-return]
