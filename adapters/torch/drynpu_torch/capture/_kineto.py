"""
One stretch of Kineto: start, stop, and its events as columns.

``prof.events()`` and the Python parser behind it are never used: they cost 40-70 us per event against about
10 us for stopping Kineto and reading its getters in C loops.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import count
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch
from attrs import define, field, frozen
from torch._C._profiler import _EventType, _ExperimentalConfig
from torch.autograd import (
    ProfilerActivity,
    ProfilerConfig,
    ProfilerState,
    _disable_profiler,
    _enable_profiler,
    _prepare_profiler,
)

from drynpu import CaptureError
from drynpu_torch.capture._threads import RecordedThreads

__all__ = ["Chunk", "Interner", "KinetoTracer", "readable"]

E = TypeVar("E")
V = TypeVar("V")

_MEMORY_EVENT = "[memory]"


@define
class Interner:
    """Distinct values in order of first appearance; looking a value up stays in C."""

    _ids: defaultdict[object, int] = field(factory=lambda: defaultdict(count().__next__))

    def index(self, values: object, length: int) -> npt.NDArray[np.int64]:
        """Return the id of every value of an iterable of hashable values, shape ``[length]``."""
        return np.fromiter(map(self._ids.__getitem__, values), np.int64, length)  # type: ignore[call-overload]

    @property
    def values(self) -> list[object]:
        """Distinct values by id."""
        return list(self._ids)


@frozen(eq=False, kw_only=True)
class Chunk:
    """
    Events of one stretch, shape ``[n]``, in Kineto's order; memory events and Python frames apart, ``[m]``, ``[k]``.

    ``call`` is an id in the tracer's ``calls``: (name, shapes, dtypes, values) as text, -1 for annotations.
    """

    begin_ns: int
    end_ns: int
    name: npt.NDArray[np.int64]
    start_ns: npt.NDArray[np.int64]
    end_time_ns: npt.NDArray[np.int64]
    thread: npt.NDArray[np.int64]
    fwd_thread: npt.NDArray[np.int64]
    sequence: npt.NDArray[np.int64]
    scope: npt.NDArray[np.uint8]
    call: npt.NDArray[np.int64]
    stack: npt.NDArray[np.int64]
    memory_time_ns: npt.NDArray[np.int64]
    memory_thread: npt.NDArray[np.int64]
    memory_address: npt.NDArray[np.uint64]
    memory_bytes: npt.NDArray[np.int64]
    frame_name: npt.NDArray[np.int64]
    frame_start_ns: npt.NDArray[np.int64]
    frame_end_ns: npt.NDArray[np.int64]
    frame_thread: npt.NDArray[np.int64]


@define(kw_only=True)
class KinetoTracer:
    """
    Starts and stops Kineto; keeps what is distinct over all stretches of one recording.

    ``calls`` maps the key of a call to its id; ``examples[id]`` holds the getters' values of its first instance.
    ``stack`` asks for the call stack of every operator and for Python frames, ``frames`` for the frames alone.

    Kineto reports all threads. Ones that Python started are kept while ``threads`` says so, others always: to those
    PyTorch itself hands work of the recording thread, as to the threads of the backward pass. With ``memory`` it
    reports the recording thread and what it handed on alone, because it loses the allocator's events otherwise.

    ``keep_results`` keeps what Kineto returned, in ``results``, for analyses of PyTorch's own. ``taken_over`` tells
    that another profiler was started meanwhile: Kineto serves the last one, and ours got nothing.
    """

    memory: bool = False
    stack: bool = False
    frames: bool = False
    keep_results: bool = False
    threads: RecordedThreads = field(factory=RecordedThreads)
    results: list[object] = field(factory=list)
    taken_over: bool = False
    frame_names: Interner = field(factory=Interner)
    names: Interner = field(factory=Interner)
    stacks: Interner = field(factory=Interner)
    calls: Interner = field(factory=Interner)
    examples: dict[int, tuple[str, list[object], list[str], list[object]]] = field(factory=dict)
    _begin_ns: int = 0

    def start(self) -> None:
        """
        Start recording.

        Raises
        ------
        CaptureError
            If another profiler is active in this process.
        """
        if torch.autograd._profiler_enabled():
            raise CaptureError(
                "PyTorch's own profiler is already recording in this process; only one recording can run at a "
                "time. Stop torch.profiler first, or profile with torch_npu.profiler alone."
            )
        # Kineto announces every start and stop on stderr; it reads this when it is first used.
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")
        config = ProfilerConfig(
            ProfilerState.KINETO,
            True,
            self.memory,
            self.stack or self.frames,
            False,
            False,
            _ExperimentalConfig(verbose=self.stack, profile_all_threads=not self.memory),
            "",
        )
        activities = {ProfilerActivity.CPU}
        _prepare_profiler(config, activities, activity_filter={})
        _enable_profiler(config, activities)
        self._begin_ns = time.time_ns()

    def stop(self) -> Chunk:
        """Stop recording and return what was recorded since :meth:`start`."""
        end_ns = time.time_ns()
        result = _disable_profiler()
        self.taken_over = self.taken_over or not result.trace_start_ns()
        if self.keep_results:
            self.results.append(result)
        return self._columns(result, end_ns)

    def _columns(self, result: object, end_ns: int) -> Chunk:
        events = result.events()  # type: ignore[attr-defined]
        kind = type(events[0]) if events else torch._C._autograd._KinetoEvent
        names = readable(kind.name, events, _unreadable_name)
        python = np.fromiter(map(kind.is_python_function, events), bool, len(events))
        is_memory = np.fromiter(map(_MEMORY_EVENT.__eq__, names), bool, len(events))
        rows = np.flatnonzero(~is_memory & ~python)
        ops = [events[i] for i in rows.tolist()]
        rows = rows[self._kept(kind, ops)]
        ops, op_names = [events[i] for i in rows.tolist()], [names[i] for i in rows.tolist()]

        def column(getter: object, dtype: type = np.int64) -> npt.NDArray[np.generic]:
            return np.fromiter(map(getter, ops), dtype, len(ops))  # type: ignore[call-overload]

        call = self._calls(kind, ops, op_names)
        call[np.fromiter(map(kind.is_user_annotation, ops), bool, len(ops))] = -1
        stacks = map(";".join, readable(kind.stack, ops, lambda _: []) if self.stack else [()] * len(ops))
        return Chunk(
            begin_ns=self._begin_ns,
            end_ns=end_ns,
            name=self.names.index(op_names, len(ops)),
            start_ns=column(kind.start_ns),
            end_time_ns=column(kind.end_ns),
            thread=column(kind.device_resource_id, np.uint64).astype(np.int64),
            fwd_thread=column(kind.fwd_thread_id, np.uint64).astype(np.int64),
            sequence=column(kind.sequence_nr),
            scope=column(kind.scope).astype(np.uint8),
            call=call,
            stack=self.stacks.index(stacks, len(ops)),
            **self._memory(kind, [events[i] for i in np.flatnonzero(is_memory).tolist()], result),
            **self._frames(kind, [events[i] for i in np.flatnonzero(python).tolist()]),
        )

    def _kept(self, kind: object, events: list[object]) -> npt.NDArray[np.bool_]:
        thread = np.fromiter(map(kind.device_resource_id, events), np.uint64, len(events))  # type: ignore[attr-defined]
        start = np.fromiter(map(kind.start_ns, events), np.int64, len(events))  # type: ignore[attr-defined]
        return self.threads.keep(thread.astype(np.int64), start)

    def _frames(self, kind: object, events: list[object]) -> dict[str, npt.NDArray[np.generic]]:
        events = [events[i] for i in np.flatnonzero(self._kept(kind, events)).tolist()]
        n = len(events)
        return {
            "frame_name": self.frame_names.index(readable(kind.name, events, _unreadable_name), n),  # type: ignore[attr-defined]
            "frame_start_ns": np.fromiter(map(kind.start_ns, events), np.int64, n),  # type: ignore[attr-defined]
            "frame_end_ns": np.fromiter(map(kind.end_ns, events), np.int64, n),  # type: ignore[attr-defined]
            "frame_thread": np.fromiter(map(kind.device_resource_id, events), np.uint64, n).astype(np.int64),  # type: ignore[attr-defined]
        }

    def _calls(self, kind: object, ops: list[object], names: list[str]) -> npt.NDArray[np.int64]:
        shapes = list(map(kind.structured_input_shapes, ops))  # type: ignore[attr-defined]
        dtypes = list(map(kind.dtypes, ops))  # type: ignore[attr-defined]
        values = list(map(kind.concrete_inputs, ops))  # type: ignore[attr-defined]
        keys = zip(names, map(str, shapes), map(str, dtypes), map(str, values), strict=True)
        call = self.calls.index(keys, len(ops))
        distinct, first = np.unique(call, return_index=True)
        for identity, row in zip(distinct.tolist(), first.tolist(), strict=True):
            if identity not in self.examples:
                self.examples[identity] = (names[row], shapes[row], dtypes[row], values[row])
        return call

    def _memory(self, kind: object, events: list[object], result: object) -> dict[str, npt.NDArray[np.generic]]:
        n = len(events)
        times = np.fromiter(map(kind.start_ns, events), np.int64, n)  # type: ignore[attr-defined]
        sizes = np.fromiter(map(kind.nbytes, events), np.int64, n)  # type: ignore[attr-defined]
        threads = np.fromiter(map(kind.device_resource_id, events), np.uint64, n).astype(np.int64)  # type: ignore[attr-defined]
        order = np.lexsort((sizes, times))
        address = np.zeros(n, np.uint64)
        if self.memory and n:
            tree = _addresses(result)
            if len(tree[0]) == n:  # the getters do not tell addresses; the event tree holds the same events
                address[order] = tree[1][np.lexsort((tree[2], tree[0]))]
        by_time = np.argsort(times, kind="stable")
        by_time = by_time[self.threads.keep(threads, times)[by_time]]
        return {
            "memory_time_ns": times[by_time],
            "memory_thread": threads[by_time],
            "memory_address": address[by_time],
            "memory_bytes": sizes[by_time],
        }


def readable(getter: Callable[[E], V], events: Sequence[E], instead: Callable[[bytes], V]) -> list[V]:
    """
    Return what *getter* tells of *events*; *instead* is asked with the bytes where a text of one is no text.

    Kineto keeps the function names of Python frames where Python had them. Code that is gone when the recording ends,
    as that of a module body is once the module is imported, leaves anything in that place.
    """
    try:
        return list(map(getter, events))
    except UnicodeDecodeError:
        return [_one(getter, event, instead) for event in events]


def _one(getter: Callable[[E], V], event: E, instead: Callable[[bytes], V]) -> V:
    try:
        return getter(event)
    except UnicodeDecodeError as error:
        return instead(error.object)


def _unreadable_name(text: bytes) -> str:
    place, found, _ = text.partition(b"): ")  # file(line): function
    return f"{place.decode(errors='replace')}): <unknown>" if found else "<unknown>"


def _addresses(
    result: object,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Return (time ns, address, bytes) of all allocator events in Kineto's event tree."""
    todo = list(result.experimental_event_tree())  # type: ignore[attr-defined]
    found: list[tuple[int, int, int]] = []
    while todo:
        event = todo.pop()
        todo.extend(event.children)
        if event.tag == _EventType.Allocation:
            fields = event.extra_fields
            found.append((event.start_time_ns, fields.ptr, fields.alloc_size))
    times, pointers, sizes = zip(*found, strict=True) if found else ((), (), ())
    return np.array(times, np.int64), np.array(pointers, np.uint64), np.array(sizes, np.int64)
