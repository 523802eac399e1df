"""
A recording of functions, Keras and eager code: routes B, G and D together (tf_adapters.md 6).

It is cut into stretches where no function is running, so that memory stays bounded.
"""

from __future__ import annotations

import os
import threading
import time

from attrs import define, field, frozen

from drynpu import CaptureError, without_collections
from drynpu.kernels import Operators
from drynpu_tf.capture._eager import EagerOperators
from drynpu_tf.capture._function_runs import FunctionRun, FunctionRuns
from drynpu_tf.capture._functions import FunctionGraphs
from drynpu_tf.capture._runs import function_runs
from drynpu_tf.capture._xplane import XplaneTracer
from drynpu_tf.rules import Precision

_EVENTS_IN_STRETCH = 200_000
_FIRST_STRETCH_CPU_NS = 1_000_000_000
"""
Until the first cut nobody knows how many events a call leaves: processor time bounds them, a few million a second.
"""


@frozen(eq=False, kw_only=True)
class Stretch:
    """A part of a recording: functions in time order, and operators that ran one by one (``None``: none did)."""

    functions: tuple[FunctionRun, ...]
    eager: Operators | None


@define
class TraceCapture:
    """
    Captures what a process runs between :meth:`start` and :meth:`stop`.

    ``traced`` is False while another profiler holds TensorFlow's tracer: functions are then missing, and operators
    that run one by one have the times of their callbacks. ``split`` says whether the chip has cube and vector cores
    apart; the graph engine fuses more for others. ``precision`` is how it reduces graphs to 16 bits.
    """

    split: bool = True
    precision: Precision | None = None
    graphs: FunctionGraphs = field(factory=FunctionGraphs)
    eager: EagerOperators = field(factory=EagerOperators)
    traced: bool = False
    _tracer: XplaneTracer = field(factory=XplaneTracer)
    _runs: FunctionRuns = field()
    _marked: set[int] = field(factory=set)
    _calls: int = 0
    _began_cpu_ns: int = 0
    _events_per_call: float = 0.0

    @_runs.default
    def _default_runs(self) -> FunctionRuns:
        return FunctionRuns(self.graphs, self.split, self.precision)

    def start(self) -> str | None:
        """Start recording; return the reason if TensorFlow's tracer cannot be used."""
        self.eager.listen()
        return self._begin()

    def _begin(self) -> str | None:
        # Again each time: tf.summary.trace_off() ends it.
        self.graphs.begin()
        self._marked.clear()
        self._calls = 0
        self._began_cpu_ns = time.process_time_ns()
        try:
            self._tracer.start()
        except CaptureError as error:
            self.traced = False
            return str(error)
        self.traced = True
        self.attend()
        return None

    def attend(self) -> None:
        """Record the calling thread as well; to be called before what it runs, cheap when nothing is to be done."""
        thread = threading.get_native_id()
        if thread not in self._marked:
            self._marked.add(thread)
            self.eager.listen()
            self._tracer.mark(thread)

    def pause(self) -> Stretch:
        """Return what was recorded so far, and leave TensorFlow's tracer to others until :meth:`resume`."""
        stretch = self._take()
        self.traced = False
        return stretch

    def resume(self) -> str | None:
        """Go on after :meth:`pause`; return the reason if TensorFlow's tracer cannot be used."""
        return self._begin()

    def called(self) -> Stretch | None:
        """Count a call of a function that has returned; return a stretch when it is time to cut."""
        self._calls += 1
        if self._events_per_call:
            due = self._calls * self._events_per_call >= _EVENTS_IN_STRETCH
        else:
            due = time.process_time_ns() - self._began_cpu_ns >= _FIRST_STRETCH_CPU_NS
        if not self.traced or not due:
            return None
        stretch = self._take()
        self._begin()
        return stretch

    def stop(self) -> Stretch:
        """Stop recording and return the rest."""
        stretch = self._take()
        self.graphs.end()
        self.eager.leave()
        return stretch

    @without_collections()
    def _take(self) -> Stretch:
        if not self._tracer.active:
            return Stretch(functions=(), eager=self.eager.take(None, {}))
        planes, threads = self._tracer.stop()
        self.graphs.collect()
        self._events_per_call = len(planes.kind) / max(self._calls, 1)
        runs: list[FunctionRun] = self._runs.tables(planes, function_runs(planes), threads, _main_thread())
        return Stretch(functions=tuple(runs), eager=self.eager.take(planes, threads))


def _main_thread() -> int:
    """Return the OS id of the main thread, which is the process's id."""
    return os.getpid()
