"""``time``: every clock reads the virtual one, and sleeping is waiting for it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from drynpu_virtual_time._clock import ORIGIN_NS, STEADY_NS, VirtualClock
from drynpu_virtual_time._patches import Replaced, is_ours

_NS = 1_000_000_000
_CLOCKS = {"time": ORIGIN_NS, "monotonic": STEADY_NS, "perf_counter": STEADY_NS, "process_time": 0, "thread_time": 0}
"""Where the clocks of Python begin: processor time is virtual time, too, as nothing tells waits and work apart."""
_SYSTEM_CLOCKS = {
    "CLOCK_REALTIME": ORIGIN_NS,
    "CLOCK_MONOTONIC": STEADY_NS,
    "CLOCK_MONOTONIC_RAW": STEADY_NS,
    "CLOCK_BOOTTIME": STEADY_NS,
}


def patch_times(clock: VirtualClock, replaced: Replaced) -> None:
    """Let the functions of ``time`` read *clock*, for all but drynpu."""
    for name, origin_ns in _CLOCKS.items():
        for suffix in ("", "_ns"):
            _patch_reader(clock, replaced, name + suffix, origin_ns, seconds=not suffix)
    _patch_system_clocks(clock, replaced)
    local_time = time.localtime
    for name in ("localtime", "gmtime", "ctime"):
        _patch_calendar(clock, replaced, name)
    strftime, asctime = time.strftime, time.asctime

    def virtual_now() -> time.struct_time:
        return local_time((ORIGIN_NS + clock.now_ns) / _NS)

    replaced.put(time, "strftime", lambda text, *when: strftime(text, *(when or (virtual_now(),))))
    replaced.put(time, "asctime", lambda *when: asctime(*(when or (virtual_now(),))))
    really_sleep = time.sleep

    def sleep(seconds: float) -> None:
        if is_ours(sys._getframe(1)):
            really_sleep(seconds)
            return
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        clock.sleep(round(seconds * _NS))

    replaced.put(time, "sleep", sleep)
    replaced.put(os, "sched_yield", lambda: clock.sleep(0))


def _patch_reader(clock: VirtualClock, replaced: Replaced, name: str, origin_ns: int, *, seconds: bool) -> None:
    really = vars(time).get(name)
    if really is None:
        return

    def read_ns() -> int:
        return int(really()) if is_ours(sys._getframe(1)) else origin_ns + clock.read()

    def read() -> float:
        return float(really()) if is_ours(sys._getframe(1)) else (origin_ns + clock.read()) / _NS

    replaced.put(time, name, read if seconds else read_ns)


def _patch_system_clocks(clock: VirtualClock, replaced: Replaced) -> None:
    origins = {vars(time)[name]: origin for name, origin in _SYSTEM_CLOCKS.items() if name in vars(time)}
    really, really_ns = time.clock_gettime, time.clock_gettime_ns

    def clock_gettime_ns(which: int) -> int:
        if which not in origins or is_ours(sys._getframe(1)):
            return really_ns(which)
        return origins[which] + clock.read()

    def clock_gettime(which: int) -> float:
        if which not in origins or is_ours(sys._getframe(1)):
            return really(which)
        return (origins[which] + clock.read()) / _NS

    replaced.put(time, "clock_gettime", clock_gettime)
    replaced.put(time, "clock_gettime_ns", clock_gettime_ns)


def _patch_calendar(clock: VirtualClock, replaced: Replaced, name: str) -> None:
    really: Callable[..., object] = vars(time)[name]

    def broken_down(seconds: float | None = None) -> object:
        if seconds is None and not is_ours(sys._getframe(1)):
            seconds = (ORIGIN_NS + clock.now_ns) / _NS
        return really(seconds)

    replaced.put(time, name, broken_down)
