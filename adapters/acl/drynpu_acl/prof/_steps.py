"""Steps whose start and end a script reports (pyacl_prof.md 7)."""

from __future__ import annotations

import threading
import time
from itertools import count

from attrs import define, field

from drynpu_acl.constants import ReturnCode, StepTag
from drynpu_acl.handles import Handles, handle_numbers
from drynpu_acl.recording import CapturedCalls, DeviceStream


@define
class _Step:
    number: int
    times_ns: dict[int, int] = field(factory=dict)


@define
class Steps:
    """Step handles of a process, numbered from 1."""

    _steps: Handles[_Step] = field(factory=lambda: Handles(handle_numbers(0x3_0000_0000)))
    _numbers: count[int] = field(factory=lambda: count(1))

    def create(self) -> int:
        """Return a handle with the next step number."""
        return self._steps.add(_Step(next(self._numbers)))

    def destroy(self, handle: int) -> None:
        """Forget a handle."""
        self._steps.remove(handle)

    def stamp(self, handle: int, tag: int, stream: DeviceStream | None, captured: CapturedCalls | None) -> int:
        """
        Note the start (tag 0) or end (tag 1) of a step on a stream, each once, and return the code.

        *stream* is ``None`` for a handle that is none; *captured* takes the steps that are complete, if anything
        is being recorded.
        """
        step = self._steps.get(handle)
        if step is None or tag not in tuple(StepTag) or tag in step.times_ns:
            return ReturnCode.INVALID_PARAM
        if stream is None:
            return ReturnCode.GE_FAILURE
        step.times_ns[tag] = time.time_ns()
        if captured is not None and len(step.times_ns) == len(StepTag):
            start_ns, end_ns = step.times_ns[StepTag.START], step.times_ns[StepTag.END]
            if start_ns < end_ns:
                captured.steps.append((step.number, start_ns, end_ns, threading.get_native_id(), stream[0]))
        return ReturnCode.SUCCESS
