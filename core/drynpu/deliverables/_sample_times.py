"""Times of samplers on the device: microseconds since the device's counters were read (cann_msprof.md 7.4)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from drynpu.arrays import I64
from drynpu.raw import ClockAnchors

US_NS = 1000
"""Nanoseconds of a microsecond."""


def sampled_us(anchors: ClockAnchors, unix_ns: npt.ArrayLike) -> I64:
    """Return the raw ``time_us`` of Unix times."""
    since_ns = np.asarray(unix_ns, np.int64) - (anchors.device_counter_ns + anchors.offset_ns)
    return np.asarray(since_ns // US_NS, np.int64)


def sampled_unix_ns(anchors: ClockAnchors, time_us: npt.ArrayLike) -> I64:
    """Return the Unix times of raw ``time_us``."""
    since_ns = np.asarray(time_us, np.int64) * US_NS
    return np.asarray(since_ns + (anchors.device_counter_ns + anchors.offset_ns), np.int64)
