"""Stretches of a recording as columns, whatever recorded them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import count
from typing import TypeVar

import numpy as np
from attrs import define, field, frozen
from torch._C._profiler import RecordScope

from drynpu.arrays import I64, U8, U64, Bools, Records
from drynpu_torch.device import ACCESS

E = TypeVar("E")
V = TypeVar("V")

USER_SCOPE = RecordScope.USER_SCOPE.value


@define
class Interner:
    """Distinct values in order of first appearance; looking a value up stays in C."""

    _ids: defaultdict[object, int] = field(factory=lambda: defaultdict(count().__next__))

    def index(self, values: object, length: int) -> I64:
        """Return the id of every value of an iterable of hashable values, shape ``[length]``."""
        return np.fromiter(map(self._ids.__getitem__, values), np.int64, length)  # type: ignore[call-overload]

    @property
    def values(self) -> list[object]:
        """Distinct values by id."""
        return list(self._ids)


@frozen(eq=False, kw_only=True)
class Chunk:
    """
    Events of one stretch, shape ``[n]``, in the order of starts on each thread; memory events ``[m]``, frames ``[k]``.

    ``on_device`` holds for operators that the native device says ran on it. Where it cannot say which one that was,
    marks ``[l]`` say when an operator of that name ran. The sink says neither.

    ``delays``, shape ``[d, 2]``: a time and how long a thread had waited for a processor of this machine shortly
    before. Only the native device's recorder notes them. So it does ``accesses``, rows of
    `drynpu_torch.device.ACCESS`: which memory the operators touched.

    ``call`` is an id in the tracer's ``calls``: (name, shapes, dtypes, values) as text, -1 for annotations.
    """

    begin_ns: int
    end_ns: int
    name: I64
    start_ns: I64
    end_time_ns: I64
    thread: I64
    fwd_thread: I64
    sequence: I64
    scope: U8
    call: I64
    stack: I64
    reported: Bools
    on_device: Bools
    memory_time_ns: I64
    memory_thread: I64
    memory_address: U64
    memory_bytes: I64
    mark_time_ns: I64
    mark_thread: I64
    mark_name: I64
    frame_name: I64
    frame_start_ns: I64
    frame_end_ns: I64
    frame_thread: I64
    delays: I64 = field(factory=lambda: np.empty((0, 2), np.int64))
    accesses: Records = field(factory=lambda: np.empty(0, ACCESS))


def rows_named(names: Sequence[object], name: I64, test: Callable[[str], bool]) -> Bools:
    """Return which rows, shape ``[n]``, have a name that passes *test*; *name* holds the index of each in *names*."""
    return np.array([test(str(text)) for text in names], bool)[name]


def readable(getter: Callable[[E], V], events: Sequence[E], instead: Callable[[bytes], V]) -> list[V]:
    """
    Return the value of *getter* for each event, or of *instead* for bytes that are not UTF-8.

    Kineto keeps pointers to the function names of Python frames. Code that is gone when the recording ends, such as a
    module's body once it is imported, leaves arbitrary bytes in that place.
    """
    try:
        return list(map(getter, events))
    except UnicodeDecodeError:
        return [_read_one(getter, event, instead) for event in events]


def _read_one(getter: Callable[[E], V], event: E, instead: Callable[[bytes], V]) -> V:
    try:
        return getter(event)
    except UnicodeDecodeError as error:
        return instead(error.object)


def unreadable_name(text: bytes) -> str:
    place, separator, _ = text.partition(b"): ")  # file(line): function
    return f"{place.decode(errors='replace')}): <unknown>" if separator else "<unknown>"
