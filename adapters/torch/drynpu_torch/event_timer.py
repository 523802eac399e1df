"""
Times between events: what lies between them is recorded, and simulated when a time is asked for.

Without a profiler, recording begins with the first record of an event with timing and ends when a time is asked for;
the next record begins it anew. While a profiler records, its recording is used: it is cut where a time is asked for.
Events of all such stretches lie on one line: between two stretches the host's time counts, as it was measured.
"""

from __future__ import annotations

import os
import threading
import time

from attrs import define, evolve, field

from drynpu import CaptureError, say_once, without_collections
from drynpu.options import Clock, Settings
from drynpu.platforms import Chip
from drynpu.recorder import framework_plan, join_graphs, load_chosen_chip
from drynpu.simulate import EventLine, Planner, Recording, simulate
from drynpu_torch import rules
from drynpu_torch.capture import Capture, CapturedTorch, HostCallRecorder, Place, new_tracer, without_stacks
from drynpu_torch.device import launch_mode, state


@define(eq=False)
class SimulatedTimer:
    """
    Records between events, or uses the recording of a profiler, and simulates it.

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
    _profiled: Capture | None = field(default=None, init=False)
    """The recording of a profiler that was used last, and how far."""
    _place: Place = field(factory=Place, init=False)
    _begun_ns: int = 0
    _line: EventLine = field(factory=EventLine, init=False)

    @classmethod
    def from_environment(cls) -> SimulatedTimer:
        """Return a timer with the settings of the environment."""
        settings = Settings.from_environ(os.environ)
        return cls(load_chosen_chip(settings), settings, framework_plan("torch", rules.FALLBACKS))

    def on_record(self, event_id: int) -> None:
        """Record from now on, unless a profiler does; the event is about to be recorded."""
        with self._lock:
            if self._capture is not None and time.perf_counter_ns() - self._begun_ns > EventLine.longest_ns:
                self._settle()
            if self._capture is None and self._running() is None:
                self._begin()
            self._line.record(event_id)

    def times_ns(self, *event_ids: int) -> tuple[int, ...] | None:
        """
        Return when the device reaches the last records of events; ``None`` where that is not known of one.

        The times are on a line that begins as the host's steady clock.
        """
        with self._lock:
            if self._line.pending.intersection(event_ids):
                self._settle()
            times_ns = self._line.times_ns(*event_ids)
        if times_ns is not None:
            say_once(f"times between events are modelled, for {self.chip.name}")
        return times_ns

    def forget(self, event_id: int) -> None:
        """Forget an event that is no more."""
        # Without the lock: a garbage collection may call this in a thread that holds it half-way.
        self._line.forget(event_id)

    def settle(self) -> None:
        """End the stretch, because a profiler is about to start or to stop."""
        with self._lock:
            if self._capture is not None or self._line.pending:
                self._settle()
            self._profiled = None

    def _running(self) -> Capture | None:
        """Return what records, this or a profiler. A forked child has the patches of its parent, so it measures."""
        recorder = state().recorder
        if not isinstance(recorder, HostCallRecorder) or self._pid != os.getpid():
            return None
        return recorder.capture if isinstance(recorder.capture, Capture) else None

    def _begin(self) -> None:
        if state().recorder is not None or self._pid != os.getpid():
            return
        # PyTorch's own profiler may run: neither disturbs the other.
        capture = Capture(tracer=new_tracer(alone=state().library is None), announced=False)
        try:
            capture.start()
        except CaptureError as error:  # another recorder of operators runs: the host's time has to do
            say_once(f"times between events are this machine's: {error}")
            return
        self._begun_ns = time.perf_counter_ns()
        state().recorder, self._capture = capture.device_calls, capture
        stream = state().selected_stream(state().current_device)
        if stream is not None:
            capture.device_calls.on_stream(stream.stream_id)

    def _settle(self) -> None:
        """End the stretch and keep the times of its events."""
        alone, self._capture = self._capture, None
        try:
            if alone is not None:
                state().recorder = None
                if self._pid == os.getpid():
                    self._keep_times(alone.stop())
            elif (profiled := self._running()) is not None:
                if profiled is not self._profiled:
                    self._profiled, self._place = profiled, Place()
                self._place = profiled.cut(self._place, self._keep_times)
        except Exception as error:  # noqa: BLE001 - timing must not end a training
            say_once(f"times between events are this machine's: the stretch cannot be simulated ({error})")
        self._line.pending.clear()

    @without_collections()
    def _keep_times(self, captured: CapturedTorch) -> None:
        if captured.taken_over:
            raise CaptureError("PyTorch's own profiler took the recorder over")
        work = simulate(
            stretch_recording(captured, self.settings.clock),
            plan=self._plan,
            chip=self.chip,
            clock=self.settings.clock,
            seed=self.settings.seed,
            base_ns=captured.begin_ns,
        )
        self._line.add(work)


def stretch_recording(captured: CapturedTorch, clock: Clock) -> Recording:
    """Return what was captured as the simulation of a stretch takes it."""
    return Recording(
        # Keeping stacks takes the host its time; a time between events is the same with and without a profile.
        operators=evolve(captured.operators, **without_stacks(len(captured.operators.start_ns))),
        host_calls=tuple(captured.device_calls.calls),
        streams=tuple(captured.device_calls.streams),
        graphs=join_graphs(captured.device_calls.graphs),
        begin_ns=captured.begin_ns,
        end_ns=captured.end_ns,
        collectives=captured.communication.collectives(marked=False),
        processor_waits=captured.delays,
        accesses=captured.accesses,
        launch_mode=launch_mode(os.environ, clock)[0],
    )
