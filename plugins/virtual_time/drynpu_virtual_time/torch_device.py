"""The simulated device of PyTorch on the virtual clock: what it is handed is simulated whenever somebody looks."""

from __future__ import annotations

import os
from collections import Counter
from typing import Final

import numpy as np
from attrs import define, field

from drynpu import CaptureError, say_once, without_collections
from drynpu.device import DispatchKind, HostCosts, QueueState
from drynpu.options import Clock, Settings
from drynpu.platforms import Chip
from drynpu.recorder import framework_plan, load_chosen_chip
from drynpu.simulate import Planner, Recording, Simulation, simulate
from drynpu_torch import rules
from drynpu_torch.capture import (
    Capture,
    CapturedTorch,
    HostCallRecorder,
    Place,
    RecordedThreads,
    new_tracer,
)
from drynpu_torch.device import state
from drynpu_torch.event_timer import stretch_recording
from drynpu_virtual_time._clock import VirtualClock
from drynpu_virtual_time._collectives import meet_in_collectives
from drynpu_virtual_time._stretch import in_virtual_time
from drynpu_virtual_time.start import virtual_clock

_SEED_STEP: Final = 1_000_003
_MAX_SEED: Final = 2**64
_MOST_EVENTS: Final = 100_000
_WAITS: Final = ("synchronize",)


def follow_device() -> None:
    """Let the device pass time on the clock of this process from its first operator on."""
    settings = Settings.from_environ(os.environ)
    if settings.clock is not Clock.MODELLED:
        say_once(f"on virtual time the clock is modelled, not {settings.clock.value}: nothing of this machine counts")
    device = VirtualDevice(
        clock=virtual_clock(),
        chip=load_chosen_chip(settings),
        seed=settings.seed,
        plan=framework_plan("torch", rules.FALLBACKS),
    )
    device.clock.source = device
    state().new_timer = device.timer
    meet_in_collectives(device.clock)


class _SerialThreads(RecordedThreads):
    """Threads that take turns: none is inside an operator when another one looks at the clock."""

    @property
    def busy(self) -> bool:
        return False


@define
class _Listener(HostCallRecorder):
    """Tells the clock of each call that waits, so that other threads run meanwhile."""

    clock: VirtualClock = field(factory=VirtualClock)

    def on_synchronize(self, stream_id: int | None) -> None:
        super().on_synchronize(stream_id)
        self.clock.settle()

    def on_event(self, event_id: int, stream_id: int, action: str) -> None:
        super().on_event(event_id, stream_id, action)
        if action in _WAITS:
            self.clock.settle()


