"""The timeline of a synthetic rank: a map from recorded times, under which order stays and nothing overlaps anew."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from attrs import frozen

from drynpu.arrays import F64, I64
from drynpu.raw import ClockAnchors


@frozen
class Span:
    """A collective: when it began, and how long it took and takes, in ns; the factor of the time before it."""

    start_ns: int
    elapse_ns: int
    new_ns: int
    alone: float


@frozen(eq=False)
class Warp:
    """
    A map of times: piecewise linear between *before_ns* and *after_ns*, in ns from *base_ns*, shape ``[knots]``.

    Beyond the last knot time goes on with *last*, its factor.
    """

    base_ns: int
    before_ns: F64
    after_ns: F64
    last: float

    def __call__(self, times_ns: I64) -> I64:
        """Return Unix times of the synthetic rank; times before the first knot stay."""
        offset = (times_ns - self.base_ns).astype(np.float64)
        inside = np.interp(offset, self.before_ns, self.after_ns)
        late = np.maximum(offset - self.before_ns[-1], 0) * self.last
        moved = np.where(offset < 0, offset, inside + late)
        unix_ns: I64 = self.base_ns + np.rint(moved).astype(np.int64)
        return unix_ns


def build_warp(base_ns: int, spans: Iterable[Span], alone: float) -> Warp:
    """
    Return the map that gives each collective its new duration and the time between them its factor.

    Where collectives overlap, the later one counts from the end of the earlier. *alone* is the factor without any.
    """
    before, after, last = [0.0], [0.0], alone
    for span in sorted(spans, key=lambda span: span.start_ns):
        start, end = span.start_ns - base_ns, span.start_ns - base_ns + span.elapse_ns
        last = span.alone
        if start > before[-1]:
            after.append(after[-1] + (start - before[-1]) * span.alone)
            before.append(float(start))
        if end > before[-1] and span.elapse_ns > 0:
            after.append(after[-1] + (end - before[-1]) * span.new_ns / span.elapse_ns)
            before.append(float(end))
    return Warp(base_ns, np.array(before), np.array(after), last)


def on_grid(anchors: ClockAnchors, unix_ns: I64) -> I64:
    """Return Unix times as a reader finds them of the device's ticks, which are at them or next after them."""
    return anchors.tick_to_unix(anchors.unix_to_tick(unix_ns))
