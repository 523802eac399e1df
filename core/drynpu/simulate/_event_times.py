"""When the device reaches the events of a script."""

from __future__ import annotations

import time
from typing import ClassVar

import numpy as np
from attrs import define, field

from drynpu.device import DispatchKind
from drynpu.simulate._schedule import ScheduledWork


def event_times(work: ScheduledWork) -> dict[int, int]:
    """Return when the device reaches the last record of each event, by the event's number, in ns of Unix time."""
    dispatches = work.dispatches
    rows = np.flatnonzero((dispatches.kind == DispatchKind.RECORD_EVENT) & (dispatches.event > 0))
    return dict(zip(dispatches.event[rows].tolist(), work.schedule.event_ns[rows].tolist(), strict=True))


@define
class EventLine:
    """
    When the device reaches events of several stretches, each recorded and simulated by itself.

    All times lie on one line, which begins as the host's steady clock. Between two stretches the host's time counts, as
    it was measured.

    Attributes
    ----------
    pending:
        Events whose last record is in no stretch yet.
    """

    longest_ns: ClassVar[int] = 60_000_000_000
    """A stretch that is older is simulated when the next event is recorded, so that memory stays bounded."""

    pending: set[int] = field(factory=set)
    _times_ns: dict[int, int] = field(factory=dict)
    _end_ns: int = field(factory=time.perf_counter_ns)
    """Where on the line the last stretch ended."""
    _free_ns: int = field(factory=time.perf_counter_ns)
    """Since when the host counts: since the last stretch was simulated."""

    def record(self, event: int) -> None:
        """Note that an event is about to be recorded."""
        self._times_ns.pop(event, None)
        self.pending.add(event)

    def add(self, *works: ScheduledWork) -> None:
        """Put a stretch on the line, simulated for each device, which began with it."""
        age_ns = time.time_ns() - min(work.begin_ns for work in works)
        self._end_ns += max(time.perf_counter_ns() - self._free_ns - age_ns, 0)
        for work in works:
            for event, time_ns in event_times(work).items():
                if event in self.pending:
                    self._times_ns[event] = self._end_ns + time_ns - work.begin_ns
        self._end_ns += max(work.end_ns - work.begin_ns for work in works)
        self._free_ns = time.perf_counter_ns()

    def times_ns(self, *events: int) -> tuple[int, ...] | None:
        """Return the times of events; ``None`` where that is not known of one."""
        times_ns = tuple(self._times_ns[each] for each in events if each in self._times_ns)
        return times_ns if len(times_ns) == len(events) else None

    def forget(self, event: int) -> None:
        """Forget an event that is no more."""
        self.pending.discard(event)
        self._times_ns.pop(event, None)
