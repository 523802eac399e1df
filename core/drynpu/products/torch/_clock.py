"""How the host times of torch_npu's profiler become Unix time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drynpu.products._product import ToUnix
from drynpu.raw import ClockAnchors

_COUNTER_KEYS = (("start_cnt", 0), ("start_monotonic", 0), ("freq", 100))
"""Clock readings of profiler_info.json, with what the vendor takes where they are missing."""


def torch_clock(info: Mapping[str, Any], clock: ClockAnchors | None, notes: list[str]) -> ToUnix:
    """
    Return the conversion of FRAMEWORK times to Unix ns (torch_npu_profiler.md 3.7).

    With ``syscnt_enable`` they are counter ticks, else monotonic nanoseconds; what the PROF directory does not
    tell about the clocks is taken from profiler_info.json.
    """
    start, end = info.get("start_info") or {}, info.get("end_info") or {}
    ticks = bool(start.get("syscnt_enable"))
    if clock is not None and ticks == bool(clock.host_hz):
        return clock.host_to_unix
    if clock is not None:
        offset = clock.offset_ns
    elif "collectionTimeEnd" in end and "MonotonicTimeEnd" in end:
        offset = int(end["collectionTimeEnd"]) - int(end["MonotonicTimeEnd"])
    else:
        notes.append("nothing tells how host times relate to Unix time; they are shown as recorded")
        offset = 0
    if not ticks:
        return lambda raw: raw + offset
    begin, base, mhz = (int(start.get(key, fallback)) for key, fallback in _COUNTER_KEYS)
    return lambda raw: (raw - begin) * 1000 // max(mhz, 1) + (base + offset)
