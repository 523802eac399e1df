"""Times between events: what lies between them is kept, with a profile and without, and simulated when asked for."""

from __future__ import annotations

import threading
import time

from attrs import define, field

from drynpu import say_once
from drynpu.recorder import Planner
from drynpu.simulate import EventLine, simulate
from drynpu_acl.prof._settings import AclSettings
from drynpu_acl.recording import CapturedCalls, assemble, graph_plans

_RECORD = "aclrtRecordEvent"


@define(kw_only=True)
class SimulatedTimer:
    """Keeps what happens from the first record of an event until a time is asked for; ``captured`` is that."""

    settings: AclSettings
    plan: Planner
    captured: CapturedCalls | None = None
    _line: EventLine = field(factory=EventLine)
    _lock: threading.Lock = field(factory=threading.Lock)
    _begun_ns: int = 0

    def on_record(self, event: int) -> None:
        """Note that an event is about to be recorded."""
        with self._lock:
            if time.time_ns() - self._begun_ns > EventLine.longest_ns:
                self._settle()
            if self.captured is None:
                self.captured, self._begun_ns = CapturedCalls(), time.time_ns()
            self._line.record(event)

    def times_ns(self, *events: int) -> tuple[int, ...] | None:
        """Return when the device reaches the last records of events; ``None`` where that is not known of one."""
        with self._lock:
            if self._line.pending.intersection(events):
                self._settle()
            return self._line.times_ns(*events)

    def forget(self, event: int) -> None:
        """Forget an event that is no more."""
        with self._lock:
            self._line.forget(event)

    def _settle(self) -> None:
        captured, self.captured = self.captured, None
        records = [] if captured is None else [call for call in captured.calls if call.name == _RECORD]
        if captured is not None and records:
            try:
                self._keep_times(captured, records[0].start_ns)
            except Exception as error:  # noqa: BLE001 - timing must not end a program
                say_once(
                    f"acl.rt.event_elapsed_time: times are this machine's, what ran cannot be simulated: {error!r}"
                )
        self._line.pending.clear()

    def _keep_times(self, captured: CapturedCalls, begin_ns: int) -> None:
        end_ns, plan = time.time_ns(), graph_plans(self.plan)
        devices = sorted(captured.devices.union(call.device_id for call in captured.calls))
        recordings = [
            assemble(part, device, plan, begin_ns=begin_ns, end_ns=end_ns)
            for device, part in captured.by_device(devices).items()
        ]
        shared = self.settings.shared
        self._line.add(
            *(
                simulate(
                    each, plan=plan, chip=self.settings.chip, clock=shared.clock, seed=shared.seed, base_ns=begin_ns
                )
                for each in recordings
            )
        )
