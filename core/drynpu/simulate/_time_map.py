"""The map of measured host times to the timeline of a recording: piecewise linear and monotone."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen

from drynpu.arrays import I64


@frozen(eq=False)
class TimeMap:
    """
    A map of host times, int64 ``[n]`` ns.

    ``from_ns`` and ``to_ns`` are breakpoints, both in order. Between them the map is linear; where a stretch keeps
    its length, and outside of all breakpoints, times keep their distances to the nanosecond. Two breakpoints at
    one time are a jump.
    """

    from_ns: I64 = field(repr=False)
    to_ns: I64 = field(repr=False)

    @classmethod
    def from_stretches(cls, from_start: I64, from_end: I64, to_start: I64, to_end: I64) -> TimeMap:
        """Return the map that takes each stretch to its counterpart; without any, times stay as they are."""
        return cls(np.stack([from_start, from_end], 1).ravel(), np.stack([to_start, to_end], 1).ravel())

    def __call__(self, time_ns: I64) -> I64:
        """Map times; one at a jump comes after it."""
        if not len(self.from_ns):
            return time_ns
        source, mapped = self.from_ns, self.to_ns
        last = len(source) - 1
        at = np.searchsorted(source, time_ns, side="right") - 1
        inside = (at >= 0) & (at < last)
        at = np.clip(at, 0, last)
        following = np.minimum(at + 1, last)
        width_from, width_to = source[following] - source[at], mapped[following] - mapped[at]
        into = time_ns - source[at]
        scaled = np.floor(into * (width_to / np.maximum(width_from, 1))).astype(np.int64)
        scaled = np.where(width_from == width_to, into, np.minimum(scaled, width_to))
        return np.asarray(mapped[at] + np.where(inside, scaled, into), np.int64)

    def ends(self, time_ns: I64) -> I64:
        """Map times; one at a jump comes before it, as the end of something that is over by then."""
        mapped = self(time_ns)
        if not len(self.from_ns):
            return mapped
        first = np.minimum(np.searchsorted(self.from_ns, time_ns, side="left"), len(self.from_ns) - 1)
        return np.where(self.from_ns[first] == time_ns, self.to_ns[first], mapped)
