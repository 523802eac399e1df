"""From one action to the next: what is called, in order, and what is said (mindspore_profiler.md 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from drynpu.recorder import TransitionStep, transition
from drynpu_mindspore.profiler._session import Session
from drynpu_mindspore.profiler._values import ACTION_OF, ProfilerAction


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
        if not change.steps:
            return
        self.session.user_log.info(f"ProfilerAction transition: {previous} -> {following}")
        if change.warning is not None:
            self.session.user_log.warning(change.warning.value)
        for call in _calls(change.steps):
            self._carry_out(call)

    def _carry_out(self, call: str) -> None:
        if call == "trace_ready":
            self.session.backend.trace_ready()
            self.ready()
        else:
            getattr(self.session, call)()


_CALL_OF: Mapping[TransitionStep, str] = {
    TransitionStep.INIT: "init",
    TransitionStep.START: "start",
    TransitionStep.STOP: "stop",
    TransitionStep.FINALIZE: "finalize",
    TransitionStep.READY: "trace_ready",
    TransitionStep.DELETE: "delete_dir",
}


def _calls(steps: tuple[TransitionStep, ...]) -> list[str]:
    """
    Return the session's methods for the steps of the core.

    MindSpore's profiler does not warm up, and lets go of a run after its last step, which torch_npu's has no word for.
    """
    calls = [_CALL_OF[step] for step in steps if step in _CALL_OF]
    if "finalize" in calls:
        last = max(calls.index(name) for name in ("finalize", "trace_ready") if name in calls)
        calls.insert(last + 1, "clear")
    return calls
