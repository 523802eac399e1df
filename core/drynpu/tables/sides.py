"""What the two sides of a profile bring to the join of tasks and launches."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from drynpu.arrays import I64, Records
from drynpu.raw import ClockAnchors, HostLevel
from drynpu.tables.device import Counters
from drynpu.tables.host import Calls, Dictionaries
from drynpu.tables.launches import Launches
from drynpu.tables.pmu import CoreFacts
from drynpu.tables.stored import Stored


@frozen(eq=False, kw_only=True)
class HostSide:
    """
    Host records that speak of tasks, with the calls around them.

    ``operators`` is the table of ``node_info``, ``launches`` what task_track tells: their records are by far the
    largest, so they are not kept.
    """

    calls: Calls
    words: Dictionaries
    launches: Launches
    operators: Stored
    copies: Records
    collectives: Records
    collective_tasks: Records
    clock: ClockAnchors

    def around(self, level: HostLevel, records: Records) -> I64:
        """Return the row of the innermost call of *level* around each compact or additional record, -1 if none."""
        time = self.clock.host_to_unix(records["timestamp"].astype(np.int64))
        return self.calls.around(level, time, records["thread_id"].astype(np.int64))


@frozen(eq=False, kw_only=True)
class DeviceSide:
    """One device: its clock, and what its counters mean."""

    device_id: int
    clock: ClockAnchors
    facts: CoreFacts
    metrics: str
    """Group of the counters under its neutral name, ``""`` where they give no columns."""


@frozen(eq=False, kw_only=True)
class DeviceWork:
    """
    What ran on one device, until the tables are made.

    ``ran`` has a row for each task, as `build_tasks` goes on with it; of ``counters`` the times are in it.
    """

    side: DeviceSide
    ran: Stored
    counters: Counters