@define(eq=False, kw_only=True)
class VirtualDevice:
    """
    The device, as the virtual clock sees it (`drynpu_virtual_time._clock.Source`).

    Each stretch of the run, from one look at the clock to the next, is simulated as it ends. ``queues`` says where it
    leaves the streams of the device, ``events_ns`` when the device reaches the last records of events, ``kernel_ns``
    how long kernels of each type, and collectives of each kind, have run so far.
    """

    clock: VirtualClock
    chip: Chip
    seed: int
    plan: Planner
    queues: QueueState = field(factory=QueueState)
    _capture: Capture | None = None
    _profiled: Capture | None = None
    _place: Place = field(factory=Place)
    _pid: int = field(factory=os.getpid)
    _stretches: int = 0
    events_ns: dict[int, int] = field(factory=dict)
    kernel_ns: Counter[str] = field(factory=Counter)
    _host_ns: int = 0

    @without_collections()
    def settle(self, now_ns: int) -> int:
        """Simulate what was recorded since the last time; return the host's time behind it."""
        self._host_ns = now_ns
        if self._pid != os.getpid() and not self._begin_anew():
            return now_ns
        capture = self._running()
        if capture is None:
            self._begin()
        elif capture is self._capture:
            library = state().library
            if library is None or library.has_recorded or capture.device_calls.calls:
                self._simulate(capture.take())
        else:
            if capture is not self._profiled:
                self._profiled, self._place = capture, Place()
            self._place = capture.cut(self._place, self._simulate)
        return self._host_ns

    def _begin_anew(self) -> bool:
        """Serve a forked process, whose device is idle; not where a profiler was running, or PyTorch's tracer."""
        running = self._running()
        if state().library is None or (running is not None and running is not self._capture):
            return False
        if self._capture is not None:
            state().recorder = None
            self._capture.stop()
        self._pid, self._capture, self.queues = os.getpid(), None, QueueState()
        self.events_ns.clear()
        self.kernel_ns.clear()
        return True

    def _running(self) -> Capture | None:
        recorder = state().recorder
        capture = recorder.capture if isinstance(recorder, HostCallRecorder) else None
        return capture if isinstance(capture, Capture) else None

    def _begin(self) -> None:
        tracer = new_tracer(alone=state().library is None, threads=_SerialThreads())
        capture = Capture(tracer=tracer, device_calls=_Listener(clock=self.clock), announced=False)
        try:
            capture.start()
        except CaptureError as error:
            say_once(f"the device passes no virtual time: {error}")
            return
        state().recorder, self._capture = capture.device_calls, capture
        stream = state().selected_stream(state().current_device)
        if stream is not None:
            capture.device_calls.on_stream(stream.stream_id)

    def timer(self) -> VirtualTimer:
        """Return the timer of the events of scripts."""
        return VirtualTimer(self)

    def end_recording(self) -> None:
        """Give way to a profiler that is about to start, or take the last of one that is about to stop."""
        self.clock.settle()
        if self._capture is not None and self._running() is self._capture:
            state().recorder = None
            self._capture.stop()
        self._capture = self._profiled = None

    def _simulate(self, captured: CapturedTorch) -> None:
        self._stretches += 1
        recording = in_virtual_time(stretch_recording(captured, Clock.MODELLED), self._host_ns)
        work = simulate(
            recording,
            plan=self.plan,
            chip=self.chip,
            clock=Clock.MODELLED,
            # Each stretch counts the occurrences of its kernels anew.
            seed=(self.seed + _SEED_STEP * self._stretches) % _MAX_SEED,
            base_ns=0,
            state=self.queues,
        )
        self._host_ns = self._host_end_ns(recording, work)
        self._count_kernels(work)
        rows = np.flatnonzero((work.dispatches.kind == DispatchKind.RECORD_EVENT) & (work.dispatches.event > 0))
        events = work.dispatches.event[rows].tolist()
        self.events_ns.update(zip(events, work.schedule.event_ns[rows].tolist(), strict=True))
        for events_known in (self.queues.events, self.events_ns):
            while len(events_known) > _MOST_EVENTS:
                del events_known[next(iter(events_known))]

    def _count_kernels(self, work: Simulation) -> None:
        kernels, calls = work.lowered.kernels, work.collectives.calls
        ticks = np.bincount(work.lowered.launch_kernel, work.kernel_ticks, len(kernels))
        for kernel, each in zip(kernels, ticks.tolist(), strict=True):
            if each:  # what takes no tick has no share
                self.kernel_ns[kernel.op_type] += round(each * work.tick_ns)
        for collective, each in zip(calls.collectives, calls.ticks.tolist(), strict=True):
            self.kernel_ns[collective.kind] += round(each * work.tick_ns)

    def _host_end_ns(self, recording: Recording, work: Simulation) -> int:
        if len(work.dispatches.start_ns):
            return int(work.time_map(np.array([recording.end_ns]))[0])
        # Nothing was launched: each operator takes what one takes beside those that launch.
        return recording.begin_ns + HostCosts().nested_ns * int((recording.operators.signature >= 0).sum())


@define(eq=False)
class VirtualTimer:
    """The timer of events (`drynpu_torch.device.EventTimer`): their times are on the virtual clock."""

    device: VirtualDevice

    def on_record(self, event_id: int) -> None:
        """Note that an event is about to be recorded: what was known of its last record is out of date."""
        self.device.clock.settle()
        self.device.events_ns.pop(event_id, None)

    def times_ns(self, *event_ids: int) -> tuple[int, ...] | None:
        """Return when the device reaches the last records of events; ``None`` where that is not known of one."""
        self.device.clock.settle()
        known = self.device.events_ns
        times_ns = tuple(known[each] for each in event_ids if each in known)
        return times_ns if len(times_ns) == len(event_ids) else None

    def forget(self, event_id: int) -> None:
        """Forget an event that is no more."""
        self.device.events_ns.pop(event_id, None)

    def settle(self) -> None:
        """End the stretch, because a profiler is about to start or to stop."""
        self.device.end_recording()
