"""
Times between events where no profiler runs: what lies between them is recorded, and simulated when a time is asked for.

Recording begins with the first record of an event with timing and ends when a time is asked for; the next record begins
it anew. Events of all such stretches lie on one line: between two stretches the host's time counts, as it was measured.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Final

from attrs import define, field

from drynpu import CaptureError, say_once, without_collections
from drynpu.options import Settings
from drynpu.platforms import Chip
from drynpu.recorder import framework_plan, join_graphs, load_chosen_chip
from drynpu.simulate import Planner, Recording, event_times, simulate
from drynpu_torch.capture import Capture, CapturedTorch, ColumnTracer
from drynpu_torch.device import launch_mode, state
from drynpu_torch.rules import FALLBACKS

_LONGEST_NS: Final = 60_000_000_000
"""A stretch that is older is simulated when the next event is recorded, so that memory stays bounded."""


@define(eq=False)
class SimulatedTimer:
    """
    Records between events and simulates what it recorded.

    Attributes
    ----------
    chip, settings:
        The device and the clock that are simulated.
    """

    chip: Chip
    settings: Settings
    _plan: Planner
    _lock: threading.RLock = field(factory=threading.RLock, init=False)
    _capture: Capture | None = field(default=None, init=False)
    _pid: int = field(factory=os.getpid, init=False)
    _begun_ns: int = 0
    _free_ns: int = field(factory=time.perf_counter_ns, init=False)
    """Since when the host counts: since the stretch before was simulated."""
    _line_ns: int = field(default=0, init=False)
    """Where on the line of all stretches the present one begins."""
    _pending: set[int] = field(factory=set, init=False)
    _times_ns: dict[int, int] = field(factory=dict, init=False)

    @classmethod
    def from_environment(cls) -> SimulatedTimer:
        """Return a timer with the settings of the environment."""
        settings = Settings.from_environ(os.environ)
        return cls(load_chosen_chip(settings), settings, framework_plan("torch", FALLBACKS))

    def on_record(self, event_id: int) -> None:
        """Record from now on, unless a profiler does; the event is about to be recorded."""
        with self._lock:
            self._times_ns.pop(event_id, None)
            if self._capture is not None and time.perf_counter_ns() - self._begun_ns > _LONGEST_NS:
                self._settle()
            if self._capture is None:
                self._begin()
            if self._capture is not None:
                self._pending.add(event_id)

    def elapsed_ms(self, begin_id: int, end_id: int) -> float | None:
        """Return the device's time between the last records of two events; ``None`` where it is not known."""
        with self._lock:
            if {begin_id, end_id} & self._pending:
                self._settle()
            begin_ns, end_ns = self._times_ns.get(begin_id), self._times_ns.get(end_id)
        if begin_ns is None or end_ns is None:
            return None
        say_once(f"times between events are modelled, for {self.chip.name}, where no profiler runs")
        return (end_ns - begin_ns) / 1e6

    def forget(self, event_id: int) -> None:
        """Forget an event that is no more."""
        # Without the lock: a garbage collection may call this in a thread that holds it half-way.
        self._pending.discard(event_id)
        self._times_ns.pop(event_id, None)

    def release(self) -> None:
        """Stop recording, because a profiler is about to start."""
        with self._lock:
            self._settle()

    def _begin(self) -> None:
        # A forked child keeps the patches of its parent's capture, so it measures.
        if state().recorder is not None or self._pid != os.getpid():
            return
        capture = Capture(tracer=ColumnTracer(), announced=False)
        try:
            capture.start()
        except CaptureError:  # a profiler of PyTorch runs: the host's time has to do
            return
        self._begun_ns = time.perf_counter_ns()
        self._line_ns += self._begun_ns - self._free_ns
        state().recorder, self._capture = capture.device_calls, capture
        stream = state().selected_stream(state().current_device)
        if stream is not None:
            capture.device_calls.on_stream(stream.stream_id)

    def _settle(self) -> None:
        """End the stretch and keep the times of its events."""
        capture, self._capture = self._capture, None
        if capture is None:
            return
        pending, self._pending = self._pending, set()
        state().recorder = None
        if self._pid == os.getpid():
            try:
                self._keep_times(capture.stop(), pending)
            except Exception as error:  # noqa: BLE001 - timing must not end a training
                say_once(f"times between events are this machine's: the stretch cannot be simulated ({error})")
        self._free_ns = time.perf_counter_ns()

    @without_collections()
    def _keep_times(self, captured: CapturedTorch, pending: set[int]) -> None:
        work = simulate(
            self._recording(captured),
            plan=self._plan,
            chip=self.chip,
            clock=self.settings.clock,
            seed=self.settings.seed,
            base_ns=captured.begin_ns,
        )
        for event_id, time_ns in event_times(work).items():
            if event_id in pending:
                self._times_ns[event_id] = self._line_ns + time_ns - work.begin_ns
        self._line_ns += work.end_ns - work.begin_ns

    def _recording(self, captured: CapturedTorch) -> Recording:
        mode, _ = launch_mode(os.environ, self.settings.clock)
        return Recording(
            operators=captured.operators,
            host_calls=tuple(captured.device_calls.calls),
            streams=tuple(captured.device_calls.streams),
            graphs=join_graphs(captured.device_calls.graphs),
            begin_ns=captured.begin_ns,
            end_ns=captured.end_ns,
            collectives=captured.communication.collectives(marked=False),
            processor_waits=captured.delays,
            accesses=captured.accesses,
            launch_mode=mode,
        )
