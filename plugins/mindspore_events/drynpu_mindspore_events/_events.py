"""Events of a script: each record is noted, and the time between two is the simulated device's."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from drynpu_mindspore_events._timer import EventTimer

if TYPE_CHECKING:
    from drynpu_mindspore.loaded import LoadedMindSpore

_MODULES = ("mindspore.runtime.event", "mindspore.hal.event")
_NUMBER, _TIMED = "_drynpu_number", "_drynpu_timed"
"""Attributes of an event: the number of its last record, and whether the script wants times."""
_NS_PER_MS = 1_000_000


def time_events(loaded: LoadedMindSpore) -> None:
    """Time the events of both modules."""
    timer = EventTimer(loaded.backend)
    loaded.backend.before_changes.append(timer.settle)
    for name in _MODULES:
        if name in sys.modules:  # releases differ
            _patch(sys.modules[name].Event, timer, loaded)


def _patch(event_class: Any, timer: EventTimer, loaded: LoadedMindSpore) -> None:
    genuine_init, genuine_record = event_class.__init__, event_class.record
    genuine_elapsed = event_class.elapsed_time

    @functools.wraps(genuine_init)
    def init(self: object, enable_timing: bool = False, blocking: bool = False) -> None:
        genuine_init(self, enable_timing, blocking)
        setattr(self, _TIMED, enable_timing)

    @functools.wraps(genuine_record)
    def record(self: object, stream: object = None) -> None:
        genuine_record(self, stream)
        if loaded.device.is_ascend and getattr(self, _TIMED, False):
            timer.forget(getattr(self, _NUMBER, 0))
            setattr(self, _NUMBER, timer.record())

    @functools.wraps(genuine_elapsed)
    def elapsed_time(self: object, end_event: object) -> float:
        measured: float = genuine_elapsed(self, end_event)  # refuses an event that was not recorded
        if not loaded.device.is_ascend:
            return measured
        for each in (self, end_event):
            if not getattr(each, _TIMED, False):
                raise RuntimeError("elapsed_time needs events created with enable_timing=True")
        times_ns = timer.times_ns(getattr(self, _NUMBER), getattr(end_event, _NUMBER))
        return measured if times_ns is None else (times_ns[1] - times_ns[0]) / _NS_PER_MS

    event_class.__init__, event_class.record, event_class.elapsed_time = init, record, elapsed_time
