"""
The events of the host that MindSpore records itself (mindspore_profiler.md 11).

On a device these events are part of every recording: layers of the runtime with their threads and flows, stages of
compilation, operators of the data pipeline, calls of Python functions. The CPU build records them as well.
"""

from __future__ import annotations

import functools
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field, frozen

from drynpu.arrays import I64, Bools, Records
from drynpu.layouts import framework_mindspore as mindspore_facts
from drynpu.layouts.framework_mindspore import MS_EVENTS, MS_MODULES, MsOpRangeField
from drynpu.raw import read_tlv
from drynpu.simulate import FrameworkEvents
from drynpu_mindspore.capture._library import ProfilerLibrary, load_library
from drynpu_mindspore.capture._shapes import ReportedCalls, read_calls
from drynpu_mindspore.inside import KNOWN, Inside, UnknownInside, require

_FILE = "mindspore.op_range"
_SHAPES = "mindspore.record_shapes"
_EVERYTHING = "all"
# Readings of the counter of which the closest is taken: one may be interrupted by another thread.
_TRIES = 5
_UNDER_WAY_S = 0.002
"""How long other threads have to finish an event that they were reporting when that was switched off."""
_LAUNCHES = (("Kernel", "KernelLaunch"), ("PynativeFramework", "PyNativeLaunchTask"))
_OPERATORS = (("PynativeFramework", "RunOp"), ("RuntimeFramework", "PreLaunch"))
"""Events that are left out, because the recording shows the same operators with the launches of the device."""

_DRYNPU_CODE = re.compile(r"(^|/)_?drynpu(_\w+)?/")
_STANDS_IN = re.compile(r"(^|/)(drynpu_mindspore/patching|drynpu_mindspore_\w+)/")
"""Files of drynpu, as the names of Python calls begin with them, and those whose functions stand in for others."""


def _own_library() -> ProfilerLibrary | None:
    import mindspore

    try:
        require(KNOWN[Inside.EVENTS])
    except UnknownInside:
        return None
    return load_library(Path(mindspore.__file__).parent)


@frozen(eq=False)
class HostEvents:
    """
    What MindSpore recorded itself.

    ``launches`` has start, end (Unix ns) and thread of the CPU's launches in the order of their starts, int64
    ``[n, 3]``; ``calls`` are calls of operators that belong to no compiled graph.
    """

    events: FrameworkEvents = field(factory=FrameworkEvents.empty)
    launches: I64 = field(factory=lambda: np.empty((0, 3), np.int64))
    calls: ReportedCalls = field(factory=ReportedCalls)


@define
class HostEventCapture:
    """Records MindSpore's own events, in any number of recordings; without MindSpore's library there are none."""

    _library: ProfilerLibrary | None = field(factory=_own_library)
    _folder: tempfile.TemporaryDirectory[str] | None = None
    _begun: tuple[int, int] = (0, 0)
    _framework_set: bool = False
    _traces: bool = False

    @property
    def available(self) -> bool:
        """Whether the MindSpore of this process has the library functions that recording needs."""
        return self._library is not None

    def start(self, *, with_stack: bool) -> None:
        """Record from now on; *with_stack* adds calls of Python functions."""
        if self._library is None or self._folder is not None:
            return
        self._begun = _moment(self._library)
        if not self._framework_set:
            # Once: threads read this text at every event that they report.
            _manager().set_profile_framework(_EVERYTHING)
            self._framework_set = True
        self._record(self._library)
        self._traces = with_stack
        if with_stack:
            self._library.trace_python()

    def cut(self) -> Callable[[], HostEvents]:
        """
        End a part and go on; return what reads the part.

        Calls of Python functions come with the last part: MindSpore's tracer keeps them until it is stopped, and a call
        that is under way at a cut is to stay one call.
        """
        read = self._end()
        if self._library is not None:
            self._record(self._library)
        return read

    def stop(self) -> Callable[[], HostEvents]:
        """Record no longer; return what reads the part since the start or the last cut."""
        if self._library is not None and self._folder is not None and self._traces:
            self._library.stop_tracing()
        return self._end()

    def _record(self, library: ProfilerLibrary) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="drynpu-events-")
        library.record_into(Path(self._folder.name))
        _switch(on=True)

    def _end(self) -> Callable[[], HostEvents]:
        if self._library is None or self._folder is None:
            return HostEvents
        _switch(on=False)
        time.sleep(_UNDER_WAY_S)
        self._library.stop_recording()
        folder, self._folder = self._folder, None
        return functools.partial(_read_part, folder, self._begun, _moment(self._library))


