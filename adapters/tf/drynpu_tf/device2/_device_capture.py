"""The capture of what runs on a device while it is the default one."""

from __future__ import annotations

import functools
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from attrs import define, field

from drynpu import say_once
from drynpu.recorder import OptionalParts
from drynpu_tf.capture import Stretch, TraceCapture
from drynpu_tf.recording import PROCESS, EngineRecording, GraphExecution

T = TypeVar("T")

_RETRY_NS = 500_000_000
"""While a profiler holds the tracer that was there before us, calls try twice a second to get it."""
_WRITTEN_AT_ONCE = 20_000
"""Operators whose results are there within the half second that a kill may cost: saving them takes as long."""


@define(eq=False)
class DeviceCapture:
    """
    Hands what runs on a device to the recording that *user* has joined.

    TensorFlow has one tracer. Where another profiler takes it, this one lets go and goes on when that has stopped.
    """

    user: int
    _capture: TraceCapture = field(factory=TraceCapture)
    _lock: threading.RLock = field(factory=threading.RLock)
    _nested: threading.local = field(factory=threading.local)
    _pid: int = 0
    _lent: bool = False
    _retry_ns: int = 0

    @property
    def active(self) -> bool:
        """Whether the capture records, in this process."""
        return self._pid == os.getpid()

    def start(self) -> None:
        """Start recording; nothing happens the second time."""
        with self._lock:
            if self.active:
                return
            self._pid = os.getpid()
            self._report(self._guarded(self._capture.start, None))

    def stop(self) -> None:
        """Stop, and add the rest to the recording; nothing happens if the capture does not record."""
        with self._lock:
            if not self.active:
                return
            self._pid = 0
            self._deliver(self._capture.stop, most_unsaved=_WRITTEN_AT_ONCE)

    def call(self, function: Callable[..., Any], *values: object, **named: object) -> Any:
        """Call a function of TensorFlow's, as the script did; a recording may be cut between calls."""
        if not self.active or getattr(self._nested, "inside", False):
            return function(*values, **named)
        self._nested.inside = True
        try:
            self._guarded(self._capture.attend, None)
            result = function(*values, **named)
        finally:
            self._nested.inside = False
            self._called()
        # A method of TensorFlow's, whose first argument is the function that it runs.
        PROCESS.ran(id(values[0]) if values else 0)
        return result

    def lend(self) -> bool:
        """Leave TensorFlow's tracer to another profiler; return whether this capture held it."""
        with self._lock:
            if not self.active or not self._capture.traced:
                return False
            self._lent = True
            self._deliver(self._capture.pause)
        say_once(
            "another profiler (TensorBoard's) has taken TensorFlow's tracer: until it stops, functions are not "
            "recorded, operators that run one by one are."
        )
        return True

    def reclaim(self) -> None:
        """Go on after :meth:`lend`."""
        with self._lock:
            if self._lent and self.active:
                self._lent = False
                self._report(self._guarded(self._capture.resume, None))

    def _called(self) -> None:
        if not self._lock.acquire(blocking=False):
            return
        try:
            if not self.active:
                return
            if self._capture.traced:
                self._deliver(self._capture.called)
            elif not self._lent and time.monotonic_ns() >= self._retry_ns:
                self._report(self._guarded(self._capture.resume, None))
        finally:
            self._lock.release()

    def _report(self, refused: str | None) -> None:
        if refused is not None:
            self._retry_ns = time.monotonic_ns() + _RETRY_NS
            say_once(f"{refused} Until it stops, functions are not recorded, operators that run one by one are.")

    def _deliver(self, take: Callable[[], Stretch | None], most_unsaved: int = 0) -> None:
        recorder = PROCESS.recorder(self.user)
        self._guarded(lambda: _add(take(), recorder, most_unsaved), None)

    def _guarded(self, work: Callable[[], T], instead: T) -> T:
        """Return what *work* returns; where it raises, a line says that a part is lost, and training goes on."""
        recorder = PROCESS.recorder(self.user)
        parts = OptionalParts() if recorder is None else recorder.parts
        return parts.gather("some of what a device ran", work, instead)


def _add(stretch: Stretch | None, recorder: EngineRecording | None, most_unsaved: int) -> None:
    """Hand what was captured to a recording."""
    if stretch is None or recorder is None:
        return
    for run in stretch.functions:
        if run.start_ns < recorder.begin_ns:
            continue  # before the first step that a check records
        step = GraphExecution(
            graph=run.function,
            start_ns=run.start_ns,
            end_ns=run.end_ns,
            thread=run.thread,
            fusions=run.fusions,
            points=run.points,
            consumers=run.consumers,
            reads=run.reads,
            loads=True,
        )
        recorder.add(run.operators, step)
    if stretch.eager is not None and len(stretch.eager):
        inside = np.flatnonzero(stretch.eager.start_ns >= recorder.begin_ns)
        recorder.add(stretch.eager if len(inside) == len(stretch.eager) else stretch.eager.select(inside))
    recorder.save(most_unsaved)


def lending_session(original: Any, recorder: DeviceCapture) -> Callable[[], Any]:
    """Return what stands for TensorFlow's ``ProfilerSession``: while one of them lives, *recorder* lets go."""

    class Session:
        """A profiler session of the script's own."""

        def __init__(self) -> None:
            self._session = original()
            self._reclaim: Callable[[], Any] | None = None

        def start(self, *values: object) -> Any:
            if recorder.lend():
                finalizer = weakref.finalize(self, recorder.reclaim)
                # At the end of the process the recording has been handed over: there is nothing to go on with.
                finalizer.atexit = False
                self._reclaim = finalizer
            return self._session.start(*values)

        def export_to_tb(self) -> Any:
            return self._ended(self._session.export_to_tb)

        def stop(self) -> Any:
            return self._ended(self._session.stop)

        def _ended(self, end: Callable[[], Any]) -> Any:
            try:
                return end()
            finally:
                if self._reclaim is not None:
                    self._reclaim()

    return functools.wraps(original, updated=())(Session)
