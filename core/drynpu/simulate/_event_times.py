"""When the device reaches the events of a script."""

from __future__ import annotations

import numpy as np

from drynpu.device import DispatchKind
from drynpu.simulate._schedule import ScheduledWork


def event_times(work: ScheduledWork) -> dict[int, int]:
    """Return when the device reaches the last record of each event, by the event's number, in ns of Unix time."""
    dispatches = work.dispatches
    rows = np.flatnonzero((dispatches.kind == DispatchKind.RECORD_EVENT) & (dispatches.event > 0))
    return dict(zip(dispatches.event[rows].tolist(), work.schedule.event_ns[rows].tolist(), strict=True))
