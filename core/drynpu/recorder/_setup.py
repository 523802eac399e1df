"""What a recording is simulated with."""

from __future__ import annotations

from attrs import frozen

from drynpu.options import Clock, ProfilingRequest
from drynpu.platforms import Chip
from drynpu.raw import ClockAnchors
from drynpu.simulate import Planner


@frozen(kw_only=True)
class Setup:
    """
    What a recording is simulated with, besides what was captured.

    The same recording with an equal setup gives the same device data bit for bit.

    Attributes
    ----------
    request:
        What the user asked to record.
    anchors:
        Readings of the clocks at the start; they tie Unix time to the device's counter.
    plan:
        Maps an operator call to its kernels.
    """

    request: ProfilingRequest
    chip: Chip
    clock: Clock
    seed: int
    anchors: ClockAnchors
    plan: Planner
