"""
Stretches of a recording: starting and stopping Kineto, and its events as columns.

``prof.events()`` and the Python parser behind it are never used. They take 40-70 us per event; stopping Kineto and
reading its getters in C loops takes about 10 us.
"""

from __future__ import annotations

import functools
import marshal
import re
import sys
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any, TypeVar

import numpy as np
import torch
from attrs import define
from torch._C._profiler import _ExperimentalConfig
from torch.autograd import (
    ProfilerActivity,
    ProfilerConfig,
    ProfilerState,
    _disable_profiler,
    _enable_profiler,
    _prepare_profiler,
)

from drynpu.arrays import I64, U64, Bools
from drynpu.device import nest
from drynpu.host import return_freed_memory
from drynpu_torch.capture._chunk import USER_SCOPE, Chunk, readable, unreadable_name
from drynpu_torch.capture._tracer import Tracer
from drynpu_torch.compat import PythonFrames, allocations_of_tree, frames_beside_events, shapes_getter

V = TypeVar("V")

_MEMORY_EVENT = "[memory]"
_ON_DEVICE = torch._C._autograd.DeviceType.PrivateUse1
_ADDRESS = re.compile(r'"Bytes": (-?\d+).*"Addr": (\d+)')
_MANY_EVENTS = 100_000
"""Events from which it is worth some milliseconds to give their memory back: they take about 2 KB each."""


@define(kw_only=True)
class KinetoTracer(Tracer):
    """
    Records by Kineto, which has stacks, Python frames and what its allocators reported.

    ``taken_over``: Kineto serves the profiler that was started last, so that the events of this one are lost.

    With ``memory`` Kineto is asked for the recording thread and the work that it gave to others alone, because it loses
    the allocator's events otherwise.
    """

    _begin_ns: int = 0

    @property
    def follows_threads(self) -> bool:
        """Whether threads that Python started are recorded, too."""
        return not self.memory

    def start(self) -> None:
        """Start recording. Raises `CaptureError` if another profiler is active in this process."""
        self.prepare()
        config = ProfilerConfig(
            ProfilerState.KINETO,
            True,
            self.memory,
            self.stack or self.frames,
            False,
            False,
            _ExperimentalConfig(profile_all_threads=self.follows_threads),
            "",
        )
        activities = {ProfilerActivity.CPU}
        _prepare_profiler(config, activities)
        _enable_profiler(config, activities)
        if self.library is not None:
            self.library.take_marks()
            self.library.note_marks(wanted=True)
        self._begin_ns = time.time_ns()

    def stop(self) -> Chunk:
        """Stop recording and return the events since :meth:`start`."""
        end_ns = time.time_ns()
        if self.library is not None:
            self.library.note_marks(wanted=False)
        result = self.end()
        events = result.events()
        # Kineto's own list takes more memory than all that follows; only the addresses stand there and nowhere else.
        source = result if self.memory else None
        frames = frames_beside_events(result, events) if self.stack or self.frames else None
        del result
        chunk = self._columns(events, source, frames, end_ns)
        is_large = len(events) > _MANY_EVENTS
        del events, source
        if is_large:
            return_freed_memory()  # what follows allocates elsewhere
        return chunk

    def end(self) -> Any:
        """Stop Kineto and return its result."""
        result = _disable_profiler()
        self.taken_over = self.taken_over or not result.trace_start_ns()
        if self.keep_results:
            self.results.append(result)
        return result

    # N23, docs/tricks.md
    def _columns(self, events: list[Any], result: object, frames: PythonFrames | None, end_ns: int) -> Chunk:
        kind: Any = type(events[0]) if events else torch._C._autograd._KinetoEvent
        names = _names(kind.name, events)
        start_ns = _column(kind.start_ns, events)
        thread = _threads(kind.device_resource_id, events)
        # Before the events, whose threads are noted.
        kept_frames = None if frames is None else self.threads.keep(frames.thread, frames.start_ns)
        kept = self.threads.keep(thread, start_ns)
        memory, python = np.zeros((2, len(events)), bool)
        # Without these options Kineto reports no such events, so the search would be in vain.
        if self.memory:
            memory[:] = np.fromiter(map(_MEMORY_EVENT.__eq__, names), bool, len(events))
        counted = memory
        if self.memory and self.library is not None:
            kinds = map(kind.device_type, _pick(events, np.flatnonzero(memory)))
            counted = memory.copy()
            counted[memory] = np.fromiter(map(_ON_DEVICE.__eq__, kinds), bool, int(memory.sum()))
        if (self.stack or self.frames) and frames is None:
            python[:] = np.fromiter(map(kind.is_python_function, events), bool, len(events))
        if frames is None or kept_frames is None:
            frames, kept_frames = _frames_of(kind, _pick(events, np.flatnonzero(python))), kept[python]
        rows = np.flatnonzero(~memory & ~python)
        self.threads.note_operators(thread[rows])
        ops, op_names = _pick(events, rows), _pick(names, rows)
        scope = _column(kind.scope, ops)
        call = self._calls(kind, ops, op_names)
        call[scope == USER_SCOPE] = -1
        end_time_ns = _column(kind.end_ns, ops)
        stacks = stacks_of(frames, start_ns[rows], end_time_ns, thread[rows]) if self.stack else repeat("", len(ops))
        return Chunk(
            begin_ns=self._begin_ns,
            end_ns=end_ns,
            name=self.names.index(op_names, len(ops)),
            start_ns=start_ns[rows],
            end_time_ns=end_time_ns,
            thread=thread[rows],
            fwd_thread=_threads(kind.fwd_thread_id, ops),
            sequence=_column(kind.sequence_nr, ops),
            scope=scope.astype(np.uint8),
            call=call,
            stack=self.stacks.index(stacks, len(ops)),
            reported=kept[rows],
            on_device=np.zeros(len(rows), bool),
            **_memory(kind, _pick(events, np.flatnonzero(memory)), (kept & counted)[memory], result),
            **self.marks(),
            **self._frames(frames, kept_frames),
        )

    def _frames(self, frames: PythonFrames, kept: Bools) -> dict[str, Any]:
        rows = np.flatnonzero(kept)
        return {
            "frame_name": self.frame_names.index(_pick(frames.names, rows), len(rows)),
            "frame_start_ns": frames.start_ns[rows],
            "frame_end_ns": frames.end_ns[rows],
            "frame_thread": frames.thread[rows],
        }

    def _calls(self, kind: Any, ops: list[object], names: list[str]) -> I64:
        getters = (shapes_getter(kind), kind.dtypes, kind.concrete_inputs)

        def rows() -> Iterator[tuple[Any, ...]]:
            return zip(names, *(map(getter, ops) for getter in getters), strict=True)

        # Row by row, so that the lists that the getters return for one event are gone before the next event.
        try:
            # Version 2: later ones note which objects of a row are shared, so that equal rows would differ.
            call = self.calls.index(map(marshal.dumps, rows(), repeat(2)), len(ops))
        except ValueError:  # an argument that is no plain value
            call = self.calls.index(map(str, rows()), len(ops))
        distinct, first = np.unique(call, return_index=True)
        for identity, row in zip(distinct.tolist(), first.tolist(), strict=True):
            if identity not in self.examples:
                shapes, dtypes, values = (getter(ops[row]) for getter in getters)
                self.examples[identity] = (names[row], shapes, dtypes, values)
        return call


