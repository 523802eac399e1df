"""
What lies between two events is recorded, and simulated when a time is asked for.

Where nothing records, a recording begins with the first event and ends when a time is asked for. The recording of a
profiler is cut at both places instead. So a time is the same with and without a profile.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Iterator

from attrs import define, field

from drynpu import say_once
from drynpu.device import DispatchKind
from drynpu.options import Settings
from drynpu.recorder import framework_plan, load_chosen_chip
from drynpu.simulate import MINDSPORE, EventLine, HostCall, Recording, simulate
from drynpu_mindspore.capture import CapturedMindSpore
from drynpu_mindspore.inside import wait_for_pynative
from drynpu_mindspore.recording import RecordingBackend, find_collectives, launching_plans
from drynpu_mindspore.rules import unknown_without_tensors
from drynpu_mindspore_events._waits import Looks

_FAILED = "times between events are 0: what was recorded cannot be simulated ({})"


@define(eq=False)
class EventTimer:
    """The timer of a process; a forked child measures nothing."""

    backend: RecordingBackend
    _line: EventLine = field(factory=EventLine, init=False)
    _numbers: Iterator[int] = field(factory=lambda: itertools.count(1), init=False)
    _lock: threading.RLock = field(factory=threading.RLock, init=False)
    _pid: int = field(factory=os.getpid, init=False)
    _records: list[tuple[int, int, int]] = field(factory=list, init=False)
    """Of the stretch that is open: number, when the script recorded, and when all that it called before had run."""
    _looks: Looks = field(factory=Looks, init=False)
    _begun_ns: int = 0
    """When it began; 0 while none is open."""
    _alone: bool = False
    """Whether it is a recording of the timer's, not of a profiler."""

    def record(self) -> int:
        """Note that an event is recorded now; return the number of this record."""
        number = next(self._numbers)
        if self._pid != os.getpid():
            return number
        called_ns = time.time_ns()
        if self._begun_ns:
            self._looks.look(is_inside=True)
        wait_for_pynative()  # what was called before is before it; raises where an operator of the script failed
        with self._lock:
            try:
                if self._begun_ns and time.time_ns() - self._begun_ns > EventLine.longest_ns:
                    self.settle()
                ended_ns = time.time_ns()
                if not self._begun_ns:
                    self._begin()
                    called_ns = ended_ns = self._begun_ns
                self._line.record(number)
                self._looks.look()
                self._records.append((number, called_ns, ended_ns))
            except Exception as error:  # noqa: BLE001 - timing must not end a training
                say_once(_FAILED.format(error))
        return number

    def times_ns(self, *numbers: int) -> tuple[int, ...] | None:
        """Return when the device reaches records; ``None`` where that is not known of one."""
        with self._lock:
            if self._line.pending.intersection(numbers):
                self.settle()
            times_ns = self._line.times_ns(*numbers)
        if times_ns is not None:
            chip = load_chosen_chip(Settings.from_environ(os.environ)).name
            say_once(f"times between events are modelled, for {chip}")
        return times_ns

    def forget(self, number: int) -> None:
        """Forget a record that another one of the same event replaces."""
        self._line.forget(number)

    def settle(self) -> None:
        """End the stretch that is open, because a time is asked for, or a profiler is about to start or to stop."""
        with self._lock:
            if not self._begun_ns or self._pid != os.getpid():
                return
            try:
                self._keep_times()
            except Exception as error:  # noqa: BLE001 - as above
                say_once(_FAILED.format(error))
            self._begun_ns = 0
            self._records.clear()
            self._looks.clear()
            self._line.pending.clear()

    def _begin(self) -> None:
        self._alone = self.backend.cut() is None
        if self._alone:
            self.backend.capture.start()
        self._begun_ns = time.time_ns()

    def _keep_times(self) -> None:
        captured = self._captured()
        if captured is None:
            return
        settings = Settings.from_environ(os.environ)
        self._line.add(
            simulate(
                self._recording(captured),
                plan=launching_plans(framework_plan(MINDSPORE, [unknown_without_tensors])),
                chip=load_chosen_chip(settings),
                clock=settings.clock,
                seed=settings.seed,
                base_ns=self._begun_ns,
            )
        )

    def _captured(self) -> CapturedMindSpore | None:
        if self._alone:
            return self.backend.capture.stop()
        part = self.backend.cut()
        return None if part is None else part.read()

    def _recording(self, captured: CapturedMindSpore) -> Recording:
        operators, thread = captured.operators, threading.get_native_id()
        self._looks.look()
        calls = []
        for number, called_ns, ended_ns in self._records:
            # The host launches a record behind what it launched before; it does not wait for that.
            before_ns = operators.end_ns[operators.end_ns <= ended_ns].max(initial=0)
            time_ns = max(called_ns, int(before_ns))
            calls.append(HostCall(time_ns, thread, DispatchKind.RECORD_EVENT, event=number))
        return Recording(
            operators=operators,
            collectives=find_collectives(operators, 0, self.backend.ranks.groups, ()).collectives,
            host_calls=tuple(calls),
            processor_waits=self._looks.waits(operators, thread),
            begin_ns=min(self._begun_ns, int(operators.start_ns.min(initial=self._begun_ns))),
            end_ns=max(time.time_ns(), int(operators.end_ns.max(initial=0))),
        )
