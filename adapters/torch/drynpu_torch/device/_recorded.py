"""What the native device's recorder hands over: a table of operators, their names and their calls."""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np
from attrs import frozen

from drynpu.arrays import I32, I64, Records

ROW = np.dtype(
    [
        ("start_ns", np.int64),
        ("end_ns", np.int64),
        ("sequence", np.int64),
        ("forward_thread", np.uint32),
        ("thread", np.uint32),
        ("name", np.int32),
        ("call", np.int32),
        ("stack", np.int32),
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
FRAME = np.dtype(
    [("start_ns", np.int64), ("end_ns", np.int64), ("name", np.int32), ("stack", np.int32), ("thread", np.uint32)],
    align=True,
)
"""The layout of `Frame` in adapters/torch/native/handover.h."""
GRAPH_CAPTURE: Final = "drynpu::graph_capture"
"""The range around an operator that is captured: a device runs nothing then."""
GRAPH_KEEPING: Final = "drynpu::graph_keeping"
"""The range around operators by which a capture keeps what it noted: a device has none of them."""
GRAPH_REPLAY: Final = "drynpu::graph_replay"
"""The range around the operators of a graph that runs: the device launches them by itself."""
_SIZES = 10
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

    ``frames`` are of :data:`FRAME`: the calls of Python functions that are not drynpu's, in the order of starts on each
    thread; their ``name`` counts in `Library.frame_names`. ``stack`` of a frame or an operator is a row of ``stacks``,
    shape ``[s, 2]``: the stack around the innermost frame, -1 for none, and the name of that. An operator outside of
    all frames has -1.
    """

    rows: Records
    names: tuple[bytes, ...]
    calls: tuple[bytes, ...]
    allocations: Records
    delays: Records
    accesses: Records
    frames: Records
    stacks: I32


def read_recording(functions: ctypes.CDLL) -> RecordedOperators:
    """End the recorder's recording and return what it kept."""
    sizes = np.zeros(_SIZES, np.int64)
    functions.drynpu_stop_recording(pointer_to(sizes))
    rows, names, name_bytes, calls, call_words, allocations, delays, accesses, frames, stacks = map(int, sizes)
    table = np.empty(rows, ROW)
    name_text, name_ends = np.empty(name_bytes, np.uint8), np.empty(names, np.int64)
    words, call_ends = np.empty(call_words * _WORD_BYTES, np.uint8), np.empty(calls, np.int64)
    memory, waits, touched = np.empty(allocations, ALLOCATION), np.empty(delays, DELAY), np.empty(accesses, ACCESS)
    called, pairs = np.empty(frames, FRAME), np.empty((stacks, 2), np.int32)
    parts = (table, name_text, name_ends, words, call_ends, memory, waits, touched, called, pairs)
    functions.drynpu_read_recording(*map(pointer_to, parts))
    return RecordedOperators(
        rows=table,
        names=divided(name_text.tobytes(), name_ends),
        calls=divided(words.tobytes(), call_ends),
        allocations=memory,
        delays=waits,
        accesses=touched,
        frames=called,
        stacks=pairs,
    )


def divided(text: bytes, ends: I64) -> tuple[bytes, ...]:
    """Return the parts of *text* that end there."""
    stops = ends.tolist()
    return tuple(text[begin:end] for begin, end in zip([0, *stops[:-1]], stops, strict=False))


def pointer_to(array: Any) -> ctypes.c_void_p:
    """Return where the first value of *array* lies."""
    return array.ctypes.data_as(ctypes.c_void_p)  # type: ignore[no-any-return]