def stacks_of(frames: PythonFrames, start_ns: I64, end_ns: I64, thread: I64) -> Iterator[str]:
    """
    Yield the frames around each operator, innermost first and joined by ``;``; the columns are the operators'.

    Kineto would write such a text for every frame, too: minutes where a recorded step imports a large package.
    """
    count, pairs = len(frames.names), ((frames.start_ns, start_ns), (frames.end_ns, end_ns), (frames.thread, thread))
    begins, ends, threads = map(np.concatenate, pairs)
    order = np.lexsort((-ends, begins))
    _, parent = nest(begins[order], ends[order], threads[order])
    around = np.empty(len(order), np.int64)
    around[order] = np.where(parent >= 0, order[parent], -1)

    @functools.cache
    def text(row: int) -> str:
        names = []
        while row >= 0:
            if row < count:
                names.append(frames.names[row])
            row = int(around[row])
        return ";".join(names)

    innermost = around[count:].copy()
    while (inside := innermost >= count).any():  # operators in operators
        innermost[inside] = around[innermost[inside]]
    return map(text, innermost.tolist())


def _frames_of(kind: Any, events: list[object]) -> PythonFrames:
    return PythonFrames(
        names=list(readable(kind.name, events, unreadable_name)),
        start_ns=_column(kind.start_ns, events),
        end_ns=_column(kind.end_ns, events),
        thread=_threads(kind.device_resource_id, events),
    )


def _names(getter: Callable[[object], str], events: list[object]) -> list[str]:
    """Return the name of each event, equal ones as one object."""
    try:
        return list(map(sys.intern, map(getter, events)))
    except UnicodeDecodeError:
        return readable(getter, events, unreadable_name)


def _column(getter: Callable[[object], int], events: list[object]) -> I64:
    return np.fromiter(map(getter, events), np.int64, len(events))


def _threads(getter: Callable[[object], int], events: list[object]) -> I64:
    return np.fromiter(map(getter, events), np.uint64, len(events)).astype(np.int64)


def _pick(values: list[V], rows: I64) -> list[V]:
    return values if len(rows) == len(values) else [values[row] for row in rows.tolist()]


def _memory(kind: Any, events: list[object], kept: Bools, result: Any) -> dict[str, Any]:
    """Return the columns of the allocator's *events* that are *kept*, in time order."""
    time_ns, size = _column(kind.start_ns, events), _column(kind.nbytes, events)
    rows = np.argsort(time_ns, kind="stable")
    rows = rows[kept[rows]]
    return {
        "memory_time_ns": time_ns[rows],
        "memory_thread": _threads(kind.device_resource_id, events)[rows],
        "memory_address": _addresses(result, time_ns, size)[rows],
        "memory_bytes": size[rows],
    }


def _addresses(result: Any, time_ns: I64, size: I64) -> U64:
    """
    Return the addresses of allocator events at those times and of those sizes, all 0 if they are not known.

    The events have no getter for the address. It stands in the texts of Kineto's own list, which it would write into a
    trace; the list has the same events in another order.
    """
    address = np.zeros(len(time_ns), np.uint64)
    tree = allocations_of_tree(result) if len(time_ns) else None
    if tree is not None and len(tree.address) == len(time_ns):
        address[np.lexsort((size, time_ns))] = tree.address[np.lexsort((tree.size, tree.time_ns))]
    activities = result.trace_activities() if len(time_ns) and tree is None else []
    if not activities:
        return address
    kind: Any = type(activities[0])
    is_memory = np.fromiter(map(_MEMORY_EVENT.__eq__, _names(kind.name, activities)), bool, len(activities))
    events = _pick(activities, np.flatnonzero(is_memory))
    numbers = np.array(_ADDRESS.findall("\n".join(map(kind.metadata_json, events))), np.str_).reshape(-1, 2)
    if len(events) == len(numbers) == len(time_ns):
        order = np.lexsort((numbers[:, 0].astype(np.int64), _column(kind.timestamp, events)))
        address[np.lexsort((size, time_ns))] = numbers[order, 1].astype(np.uint64)
    return address
