"""From one action to the next: what is called, in order, and what is said (mindspore_profiler.md 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from drynpu.recorder import Duty, Irregularity, transition
from drynpu_mindspore.profiler._session import Session
from drynpu_mindspore.profiler._values import ACTION_OF, ProfilerAction

__all__ = ["Controller"]

_WARNINGS: Mapping[Irregularity, str] = {
    Irregularity.WARMUP_THEN_NONE: "Incorrect schedule: WARMUP followed by NONE",
    Irregularity.RECORD_THEN_NONE: "Incorrect schedule: RECORD followed by NONE",
    Irregularity.RECORD_THEN_WARMUP: "Incorrect schedule: RECORD followed by WARMUP",
    Irregularity.STOPPED_IN_WARMUP: (
        "Incorrect schedule: Stop profiler while current state is WARMUP which will result in empty parsed data."
    ),
    Irregularity.STOPPED_IN_RECORD: (
        "Incorrect schedule: Stop profiler while current state is RECORD which may result in incomplete parsed data."
    ),
    Irregularity.STOPPED_IN_SAVE: (
        "Stop profiler while current state is RECORD_AND_SAVE, perhaps the scheduling cycle has not yet completed."
    ),
}


@frozen
class Controller:
    """
    Carries out transitions.

    Attributes
    ----------
    session:
        What is told to start, stop and so on.
    ready:
        Called when a recording is complete.
    """

    session: Session
    ready: Callable[[], Any]

    def transit(self, previous: Any, following: Any) -> None:
        """
        Go from *previous* to *following*; ``None`` ends the profiler.

        Nothing happens to what a schedule of the script's returned and is no action.
        """
        if not isinstance(previous, ProfilerAction) or not isinstance(following, ProfilerAction | None):
            return
        change = transition(ACTION_OF[previous], None if following is None else ACTION_OF[following])
        if not change.duties:
            return
        self.session.voice.info(f"ProfilerAction transition: {previous} -> {following}")
        if change.irregularity is not None:
            self.session.voice.warning(_WARNINGS[change.irregularity])
        for step in _calls(change.duties):
            self._carry_out(step)

    def _carry_out(self, call: str) -> None:
        if call == "trace_ready":
            self.session.backend.trace_ready()
            self.ready()
        else:
            getattr(self.session, call)()


_CALL_OF: Mapping[Duty, str] = {
    Duty.INIT: "init",
    Duty.START: "start",
    Duty.STOP: "stop",
    Duty.FINALIZE: "finalize",
    Duty.READY: "trace_ready",
    Duty.DELETE: "delete_dir",
}


def _calls(duties: tuple[Duty, ...]) -> list[str]:
    """
    Return the session's methods for the duties of the core.

    MindSpore's profiler does not warm up, and lets go of a run after its last duty, which torch_npu's has no word for.
    """
    calls = [_CALL_OF[duty] for duty in duties if duty in _CALL_OF]
    if "finalize" in calls:
        last = max(calls.index(name) for name in ("finalize", "trace_ready") if name in calls)
        calls.insert(last + 1, "clear")
    return calls