def _read_part(folder: tempfile.TemporaryDirectory[str], begun: tuple[int, int], ended: tuple[int, int]) -> HostEvents:
    with folder as name:
        path = Path(name) / _FILE
        events = _read(path, begun, ended) if path.is_file() else FrameworkEvents.empty()
        calls = read_calls(Path(name) / _SHAPES)
    return HostEvents(*_split(events), calls)


def _manager() -> Any:
    from mindspore import _c_expression

    return _c_expression.ProfilerManager.get_instance()


def _switch(*, on: bool) -> None:
    from mindspore import _c_expression

    (_c_expression._framework_profiler_enable_mi if on else _c_expression._framework_profiler_disable_mi)()


def _moment(library: ProfilerLibrary) -> tuple[int, int]:
    """Return a reading of the counter and its Unix time (ns): the closest of a few, half-way between two times."""
    readings = [(time.time_ns(), library.counter(), time.time_ns()) for _ in range(_TRIES)]
    before, count, after = min(readings, key=lambda reading: reading[2] - reading[0])
    return count, (before + after) // 2


def _read(path: Path, begun: tuple[int, int], ended: tuple[int, int]) -> FrameworkEvents:
    content = read_tlv(path, mindspore_facts.MS_OP_RANGE)
    records = content.fixed
    rate = (ended[1] - begun[1]) / max(ended[0] - begun[0], 1)
    for name in ("start", "end"):
        counts = records[name].astype(np.int64) - begun[0]
        records[name] = begun[1] + np.rint(counts * rate).astype(np.int64)
    # The start and the end of a flow are read at one moment and may come in the wrong order.
    times = np.sort(np.stack([records["start"], records["end"]]), axis=0)
    records["start"], records["end"] = times
    return FrameworkEvents(records=records, text_index=content.text_index, texts=content.texts)


def _split(events: FrameworkEvents) -> tuple[FrameworkEvents, I64]:
    records = events.records
    launches = records[_events_named(records, _LAUNCHES)]
    times = np.stack([launches[name].astype(np.int64) for name in ("start", "end", "tid")], axis=1)
    kept = ~_events_named(records, (*_LAUNCHES, *_OPERATORS)) & ~hide_own_calls(
        records, events.text_index, events.texts
    )
    return (
        FrameworkEvents(records=records[kept], text_index=events.text_index[kept], texts=events.texts),
        times[np.argsort(times[:, 0], kind="stable")],
    )


def hide_own_calls(records: Records, text_index: I64, texts: Sequence[Mapping[int, str]]) -> Bools:
    """
    Return which events are calls of drynpu's functions, or calls of any function from inside those.

    Functions that stand in for MindSpore's call those: only the stand-in itself is left out.
    """
    hidden = np.zeros(len(records), bool)
    calls = np.flatnonzero(records["is_stack"])
    names = [*(text.get(MsOpRangeField.NAME, "") for text in texts), ""]
    is_drynpu = np.array([_DRYNPU_CODE.search(name) is not None for name in names])
    stands_in = np.array([_STANDS_IN.search(name) is not None for name in names])
    hidden[calls] = is_drynpu[text_index[calls]]
    outer = calls[(is_drynpu & ~stands_in)[text_index[calls]]]
    start, end, thread = (records[name].astype(np.int64) for name in ("start", "end", "tid"))
    for thread_id in np.unique(thread[outer]):
        around, inner = (rows[thread[rows] == thread_id] for rows in (outer, calls))
        around = around[np.argsort(start[around], kind="stable")]
        at = np.searchsorted(start[around], start[inner], side="right") - 1
        hidden[inner[(at >= 0) & (end[inner] <= np.maximum.accumulate(end[around])[at])]] = True
    return hidden


def _events_named(records: Records, kinds: tuple[tuple[str, str], ...]) -> Bools:
    matching = np.zeros(len(records), bool)
    for module, event in kinds:
        matching |= (records["module"] == MS_MODULES.index(module)) & (records["event"] == MS_EVENTS.index(event))
    return matching & ~records["is_graph_data"] & ~records["is_stage"] & ~records["is_stack"]
